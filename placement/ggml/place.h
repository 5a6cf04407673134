// SPDX-License-Identifier: Apache-2.0
//
// place: what the environment asks for, and the devices that follow from it: which node each has, and which CPUs.
//
//     LOCUS_NODES=0,1      one device for each node listed; a node that is listed twice is divided between two. Without it: every
//                          node with memory and CPUs that this process may use
//     LOCUS_THREADS=N      threads of each device (one for each physical core that the device has)
//     LOCUS_POLICY=NAME    bind, preferred or first-touch: how a device's memory is tied to its node (bind)
//     LOCUS_PAGES=NAME     thp, 4k or 2m: what its memory is made of (thp); 2m is populated at once, whatever LOCUS_KV says
//     LOCUS_KV=NAME        on-demand, static or populated: what clearing a buffer does (on-demand; buffer.h)
//     LOCUS_SUM=NAME       ours or generic: who adds up the nodes' parts (ours; group.h)
//
// All of it is read once, when the engine loads the file. liblocus-kv.so (preload.c) has other policies, and no devices:
//
//     LOCUS_KV_POLICY=NAME any of liblocus's policies (interleave)
//     LOCUS_KV_NODES=0,1   the nodes for it (every node with memory that this process may use, but a GPU's: topo_node.h)
//     LOCUS_PAGES, LOCUS_KV as above
#ifndef LG_PLACE_H
#define LG_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "locus/region.h"

#define LG_DEVICES_MAX 16u      // GGML_CUDA_MAX_DEVICES, too: llama.cpp's own tables end there
#define LG_CPUS_MAX 512u        // of a device; GGML_MAX_N_THREADS

enum lg_kv { LG_KV_ON_DEMAND, LG_KV_STATIC, LG_KV_POPULATED };

struct lg_place {
    int node;
    unsigned sharers;           // devices of this node, which divide its memory
    unsigned cpus[LG_CPUS_MAX], cpus_count; // ascending; one thread on each
};

struct locus_topo;

struct lg_settings {
    struct lg_place places[LG_DEVICES_MAX];
    unsigned places_count;
    enum locus_policy policy;
    enum locus_page page;
    enum lg_kv kv;
    bool generic_sum;
};

// 0; -EINVAL: the environment asks for something that does not exist, is refused or cannot be done here; why has one line that
// names the variable. -errno: the machine cannot be described.
int lg_settings_read(struct lg_settings *out, char *why, size_t why_bytes);

// The same for a machine that is open already. All of one that was only described counts as this process's.
int lg_settings_for(struct lg_settings *out, const struct locus_topo *topo, char *why, size_t why_bytes);

// Where the buffers of one kind lie, and what they are made of.
struct lg_memory {
    char name[16];
    enum locus_policy policy;
    int node;                   // LOCUS_NODE_ANY: `nodes`
    struct locus_nodes nodes;
    enum locus_page page;
    enum lg_kv kv;
};

// The same for the KV cache alone, which has no device.
int lg_kv_memory_read(struct lg_memory *out, char *why, size_t why_bytes);
int lg_kv_memory_for(struct lg_memory *out, const struct locus_topo *topo, char *why, size_t why_bytes);

#endif
