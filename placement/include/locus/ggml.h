// SPDX-License-Identifier: Apache-2.0
//
// locus-ggml: what libggml-locus.so tells a program about itself, besides ggml's own interface. A program asks for these functions
// by ggml_backend_reg_get_proc_address(ggml_backend_reg_by_name("LOCUS"), NAME).
//
// Threads: any; a visit holds up the opening and closing of buffers.
#ifndef LOCUS_GGML_H
#define LOCUS_GGML_H

#include "region.h"

#ifdef __cplusplus
extern "C" {
#endif

struct locus_ggml_buffer {
    const char *device;         // "LOCUS0"
    int node;                   // of the device
    enum locus_memory_class memory_class;
    const void *base;
    size_t bytes;
    struct locus_placement placement; // requested, granted, verified
};

// "locus_ggml_buffers": calls `visit` for each buffer, oldest first, until it returns other than 0, which is then the result.
// -ENOMEM: no memory to ask the kernel with.
typedef int (*locus_ggml_buffers_fn)(int (*visit)(const struct locus_ggml_buffer *buffer, void *context), void *context);

struct locus_ggml_sums {
    uint64_t exchanges;         // sums over the nodes that we have made
    uint64_t crossed_bytes;     // that one node read or wrote in another's part, in all of them
    uint64_t declined;          // left to the engine's generic sum
    uint64_t waits_ns;          // that the engine's thread waited for the other nodes' parts
};

// "locus_ggml_sums": of all groups of devices since the file was loaded.
typedef void (*locus_ggml_sums_fn)(struct locus_ggml_sums *out);

#ifdef __cplusplus
}
#endif

#endif
