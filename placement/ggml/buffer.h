// SPDX-License-Identifier: Apache-2.0
//
// buffer: ggml's buffers as regions of liblocus, on the node of their device.
//
// An engine asks for a buffer, puts tensors into it, and says "clear" when the KV cache is new. Which of the buffers is the KV
// cache shows only when the first tensor is put there: llama.cpp calls its tensors cache_k_l0, cache_v_l0 and so on. Weights are
// what the engine declares as such; what remains is scratch.
//
// Memory on demand. A fresh region is all zeros already, and to have a used one zeroed it is enough to give its pages back. So
// clearing with 0 touches nothing: a cache for 131,072 tokens has only the pages of the cells in use, and they come from the node
// of the region whoever writes them first. LOCUS_KV=static writes every byte, as the engine's own buffers do; populated has all
// pages there before the first tensor, and clears them by writing.
//
// Room. A strict bind that does not fit is answered by the kernel with SIGKILL. So a buffer is refused, with a line in the
// engine's log, if the node has not enough for it and for what the other buffers there have yet to touch.
//
// Threads: as ggml says, which is one at a time for a buffer. Opening, closing and listing them may run at the same time.
#ifndef LG_BUFFER_H
#define LG_BUFFER_H

#include "device.h"

// The calls of a buffer type of `device`.
extern const struct ggml_backend_buffer_type_i lg_memory_calls;

// Is it one of ours, on any node?
bool lg_buffer_is_ours(ggml_backend_buffer_t buffer);

struct locus_ggml_buffer;

// For the registry: see locus-ggml.h.
int lg_buffers_visit(int (*visit)(const struct locus_ggml_buffer *buffer, void *context), void *context);

#endif
