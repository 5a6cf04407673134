// SPDX-License-Identifier: Apache-2.0
//
// regions: where the engine's memory is. Which spans are the KV cache, the weights and the scratch, and on which nodes their pages
// lie, by move_pages(2).
//
// Our devices say so themselves (locus-ggml.h). Of the stock engine's buffers we learn when they are made: this program defines
// ggml_backend_alloc_ctx_tensors_from_buft() itself, so that the engine's calls come here, and hands them on. Nothing else changes.
// Weights that are mapped from the model's file are found in /proc/self/maps.
#ifndef TB_LLAMA_REGIONS_H
#define TB_LLAMA_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#define TB_LLAMA_REGIONS_MAX 128
#define TB_LLAMA_NODES_MAX 16

enum tb_llama_class { TB_LLAMA_KV, TB_LLAMA_WEIGHTS, TB_LLAMA_SCRATCH, TB_LLAMA_CLASSES };

struct tb_llama_region {
    enum tb_llama_class of;
    int node;                   // that it was asked for on; -1: none
    const char *base;
    size_t bytes;
    uint64_t pages, resident;   // of the base page's size
    uint64_t on[TB_LLAMA_NODES_MAX]; // of the resident ones
    int error;                  // errno of move_pages: pages were not looked up
};

const char *tb_llama_class_name(enum tb_llama_class of);

// A function of our backend that ggml's interface does not have (locus-ggml.h), to be copied to a pointer of its type; NULL: it is
// not loaded.
void *tb_llama_ours(const char *name);

// The regions as of now, at most `max`; `model` is the path of the model's file. Returns their number.
unsigned tb_llama_regions(struct tb_llama_region regions[], unsigned max, const char *model);

// Names them to an emulator's witness (counters/window.h): those of a class are the window `first` plus the class's number.
void tb_llama_regions_watch(const struct tb_llama_region regions[], unsigned count, uint32_t first);

#endif
