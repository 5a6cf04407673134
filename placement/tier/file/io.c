// SPDX-License-Identifier: Apache-2.0
//
// io: see io.h. The fsync is linked to the write before it, so that one call submits both and the kernel starts the sync when the
// write is done (io_uring_enter(2), IOSQE_IO_LINK). A short write breaks the chain like an error.
//
// A kernel that is short of memory takes fewer entries than it is offered, and may cut a chain in two. The second part would then
// be a chain of its own, whose sync does not wait for the write. So it is withdrawn: its entries become empty ones, and it ends as
// if the kernel had put it off.
//
// Where the kernel denies the ring, it has taken none of what was offered: its head says so. And what it took before completes
// without our entering by io_uring_enter(2): on the way back from any system call.
#include "io.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PART_BYTES (UINT64_C(1) << 30) // the kernel's limit for one registered buffer
#define PARTS_MAX 256u                 // larger memory is registered in part
#define BATCH 32u
#define WITHDRAWN UINT64_MAX           // tag of an entry that was withdrawn
#define WITHDRAWN_MAX 2u               // the longest chain has three elements, and one was taken
#define OFFER_NS UINT64_C(1000000)     // arbitrary: after so long, what the kernel did not take is offered again
#define LOOK_NS UINT64_C(100000)       // arbitrary: so long between two looks at what a ring that ends has left to do

// A filter may let a ring be made and not be entered. A no-op shows it before anything hangs on it.
static int ring_try(struct io_uring *ring)
{
    io_uring_prep_nop(io_uring_get_sqe(ring));
    int taken = io_uring_submit_and_wait(ring, 1);
    io_uring_cq_advance(ring, io_uring_cq_ready(ring));
    return taken < 0 ? taken : 0;
}

int io_open(struct io *io, int fd, uint32_t under_way_max, bool plain)
{
    *io = (struct io){.fd = fd};
    if (plain)
        return 0;
    // Completions are only looked at when we enter the kernel or see its flag, so it need not interrupt us.
    unsigned entries = under_way_max + WITHDRAWN_MAX;
    int error = io_uring_queue_init(entries, &io->ring, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    if (error == -EINVAL) // before Linux 5.19
        error = io_uring_queue_init(entries, &io->ring, 0);
    if (error)
        return error;
    error = io->ring.features & IORING_FEAT_EXT_ARG ? ring_try(&io->ring) : -ENOSYS; // before Linux 5.11: no wait with a limit
    if (error)
        io_uring_queue_exit(&io->ring);
    io->ring_open = !error;
    return error;
}

void io_close(struct io *io)
{
    if (io->ring_open || io->ring_ends)
        io_uring_queue_exit(&io->ring);
    io->ring_open = io->ring_ends = false;
}

int io_register(struct io *io, void *own, size_t own_bytes, void *memory, size_t memory_bytes)
{
    struct iovec buffers[1 + PARTS_MAX] = {{own, own_bytes}};
    unsigned count = 1;
    size_t taken = 0;
    if (!io->ring_open)
        return -ENOSYS;
    for (; memory && taken < memory_bytes && count <= PARTS_MAX; count++) {
        size_t part = memory_bytes - taken < PART_BYTES ? memory_bytes - taken : PART_BYTES;
        buffers[count] = (struct iovec){(char *)memory + taken, part};
        taken += part;
    }
    int error = io_uring_register_buffers(&io->ring, buffers, count);
    if (error)
        return error;
    io->registered = own;
    io->registered_bytes = own_bytes;
    io->memory = memory;
    io->memory_bytes = taken;
    return 0;
}

// The number of the registered buffer that has all these bytes, or -1.
static int buffer_of(const struct io *io, const char *memory, uint32_t bytes)
{
    uintptr_t at = (uintptr_t)memory, own = (uintptr_t)io->registered, given = (uintptr_t)io->memory;
    if (io->registered && at >= own && at - own + bytes <= io->registered_bytes)
        return 0;
    if (!io->memory || at < given || at - given + bytes > io->memory_bytes)
        return -1;
    uint64_t part = (at - given) / PART_BYTES;
    return (at - given + bytes - 1) / PART_BYTES == part ? (int)part + 1 : -1;
}

// --- without a ring ------------------------------------------------------------------------------------------------------------

static void result_add(struct io *io, uint64_t tag, int result)
{
    uint32_t place = (io->results_first + io->results_count++) % IO_UNDER_WAY_MAX; // as many as may be under way
    io->results[place] = (struct io_result){tag, result};
}

// `wanted`: what it returns if it succeeded in full.
static void plain_ended(struct io *io, uint64_t tag, ssize_t result, ssize_t wanted, bool link)
{
    bool again = result == -EINTR || result == -EAGAIN || result == -ECANCELED;
    io->chain_failed |= (link || io->linked) && result != wanted && !again;
    io->broken = link && (io->broken || result != wanted);
    io->linked = link;
    result_add(io, tag, (int)result);
}

static bool plain_canceled(struct io *io, uint64_t tag, bool link)
{
    if (!io->linked || !io->broken)
        return false;
    plain_ended(io, tag, -ECANCELED, 0, link);
    return true;
}

static void plain_transfer(struct io *io, bool write, void *memory, uint32_t bytes, uint64_t offset, uint64_t tag, bool link)
{
    if (plain_canceled(io, tag, link))
        return;
    ssize_t result = write ? pwrite(io->fd, memory, bytes, (off_t)offset) : pread(io->fd, memory, bytes, (off_t)offset);
    plain_ended(io, tag, result < 0 ? -errno : result, bytes, link);
}

static void plain_sync(struct io *io, uint64_t tag, bool link)
{
    if (!plain_canceled(io, tag, link))
        plain_ended(io, tag, fdatasync(io->fd) ? -errno : 0, 0, link);
}

// --- with one ------------------------------------------------------------------------------------------------------------------

static struct io_uring_sqe *entry_at(const struct io *io, unsigned at)
{
    return &io->ring.sq.sqes[at & io->ring.sq.ring_mask];
}

static void chain_withdraw(struct io *io, unsigned at)
{
    int result = -EAGAIN;
    for (bool linked = true; linked; at++, result = -ECANCELED) {
        struct io_uring_sqe *sqe = entry_at(io, at);
        linked = sqe->flags & IOSQE_IO_LINK;
        result_add(io, sqe->user_data, result);
        io_uring_prep_nop(sqe);
        io_uring_sqe_set_data64(sqe, WITHDRAWN);
    }
}

// From here on there are only plain calls: first for what is queued, in its order.
static void ring_end(struct io *io, int error)
{
    unsigned left = io_uring_sq_ready(&io->ring);
    io->denied = -error;
    io->ring_open = false;
    io->ring_ends = true;
    for (unsigned at = io->ring.sq.sqe_tail - left; left > 0; at++, left--) {
        const struct io_uring_sqe *sqe = entry_at(io, at);
        bool link = sqe->flags & IOSQE_IO_LINK, write = sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITE_FIXED;
        if (sqe->opcode == IORING_OP_FSYNC)
            plain_sync(io, sqe->user_data, link);
        else if (sqe->opcode != IORING_OP_NOP)
            plain_transfer(io, write, (void *)(uintptr_t)sqe->addr, sqe->len, sqe->off, sqe->user_data, link);
    }
}

// What the kernel has taken, and we have not reaped: each element has one completion.
static unsigned ring_under_way(const struct io *io)
{
    return *io->ring.sq.khead - *io->ring.cq.khead;
}

static bool is_passing(int error)
{
    return error == -EAGAIN || error == -EBUSY || error == -EINTR || error == -ENOMEM;
}

// What the kernel does not take now stays queued until the next call.
void io_submit(struct io *io)
{
    unsigned offered = io->ring_open ? io_uring_sq_ready(&io->ring) : 0;
    if (offered == 0)
        return;
    int taken = io_uring_submit(&io->ring);
    if (taken < 0 && !is_passing(taken)) {
        ring_end(io, taken);
        return;
    }
    unsigned left = io_uring_sq_ready(&io->ring), at = io->ring.sq.sqe_tail - left;
    if (left > 0 && left < offered && entry_at(io, at - 1)->flags & IOSQE_IO_LINK)
        chain_withdraw(io, at);
}

void io_room(struct io *io, uint32_t transfers)
{
    if (io->ring_open && io_uring_sq_space_left(&io->ring) < transfers)
        io_submit(io);
}

static void queue(struct io_uring_sqe *sqe, uint64_t tag, bool link)
{
    io_uring_sqe_set_data64(sqe, tag);
    if (link)
        io_uring_sqe_set_flags(sqe, IOSQE_IO_LINK);
}

void io_transfer(struct io *io, bool write, void *memory, uint32_t bytes, uint64_t offset, uint64_t tag, bool link)
{
    if (!io->ring_open) {
        plain_transfer(io, write, memory, bytes, offset, tag, link);
        return;
    }
    struct io_uring_sqe *sqe = io_uring_get_sqe(&io->ring);
    int buffer = buffer_of(io, memory, bytes);
    if (!sqe)
        result_add(io, tag, -EBUSY);
    else if (write && buffer >= 0)
        io_uring_prep_write_fixed(sqe, io->fd, memory, bytes, offset, buffer);
    else if (write)
        io_uring_prep_write(sqe, io->fd, memory, bytes, offset);
    else if (buffer >= 0)
        io_uring_prep_read_fixed(sqe, io->fd, memory, bytes, offset, buffer);
    else
        io_uring_prep_read(sqe, io->fd, memory, bytes, offset);
    if (sqe)
        queue(sqe, tag, link);
}

void io_sync(struct io *io, uint64_t tag, bool link)
{
    if (!io->ring_open) {
        plain_sync(io, tag, link);
        return;
    }
    struct io_uring_sqe *sqe = io_uring_get_sqe(&io->ring);
    if (!sqe) {
        result_add(io, tag, -EBUSY);
        return;
    }
    io_uring_prep_fsync(sqe, io->fd, IORING_FSYNC_DATASYNC);
    queue(sqe, tag, link);
}

static uint32_t results_take(struct io *io, struct io_result *out, uint32_t max)
{
    uint32_t count = 0;
    for (; count < max && io->results_count; count++, io->results_count--) {
        out[count] = io->results[io->results_first];
        io->results_first = (io->results_first + 1) % IO_UNDER_WAY_MAX;
    }
    return count;
}

static uint32_t ring_take(struct io *io, struct io_result *out, uint32_t max)
{
    struct io_uring_cqe *completions[BATCH];
    unsigned count = io_uring_peek_batch_cqe(&io->ring, completions, max < BATCH ? max : BATCH), taken = 0;
    for (unsigned i = 0; i < count; i++)
        if (io_uring_cqe_get_data64(completions[i]) != WITHDRAWN)
            out[taken++] = (struct io_result){io_uring_cqe_get_data64(completions[i]), completions[i]->res};
    io_uring_cq_advance(&io->ring, count);
    return taken;
}

static void ring_wait(struct io *io, uint64_t wait_ns)
{
    if (io->ring_ends) {
        nanosleep(&(struct timespec){.tv_nsec = (long)(wait_ns < LOOK_NS ? wait_ns : LOOK_NS)}, NULL);
        return;
    }
    if (io_uring_sq_ready(&io->ring) && wait_ns > OFFER_NS)
        wait_ns = OFFER_NS;
    struct __kernel_timespec limit = {.tv_sec = (long long)(wait_ns / 1000000000), .tv_nsec = (long long)(wait_ns % 1000000000)};
    struct io_uring_cqe *completion;
    int error = io_uring_wait_cqe_timeout(&io->ring, &completion, &limit);
    if (error < 0 && error != -ETIME && error != -EINTR) // and so it would go on, without a wait
        ring_end(io, error);
}

uint32_t io_reap(struct io *io, struct io_result *out, uint32_t max, uint64_t wait_ns)
{
    io_submit(io);
    uint32_t count = results_take(io, out, max);
    if (io->ring_ends && ring_under_way(io) == 0)
        io_close(io);
    if (count || !(io->ring_open || io->ring_ends))
        return count;
    count = ring_take(io, out, max);
    if (count || wait_ns == 0)
        return count;
    ring_wait(io, wait_ns);
    count = results_take(io, out, max);
    return count ? count : ring_take(io, out, max);
}
