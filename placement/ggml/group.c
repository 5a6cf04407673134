// SPDX-License-Identifier: Apache-2.0
//
// group: see group.h.
//
// No lock and no flag of its own: when lg_group_sum() is called every member is idle (stream.h), so all parts are complete, and
// the jobs of a divided sum are ordered by the members' bells.

#include "group.h"

#include <stdlib.h>
#include <string.h>

#include "bell.h"
#include "buffer.h"
#include "locus/ggml.h"
#include "placement/base/clock.h"

#define LINE_FLOATS 16u         // of a cache line

typedef float lane __attribute__((vector_size(64), aligned(4), may_alias));

struct lg_group {
    struct lg_stream *members[LG_DEVICES_MAX];
    unsigned count;
    // The sum under way; written by the caller before it posts, read by the members.
    float *parts[LG_DEVICES_MAX];   // [count]; where the sum goes
    float *terms[LG_DEVICES_MAX];   // [terms_count]; those of the parts that are not empty
    unsigned terms_count;
    size_t floats;
};

// Atomic, relaxed: they are added to by the callers of several groups, and guard nothing.
static struct locus_ggml_sums sums;

static void count_sum(uint64_t *counter, uint64_t more)
{
    __atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
}

void lg_group_sums(struct locus_ggml_sums *out)
{
    out->exchanges = __atomic_load_n(&sums.exchanges, __ATOMIC_RELAXED);
    out->crossed_bytes = __atomic_load_n(&sums.crossed_bytes, __ATOMIC_RELAXED);
    out->declined = __atomic_load_n(&sums.declined, __ATOMIC_RELAXED);
    out->waits_ns = __atomic_load_n(&sums.waits_ns, __ATOMIC_RELAXED);
}

void *lg_group_open(ggml_backend_t *backends, size_t count)
{
    if (count < 2 || count > LG_DEVICES_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!lg_stream_of(backends[i]))
            return NULL; // beside a GPU, say: then each of ours waits for its own graphs, and the engine adds up
    struct lg_group *group = calloc(1, sizeof(*group));
    if (!group)
        return NULL;
    group->count = (unsigned)count;
    for (unsigned i = 0; i < group->count; i++) {
        group->members[i] = lg_stream_of(backends[i]);
        lg_stream_join(group->members[i], group, i);
    }
    return group;
}

void lg_group_close(void *context)
{
    struct lg_group *group = context;
    for (unsigned i = 0; i < group->count; i++)
        lg_stream_join(group->members[i], NULL, 0);
    lg_stream_unpin_caller();
    free(group);
}

bool lg_group_is_last(const struct lg_group *group, unsigned member)
{
    return member == group->count - 1;
}

enum ggml_status lg_group_wait(struct lg_group *group)
{
    enum ggml_status worst = GGML_STATUS_SUCCESS;
    uint64_t before_ns = clock_now_ns();
    for (unsigned i = 0; i < group->count - 1; i++) {
        enum ggml_status status = lg_stream_wait(group->members[i]);
        if (status != GGML_STATUS_SUCCESS)
            worst = status;
    }
    count_sum(&sums.waits_ns, clock_now_ns() - before_ns);
    return worst;
}

// --- a KV cache elsewhere ------------------------------------------------------------------------------------------------------

// A flag, relaxed: it is set while a context is opened, and read when the same context computes.
static bool host_caches;

static bool is_operation(const struct ggml_tensor *tensor, const char *name)
{
    return strcmp(lg_engine.op_name(tensor->op), name) == 0;
}

// Where the values of K or V are stored: behind views, and behind the copies that change a cache's type.
static const struct ggml_tensor *stored(const struct ggml_tensor *tensor)
{
    for (;;) {
        if (is_operation(tensor, "CPY") || is_operation(tensor, "CONT"))
            tensor = tensor->src[0];
        else if (tensor->view_src)
            tensor = tensor->view_src;
        else
            return tensor;
    }
}

static bool is_host_cache(const struct ggml_tensor *tensor)
{
    const struct ggml_tensor *at = stored(tensor);
    return lg_tensor_is_kv(at) && at->buffer && lg_engine.is_host(at->buffer->buft);
}

// Said in any case, and at once: with several sequences or long prompts the engine aborts by tensor, before it asks us to compute.
void lg_group_look(const struct ggml_tensor *operation)
{
    if (!is_operation(operation, "FLASH_ATTN_EXT") || !(is_host_cache(operation->src[1]) || is_host_cache(operation->src[2])))
        return;
    if (!__atomic_exchange_n(&host_caches, true, __ATOMIC_RELAXED))
        lg_log(GGML_LOG_LEVEL_WARN, "the KV cache is not on our devices (--no-kv-offload): by layer it is copied to them at each "
                                    "step, and by tensor the engine cannot compute, and ends\n");
}

// What no operation has computed, and is in no cache of ours, is the engine's copy. A single KV head goes with every query head.
static bool is_copy_of_heads(const struct ggml_tensor *tensor)
{
    const struct ggml_tensor *at = stored(tensor);
    return tensor->ne[2] > 1 && is_operation(at, "NONE") && !lg_buffer_has_kv(at->buffer);
}

bool lg_group_refuses(struct ggml_cgraph *graph)
{
    if (!__atomic_load_n(&host_caches, __ATOMIC_RELAXED))
        return false;
    for (int i = 0; i < lg_engine.graph_nodes(graph); i++) {
        const struct ggml_tensor *node = lg_engine.graph_node(graph, i);
        if (!is_operation(node, "FLASH_ATTN_EXT") || !(is_copy_of_heads(node->src[1]) || is_copy_of_heads(node->src[2])))
            continue;
        lg_log(GGML_LOG_LEVEL_ERROR,
               "the KV cache is not on our devices (--no-kv-offload), and the engine would compute that wrong by tensor: leave "
               "this option out, or divide by layer (-sm layer)\n");
        return true;
    }
    return false;
}

// --- the sum -------------------------------------------------------------------------------------------------------------------

static void add_line(const struct lg_group *group, size_t at)
{
    lane sum = *(const lane *)(group->terms[0] + at);
    for (unsigned term = 1; term < group->terms_count; term++)
        sum += *(const lane *)(group->terms[term] + at);
    for (unsigned part = 0; part < group->count; part++)
        *(lane *)(group->parts[part] + at) = sum;
}

static void add_one(const struct lg_group *group, size_t at)
{
    float sum = group->terms[0][at];
    for (unsigned term = 1; term < group->terms_count; term++)
        sum += group->terms[term][at];
    for (unsigned part = 0; part < group->count; part++)
        group->parts[part][at] = sum;
}

static void add(const struct lg_group *group, size_t begin, size_t end)
{
    for (; begin + LINE_FLOATS <= end; begin += LINE_FLOATS)
        add_line(group, begin);
    for (; begin < end; begin++)
        add_one(group, begin);
}

// Piece `member` of the vector: whole lines, and what is over goes to the last.
static void add_piece(struct lg_stream *stream, unsigned member, void *context)
{
    (void)stream;
    const struct lg_group *group = context;
    size_t lines = group->floats / LINE_FLOATS;
    size_t begin = lines * member / group->count * LINE_FLOATS;
    size_t end = lines * (member + 1) / group->count * LINE_FLOATS;
    add(group, begin, member == group->count - 1 ? group->floats : end);
}

static bool is_vector(const struct ggml_tensor *tensor, const struct ggml_tensor *like)
{
    size_t bytes = lg_engine.nbytes(tensor), elements = 1;
    for (unsigned i = 0; i < GGML_MAX_DIMS; i++)
        elements *= (size_t)tensor->ne[i];
    return tensor->type == GGML_TYPE_F32 && bytes == elements * sizeof(float) && bytes == lg_engine.nbytes(like);
}

static bool take_parts(struct lg_group *group, struct ggml_tensor **parts)
{
    group->terms_count = 0;
    for (unsigned i = 0; i < group->count; i++) {
        if (!is_vector(parts[i], parts[0]))
            return false;
        group->parts[i] = parts[i]->data;
        if (parts[i]->flags & GGML_TENSOR_FLAG_COMPUTE)
            group->terms[group->terms_count++] = parts[i]->data;
    }
    group->floats = lg_engine.nbytes(parts[0]) / sizeof(float);
    return group->terms_count > 0;
}

static bool divide(struct lg_group *group)
{
    unsigned last = group->count - 1;
    for (unsigned i = 0; i < last; i++)
        lg_stream_post(group->members[i], add_piece, group);
    add_piece(group->members[last], last, group);
    return lg_group_wait(group) == GGML_STATUS_SUCCESS;
}

bool lg_group_sum(void *context, struct ggml_tensor **parts)
{
    struct lg_group *group = context;
    if (lg_settings.generic_sum || !take_parts(group, parts)) {
        count_sum(&sums.declined, 1);
        return false;
    }
    if (group->floats * sizeof(float) <= LG_SUM_ALONE_BYTES)
        add(group, 0, group->floats);
    else if (!divide(group))
        return false;
    count_sum(&sums.exchanges, 1);
    count_sum(&sums.crossed_bytes, 2u * (group->count - 1) * group->floats * sizeof(float));
    return true;
}
