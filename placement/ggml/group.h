// SPDX-License-Identifier: Apache-2.0
//
// group: the devices that work on one graph together (-sm tensor), and the sum over their parts.
//
// Each device has a share of every layer's heads and of every layer's feed-forward rows. Twice a layer each has a vector that is a
// term of a sum, and all need the sum before they can go on.
//
//     alone       up to LG_SUM_ALONE_BYTES: the calling thread adds all parts and writes the sum into each of them
//     divided     above: each member adds one piece of all parts, of whole cache lines, and writes it into each of them
//
// In both ways each element is added once, by one thread and in the order of the members. So all members have the same bits, and
// the same in each repetition. And in both ways (members - 1) parts are read and as many written across nodes.
//
// A member whose share of a layer is empty has no part: ggml clears the tensor's GGML_TENSOR_FLAG_COMPUTE. It counts as zeros, and
// gets the sum.
//
// LOCUS_SUM=generic leaves the sum to the engine, which copies parts to and fro and adds by a graph of one operation.
//
// A group belongs to one of the engine's contexts; two contexts have two. All its members are ours.
#ifndef LG_GROUP_H
#define LG_GROUP_H

#include "stream.h"

// Handing a piece to another node and waiting for it takes about a microsecond, in which one thread adds this much.
#define LG_SUM_ALONE_BYTES 16384u

struct lg_group;
struct locus_ggml_sums;

// As ggml_backend_comm_init_t and its like.
void *lg_group_open(ggml_backend_t *backends, size_t count);
bool lg_group_sum(void *group, struct ggml_tensor **parts);
void lg_group_close(void *group);

bool lg_group_is_last(const struct lg_group *group, unsigned member);

// Waits until all members but the last, which is the caller, are idle.
enum ggml_status lg_group_wait(struct lg_group *group);

// A KV cache that is not on the devices (--no-kv-offload). The engine then gives each member its share of the query heads, and a
// copy of all KV heads instead of those that go with them: where there are several, the result would be wrong without a word.
// lg_group_look() is told of each operation that the engine may give us, before it is divided, and notices such a cache. From then
// on lg_group_refuses() looks through the graphs of members. True: this one attends over such a copy, and a line says so.
void lg_group_look(const struct ggml_tensor *operation);
bool lg_group_refuses(struct ggml_cgraph *graph);

// For the registry: see locus-ggml.h.
void lg_group_sums(struct locus_ggml_sums *out);

#endif
