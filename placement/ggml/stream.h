// SPDX-License-Identifier: Apache-2.0
//
// stream: what ggml calls a backend, the place to which an engine's context sends the graphs for one device.
//
// A stream has a thread on the device's node, its leader, and a thread pool of ggml's there, of which the leader is the first. The
// stock CPU backend computes; we say where. Jobs go to the leader through a ring with one producer, since ggml allows one thread at
// a time to use a backend.
//
// Who may return early, and when. The engine reuses a graph and its tensors as soon as the call that was to compute them returns.
// It synchronizes only where somebody reads a result, which a prompt without logits never does. So no call may return while
// anything is still running, with one exception: devices that work on one graph together (group.h) are called one after another,
// and would take turns if each call waited.
//
//     a stream alone          graph_compute returns when the graph is computed
//     a member of a group     returns at once, the graph goes to the leader
//     a group's last member   computes its part in the calling thread, and returns when all members are done
//
// So when a group's last call returns, everything of the group is idle, and what the engine does with its memory is safe. Between
// the members' calls it does nothing but call the next.
//
// The calling thread does the last member's work because a machine with as many CPUs as devices has none left for it: asleep it
// would have to be woken at each exchange. While it computes it is pinned to the last member's node, and it has its own affinity
// again when the engine synchronizes. So threads that it starts meanwhile do not inherit the pin.
//
// Two contexts have two streams for each device, with threads of their own: a leader that served both would wait in one context's
// sum for a part that another leader has queued behind the other's.
#ifndef LG_STREAM_H
#define LG_STREAM_H

#include "device.h"

struct lg_group;
struct lg_stream;

// A backend of ggml for the device, or NULL with a line in the engine's log.
ggml_backend_t lg_stream_open(struct lg_device *device);

// NULL: not one of ours.
struct lg_stream *lg_stream_of(ggml_backend_t backend);

// The abort callback of the engine, for the CPU backend inside.
void lg_stream_set_abort(ggml_backend_t backend, ggml_abort_callback callback, void *data);

// The rest is what group.c needs. "The caller" is the thread that uses the group's backends. NULL leaves the group.
void lg_stream_join(struct lg_stream *stream, struct lg_group *group, unsigned member);

// Sends a call to the leader, behind what it has already. `call` runs there, with the stream's number in its group.
typedef void lg_job_fn(struct lg_stream *stream, unsigned member, void *context);
void lg_stream_post(struct lg_stream *stream, lg_job_fn *call, void *context);

// Waits until the leader is done with everything. The worst that a graph sent there has come to; FAILED: its thread is gone.
enum ggml_status lg_stream_wait(struct lg_stream *stream);

// Pins the calling thread for the last member, or gives it its own affinity back.
void lg_stream_pin_caller(const struct lg_stream *stream);
void lg_stream_unpin_caller(void);

#endif
