// SPDX-License-Identifier: Apache-2.0
//
// stream: see stream.h for who may return early.

#include "stream.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bell.h"
#include "group.h"
#include "topo/pin.h"

#define RING 8u                 // jobs; a group has at most two underway, the engine's generic sum four
// Of ggml's scale of 0 to 100: its threads poll for some milliseconds between graphs before they sleep. The gap between two parts
// of a token is microseconds, the one between two requests may be hours.
#define POLL_LEVEL 1u

struct job {
    lg_job_fn *call;            // NULL: end
    void *context;
};

struct lg_stream {
    // The caller writes `jobs` and rings `posted`; the leader reads them and rings `done`. A job's place is written again only when
    // `done` has passed it. Whatever the jobs touch is ordered by the same two bells (B1, B2 in bell.h).
    struct lg_bell posted, done;
    struct job jobs[RING];
    int worst;                  // enum ggml_status; the leader writes it before `done`, the caller reads and clears it after
    uint32_t issued;            // the caller's: jobs posted so far
    bool broken;                // the caller's: the leader is gone

    struct lg_device *device;
    struct lg_cpu cpu;
    ggml_backend_t inner;       // the CPU backend
    struct ggml_threadpool *pool;
    pthread_t leader;
    pid_t leader_tid;
    struct lg_group *group;
    unsigned member;
    struct ggml_backend base;
};

static enum ggml_status compute(struct lg_stream *stream, struct ggml_cgraph *graph)
{
    return stream->inner->iface.graph_compute(stream->inner, graph);
}

// --- the leader ----------------------------------------------------------------------------------------------------------------

static struct ggml_threadpool *new_pool(struct lg_stream *stream)
{
    const struct lg_place *place = stream->device->place;
    struct ggml_threadpool_params params = {.n_threads = (int)place->cpus_count,
                                            .prio = GGML_SCHED_PRIO_NORMAL,
                                            .poll = POLL_LEVEL,
                                            .strict_cpu = true};
    // ggml's mask ends at CPU 511. Beyond it, its threads inherit this thread's affinity: the whole node.
    if (place->cpus[place->cpus_count - 1] < GGML_MAX_N_THREADS)
        for (unsigned i = 0; i < place->cpus_count; i++)
            params.cpumask[place->cpus[i]] = true;
    return stream->cpu.pool_new(&params);
}

// ggml pins the thread that makes a pool, too: to the last CPU of the mask, which is that of the pool's first thread.
static int set_up_leader(struct lg_stream *stream)
{
    char name[16];
    snprintf(name, sizeof(name), "%s", stream->device->name);
    pthread_setname_np(pthread_self(), name);
    int err = locus_pin_node(stream->device->place->node);
    if (err)
        return err;
    stream->leader_tid = (pid_t)syscall(SYS_gettid);
    stream->pool = new_pool(stream);
    return stream->pool ? 0 : -ENOMEM;
}

static void *lead(void *context)
{
    struct lg_stream *stream = context;
    int err = set_up_leader(stream);
    stream->worst = err;
    lg_bell_ring(&stream->done);
    for (uint32_t job = 1; !err; job++) {
        lg_bell_wait(&stream->posted, job, NULL, NULL);
        struct job todo = stream->jobs[job % RING];
        if (!todo.call)
            break;
        todo.call(stream, stream->member, todo.context);
        lg_bell_ring(&stream->done);
    }
    return NULL;
}

static bool leader_lives(void *context)
{
    const struct lg_stream *stream = context;
    return syscall(SYS_tgkill, getpid(), stream->leader_tid, 0) == 0;
}

// --- posting and waiting: the caller ----------------------------------------------------------------------------------------

// The leader's own first ring, when it is set up, counts as a job: so job n is done when the count is n + 1.
static enum ggml_status wait_for(struct lg_stream *stream, uint32_t count)
{
    if (stream->broken)
        return GGML_STATUS_FAILED;
    if (lg_bell_wait(&stream->done, count, leader_lives, stream) != 0) {
        stream->broken = true;
        lg_log(GGML_LOG_LEVEL_ERROR, "%s: its thread %d is gone; close this context, it cannot compute any more\n",
               stream->device->name, (int)stream->leader_tid);
        return GGML_STATUS_FAILED;
    }
    return GGML_STATUS_SUCCESS;
}

void lg_stream_post(struct lg_stream *stream, lg_job_fn *call, void *context)
{
    uint32_t job = stream->issued + 1;
    if (stream->broken || (stream->issued >= RING && wait_for(stream, job - RING + 1) != GGML_STATUS_SUCCESS))
        return;
    stream->jobs[job % RING] = (struct job){call, context};
    stream->issued = job;
    lg_bell_ring(&stream->posted);
}

enum ggml_status lg_stream_wait(struct lg_stream *stream)
{
    enum ggml_status status = wait_for(stream, stream->issued + 1);
    if (status == GGML_STATUS_SUCCESS) {
        status = (enum ggml_status)stream->worst;
        stream->worst = GGML_STATUS_SUCCESS;
    }
    return status;
}

// --- the calling thread's affinity ------------------------------------------------------------------------------------------

#define AFFINITY_BYTES 1024u    // 8192 CPUs, as many as Linux is built for

static _Thread_local struct {
    int cpu;
    bool pinned;
    unsigned char before[AFFINITY_BYTES];
    int before_bytes;
} caller;

// Once for a token, not for each part of it: `pinned` is looked at first.
void lg_stream_pin_caller(const struct lg_stream *stream)
{
    const struct lg_place *place = stream->device->place;
    int cpu = (int)place->cpus[place->cpus_count - 1];
    if (caller.pinned && caller.cpu == cpu)
        return;
    if (!caller.pinned)
        caller.before_bytes = (int)syscall(SYS_sched_getaffinity, 0, sizeof(caller.before), caller.before);
    if (caller.before_bytes > 0 && locus_pin_cpu(cpu) == 0) {
        caller.pinned = true;
        caller.cpu = cpu;
    }
}

void lg_stream_unpin_caller(void)
{
    if (!caller.pinned)
        return;
    syscall(SYS_sched_setaffinity, 0, (size_t)caller.before_bytes, caller.before);
    caller.pinned = false;
}

// --- ggml's calls --------------------------------------------------------------------------------------------------------------

void lg_stream_join(struct lg_stream *stream, struct lg_group *group, unsigned member)
{
    stream->group = group;
    stream->member = member;
}

static const char *get_name(ggml_backend_t backend)
{
    const struct lg_stream *stream = backend->context;
    return stream->device->name;
}

struct lg_stream *lg_stream_of(ggml_backend_t backend)
{
    return backend->iface.get_name == get_name ? backend->context : NULL;
}

static void compute_job(struct lg_stream *stream, unsigned member, void *graph)
{
    (void)member;
    enum ggml_status status = compute(stream, graph);
    if (status != GGML_STATUS_SUCCESS)
        stream->worst = status;
}

static enum ggml_status graph_compute(ggml_backend_t backend, struct ggml_cgraph *graph)
{
    struct lg_stream *stream = lg_stream_of(backend);
    if (!stream->group) {
        lg_stream_post(stream, compute_job, graph);
        return lg_stream_wait(stream);
    }
    if (lg_group_refuses(graph))
        return GGML_STATUS_FAILED;
    if (!lg_group_is_last(stream->group, stream->member)) {
        lg_stream_post(stream, compute_job, graph);
        return stream->broken ? GGML_STATUS_FAILED : GGML_STATUS_SUCCESS;
    }
    lg_stream_pin_caller(stream);
    enum ggml_status status = compute(stream, graph);
    enum ggml_status others = lg_group_wait(stream->group);
    return status == GGML_STATUS_SUCCESS ? others : status;
}

static void synchronize(ggml_backend_t backend)
{
    struct lg_stream *stream = lg_stream_of(backend);
    lg_stream_wait(stream);
    // The generic sum synchronizes at each exchange.
    if (!stream->group || !lg_settings.generic_sum)
        lg_stream_unpin_caller();
}

void lg_stream_set_abort(ggml_backend_t backend, ggml_abort_callback callback, void *data)
{
    struct lg_stream *stream = lg_stream_of(backend);
    stream->cpu.set_abort(stream->inner, callback, data);
}

// --- open and close ------------------------------------------------------------------------------------------------------------

static void close_stream(struct lg_stream *stream)
{
    lg_stream_post(stream, NULL, NULL);
    pthread_join(stream->leader, NULL); // also of a leader that is gone
    // Where a leader has gone in the middle of a graph, ggml's threads wait for it for ever, and with them who frees their pool.
    if (!stream->broken)
        stream->cpu.pool_free(stream->pool);
    stream->inner->iface.free(stream->inner);
    free(stream);
}

static void free_backend(ggml_backend_t backend)
{
    lg_stream_unpin_caller();
    close_stream(lg_stream_of(backend));
}

static const struct ggml_backend_i stream_calls = {
    .get_name = get_name,
    .free = free_backend,
    .synchronize = synchronize,
    .graph_compute = graph_compute,
};

static ggml_guid guid = {0x6c, 0x6f, 0x63, 0x75, 0x73, 0x2d, 0x67, 0x67, 0x6d, 0x6c, 0x2d, 0x6e, 0x6f, 0x64, 0x65, 0x73};

// The leader must see none of the engine's signals: their handlers are the engine's, and so are the threads that they expect.
static int start_leader(struct lg_stream *stream)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = -pthread_create(&stream->leader, NULL, lead, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err)
        return err;
    lg_bell_wait(&stream->done, 1, NULL, NULL);
    if (stream->worst) {
        err = stream->worst;
        pthread_join(stream->leader, NULL);
    }
    return err;
}

static int open_inner(struct lg_stream *stream)
{
    const char *missing;
    int err = lg_cpu_find(&stream->cpu, &missing);
    if (err) {
        lg_log(GGML_LOG_LEVEL_ERROR, "%s: the engine's CPU backend does the computing, and there is no %s\n", stream->device->name,
               missing);
        return err;
    }
    stream->inner = stream->cpu.device->iface.init_backend(stream->cpu.device, NULL);
    return stream->inner ? 0 : -ENOMEM;
}

ggml_backend_t lg_stream_open(struct lg_device *device)
{
    struct lg_stream *stream = aligned_alloc(_Alignof(struct lg_stream), sizeof(*stream));
    if (!stream)
        return NULL;
    memset(stream, 0, sizeof(*stream));
    stream->device = device;
    stream->base = (struct ggml_backend){.guid = &guid, .iface = stream_calls, .device = &device->base, .context = stream};
    int err = open_inner(stream);
    if (!err)
        err = start_leader(stream);
    if (!err) {
        stream->cpu.set_pool(stream->inner, stream->pool);
        stream->cpu.set_threads(stream->inner, (int)device->place->cpus_count);
        return &stream->base;
    }
    lg_log(GGML_LOG_LEVEL_ERROR, "%s: no thread on node %d: %s\n", device->name, device->place->node, strerror(-err));
    if (stream->inner)
        stream->inner->iface.free(stream->inner);
    free(stream);
    return NULL;
}
