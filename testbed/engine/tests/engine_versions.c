// SPDX-License-Identifier: Apache-2.0
//
// engine_versions LIBRARIES MODEL: llama.cpp of any version opens a model with its own defaults, on every device that it has, reads
// eight tokens, and prints the logits after the last. "devices N" goes to stderr: those that are ours.
//
// It is compiled once for all versions. The parameters' structures differ between them, but they are filled in, passed and read by
// the library alone: to us each is a lump of memory that is larger than any version's.
#include <stdio.h>
#include <string.h>

#include "ggml-backend.h"

struct lump {
    char bytes[2048];
};
struct batch {
    int32_t count;
    int32_t *tokens;
    void *others[5];
};
struct llama_model;
struct llama_context;
struct llama_vocab;

struct lump llama_model_default_params(void);
struct lump llama_context_default_params(void);
struct llama_model *llama_model_load_from_file(const char *path, struct lump parameters);
struct llama_context *llama_init_from_model(struct llama_model *model, struct lump parameters);
void llama_set_n_threads(struct llama_context *context, int32_t threads, int32_t threads_batch);
struct batch llama_batch_get_one(int32_t *tokens, int32_t count);
int32_t llama_decode(struct llama_context *context, struct batch batch);
float *llama_get_logits_ith(struct llama_context *context, int32_t index);
const struct llama_vocab *llama_model_get_vocab(const struct llama_model *model);
int32_t llama_vocab_n_tokens(const struct llama_vocab *vocab);
void llama_free(struct llama_context *context);
void llama_model_free(struct llama_model *model);

static unsigned ours(void)
{
    unsigned count = 0;
    for (size_t i = 0; i < ggml_backend_dev_count(); i++)
        count += strncmp(ggml_backend_dev_name(ggml_backend_dev_get(i)), "LOCUS", 5) == 0;
    return count;
}

static int decode(struct llama_model *model)
{
    int32_t tokens[] = {3, 1, 4, 1, 5, 9, 2, 6};
    struct llama_context *context = llama_init_from_model(model, llama_context_default_params());
    if (!context)
        return 1;
    llama_set_n_threads(context, 1, 1);
    int result = llama_decode(context, llama_batch_get_one(tokens, 8));
    const float *logits = result ? NULL : llama_get_logits_ith(context, -1);
    for (int32_t i = 0; logits && i < llama_vocab_n_tokens(llama_model_get_vocab(model)); i++)
        printf("%.9g\n", (double)logits[i]);
    llama_free(context);
    return logits ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    ggml_backend_load_all_from_path(argv[1]);
    fprintf(stderr, "devices %u\n", ours());
    struct llama_model *model = llama_model_load_from_file(argv[2], llama_model_default_params());
    if (!model)
        return 1;
    int result = decode(model);
    llama_model_free(model);
    return result;
}
