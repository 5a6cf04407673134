// SPDX-License-Identifier: Apache-2.0
//
// session: llama.cpp as a program uses it, by its C interface alone: a model, a context, prompts, and steps whose tokens are given.
//
// Teacher-forced: a step's tokens come from a seed and not from the logits of the step before. So all arms compute the same, and
// their logits can be compared.
#ifndef TB_LLAMA_SESSION_H
#define TB_LLAMA_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "llama.h"

#define TB_LLAMA_DEVICES_MAX 16

struct tb_llama_settings {
    const char *model;          // a GGUF file
    enum llama_split_mode split;
    const char *devices[TB_LLAMA_DEVICES_MAX + 1]; // names of ggml's devices, ended by NULL; none: the CPU backend alone
    float shares[TB_LLAMA_DEVICES_MAX]; // of each device, all 0: equal ones
    const char *shares_text;    // as given; NULL: equal shares
    uint32_t threads;           // of the CPU backend
    uint32_t context_tokens;    // of each sequence
    uint32_t prompt_tokens, steps, batch; // batch: sequences, one token of each in a step
    enum ggml_type kv_type;
    bool host_kv;               // the KV cache is the CPU backend's, whatever the devices
    enum llama_flash_attn_type flash;
    enum ggml_numa_strategy numa;
    bool mapped;                // weights by mmap, as the engine's default is
    bool plain;                 // weights as they lie in the file, not in the CPU backend's own forms
    uint64_t seed;              // of the tokens
};

struct tb_llama;

// Loads the engine's backends, the model and opens a context. -1, and the reason in `why` where the engine gave none in its log.
int tb_llama_open(struct tb_llama **out, const struct tb_llama_settings *settings, char *why, size_t why_bytes);
void tb_llama_close(struct tb_llama *llama); // NULL is allowed

// Another context in place of this one, empty, whose operations are told to the callback (ggml-backend.h). 0, or -1 with why.
int tb_llama_reopen(struct tb_llama *llama, ggml_backend_sched_eval_callback told, void *data, char *why, size_t why_bytes);

// All sequences' prompts, without logits. 0, or llama_decode()'s result.
int tb_llama_prompt(struct tb_llama *llama);

uint64_t tb_llama_now_ns(void); // CLOCK_MONOTONIC

// Step `step`: one token of each sequence, and waits for its logits. *ns: how long that took.
int tb_llama_step(struct tb_llama *llama, uint32_t step, uint64_t *ns);

// Forgets the steps, but not the prompts. False: this model's memory cannot.
bool tb_llama_back(struct tb_llama *llama);

// Of the last step: [batch][vocabulary].
const float *tb_llama_logits(struct tb_llama *llama, uint32_t sequence);
uint32_t tb_llama_vocabulary(const struct tb_llama *llama);

// Forgets all sequences, and has their cells zeroed.
void tb_llama_clear(struct tb_llama *llama);

struct tb_llama_shape {
    uint32_t layers, heads, kv_heads, head_values, width;
};
void tb_llama_shape(const struct tb_llama *llama, struct tb_llama_shape *out);

#endif
