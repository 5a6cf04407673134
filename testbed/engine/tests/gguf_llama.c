// SPDX-License-Identifier: Apache-2.0
//
// gguf_llama: LIBRARIES MODEL LAYERS WIDTH VOCAB: loads a model with the real llama.cpp and decodes 8 tokens, one at a time.
// gguf_llama.sh compiles it, as the Makefile does not know where an engine is. It prints one line that says what was found.
//
// Exit status: 0 all is as said; 1 something is not; 3 llama.cpp refuses the file.
#include <llama.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 8, REFUSED = 3 };

static void no_log(enum ggml_log_level level, const char *text, void *context)
{
    (void)context;
    if (level == GGML_LOG_LEVEL_ERROR)
        fputs(text, stderr);
}

// Are these numbers, of the size that the weights' range is chosen for? 0 or what is wrong.
static const char *logits_fault(const float *logits, int vocab)
{
    double squares = 0;
    if (!logits)
        return "no logits";
    for (int i = 0; i < vocab; i++) {
        if (!isfinite(logits[i]))
            return "a logit is not finite";
        squares += (double)logits[i] * (double)logits[i];
    }
    const double size = sqrt(squares / vocab);
    return size > 0.1 && size < 10 ? NULL : "logits are far too large or too small";
}

static const char *tokens_decode(struct llama_context *engine, int vocab)
{
    float *before = calloc((size_t)vocab, sizeof *before);
    const char *fault = before ? NULL : "no memory";
    for (int i = 0; i < TOKENS && !fault; i++) {
        llama_token token = (llama_token)((i * 37 + 5) % vocab);
        if (llama_decode(engine, llama_batch_get_one(&token, 1))) {
            fault = "llama_decode() failed";
            break;
        }
        const float *logits = llama_get_logits_ith(engine, -1);
        fault = logits_fault(logits, vocab);
        if (!fault && memcmp(before, logits, (size_t)vocab * sizeof *before) == 0)
            fault = "two tokens have the same logits";
        if (!fault)
            memcpy(before, logits, (size_t)vocab * sizeof *before);
    }
    free(before);
    return fault;
}

static const char *model_try(struct llama_model *model, int layers, int width, int vocab)
{
    struct llama_context_params params = llama_context_default_params();
    params.n_ctx = 64;
    params.n_threads = params.n_threads_batch = 1;
    if (llama_model_n_layer(model) != layers || llama_model_n_embd(model) != width ||
        llama_vocab_n_tokens(llama_model_get_vocab(model)) != vocab)
        return "other layers, width or vocabulary";
    struct llama_context *engine = llama_init_from_model(model, params);
    const char *fault = engine ? tokens_decode(engine, vocab) : "no context for it";
    llama_free(engine);
    return fault;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 1;
    llama_log_set(no_log, NULL);
    ggml_backend_load_all_from_path(argv[1]);
    llama_backend_init();
    struct llama_model_params params = llama_model_default_params();
    params.check_tensors = true;
    struct llama_model *model = llama_model_load_from_file(argv[2], params);
    const char *fault = model ? model_try(model, atoi(argv[3]), atoi(argv[4]), atoi(argv[5])) : "llama.cpp refuses it";
    puts(fault ? fault : "decoded");
    int status = !model ? REFUSED : fault ? 1 : 0;
    llama_model_free(model);
    llama_backend_free();
    return status;
}
