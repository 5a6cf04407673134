// SPDX-License-Identifier: Apache-2.0
//
// gguf: a model of random f16 weights as a file of GGUF version 3, which llama.cpp loads.
//
// The file is a header (what the model is, and the name, sizes and place of each tensor) and the tensors, each at a multiple of
// 32 bytes. It is written in one pass, with less than 1 MB of memory however large it is. One stream of numbers
// (testbed/stats/random.h) goes through all weights in the file's order, so the same model and seed give the same bytes on every
// machine.
#ifndef TB_GGUF_H
#define TB_GGUF_H

#include "testbed/base/sha256.h"
#include "testbed/engine/model.h"

#define TB_GGUF_ALIGNMENT 32u

struct tb_gguf {
    uint64_t bytes, parameters; // of the whole file; all weights, those of the norms too
    char sha256[TB_HASH_TEXT];
};

// Called after each piece that was written. 0: go on; otherwise the -errno with which to give up.
typedef int tb_gguf_progress(void *context, uint64_t done_bytes, uint64_t total_bytes);

// Writes the file beside `path` and renames it, so there is never half a model of that name, and a failed attempt leaves an older
// one as it is. The disk's space is asked for before anything is computed. The model must be complete (tb_model_complete());
// `progress` may be NULL. 0 or -errno; -ENOTDIR: no such folder; -EISDIR, -EINVAL: what is there is no regular file.
int tb_gguf_write(const char *path, const struct tb_model *model, uint64_t seed, tb_gguf_progress *progress, void *context,
                  struct tb_gguf *out);

#endif
