// SPDX-License-Identifier: Apache-2.0
//
// buffer: ggml's buffers as regions of liblocus.
//
// An engine asks for a buffer, puts tensors into it, and says "clear" when the KV cache is new. Which of the buffers is the KV
// cache shows only when the first tensor is put there: llama.cpp calls its tensors cache_k_l0, cache_v_l0 and so on. Weights are
// what the engine declares as such; what remains is scratch.
//
// Memory on demand. A fresh region is all zeros already, and to have a used one zeroed it is enough to give its pages back. So
// clearing with 0 touches nothing: a cache for 131,072 tokens has only the pages of the cells in use, placed by the region's policy
// when they are first written. LOCUS_KV=static writes every byte, as the engine's own buffers do; populated has all pages there
// before the first tensor, and clears them by writing.
//
// Room. A strict bind that does not fit is answered by the kernel with SIGKILL. So a buffer is refused, with a line in the
// engine's log, if its nodes have not enough for it and for what the other buffers there have yet to touch.
//
// Threads: as ggml says, which is one at a time for a buffer. Opening, closing and listing them may run at the same time.
#ifndef LG_BUFFER_H
#define LG_BUFFER_H

#include "layout.h"
#include "place.h"

// The calls of a buffer type with a struct lg_memory (place.h). lg_host_memory_calls also tells the engine that it may read and
// write by address.
extern const struct lg_type_calls lg_memory_calls, lg_host_memory_calls;

// Is it one of ours?
bool lg_buffer_is_ours(ggml_backend_buffer_t buffer);

// Is it one of ours, with a KV cache in it? NULL is none.
bool lg_buffer_has_kv(ggml_backend_buffer_t buffer);

// A tensor of the KV cache, by its name? ggml names views and converted copies after it, which are none.
bool lg_tensor_is_kv(const struct ggml_tensor *tensor);

struct locus_ggml_buffer;

// For the registry: see locus-ggml.h.
int lg_buffers_visit(int (*visit)(const struct locus_ggml_buffer *buffer, void *context), void *context);

#endif
