// SPDX-License-Identifier: Apache-2.0
//
// file: calls of the C library and of liburing that fail as a test says (file_faulty.h). It has no tests of its own.
#include "placement/tier/tests/file_faulty.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/file.h>

struct fault fault;
const char *fault_path;

struct ring_fault ring_fault;
char order[64];
static size_t order_count;

static void order_add(char what)
{
    if (order_count + 1 < sizeof order)
        order[order_count++] = what;
}

void no_order(void)
{
    memset(order, 0, sizeof order);
    order_count = 0;
}

static bool fails(enum fault_call call)
{
    if (fault.call != call)
        return false;
    fault.seen++;
    return fault.seen >= fault.nth && fault.seen <= fault.last;
}

static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    cr_assert(function);
    return function;
}

static int failed_call(void)
{
    errno = -fault.error;
    return -1;
}

// In place of the C library's and liburing's.
int fcntl(int fd, int command, ...)
{
    static int (*real)(int, int, ...);
    va_list list;
    va_start(list, command);
    void *argument = va_arg(list, void *);
    va_end(list);
    real = real ? real : (int (*)(int, int, ...))next("fcntl");
    bool direct = command == F_SETFL && (uintptr_t)argument & O_DIRECT;
    return direct && fails(FAULT_DIRECT) ? failed_call() : real(fd, command, argument);
}

// O_DIRECT does not take an odd number of bytes, but may come back with one.
static ssize_t shortened(ssize_t bytes)
{
    return bytes < fault.error ? bytes : fault.error;
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    int (*real)(int, int, off_t, off_t) = (int (*)(int, int, off_t, off_t))next("fallocate");
    order_add('a');
    return fails(FAULT_FALLOCATE) ? failed_call() : real(fd, mode, offset, bytes);
}

int fchmod(int fd, mode_t mode)
{
    int (*real)(int, mode_t) = (int (*)(int, mode_t))next("fchmod");
    return real(fd, fails(FAULT_MODE) ? (mode_t)fault.error : mode);
}

int flock(int fd, int operation)
{
    int (*real)(int, int) = (int (*)(int, int))next("flock");
    if (fails(FAULT_LOCK))
        unlink(fault_path);
    return real(fd, operation);
}

int fdatasync(int fd)
{
    int (*real)(int) = (int (*)(int))next("fdatasync");
    order_add('s');
    return fails(FAULT_SYNC) ? failed_call() : real(fd);
}

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))next("fsync");
    order_add('S');
    return fails(FAULT_SYNC_ALL) ? failed_call() : real(fd);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t) = (ssize_t(*)(int, const void *, size_t, off_t))next("pwrite");
    order_add('w');
    if (!fails(FAULT_WRITE))
        return real(fd, from, bytes, offset);
    return fault.error >= 0 ? shortened(real(fd, from, bytes, offset)) : failed_call();
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    ssize_t (*real)(int, void *, size_t, off_t) = (ssize_t(*)(int, void *, size_t, off_t))next("pread");
    if (!fails(FAULT_READ))
        return real(fd, to, bytes, offset);
    return fault.error >= 0 ? shortened(real(fd, to, bytes, offset)) : failed_call();
}

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
    int (*real)(unsigned, struct io_uring *, unsigned) =
        (int (*)(unsigned, struct io_uring *, unsigned))next("io_uring_queue_init");
    return fails(FAULT_RING_INIT) ? fault.error : real(entries, ring, flags);
}

int io_uring_register_buffers(struct io_uring *ring, const struct iovec *buffers, unsigned count)
{
    int (*real)(struct io_uring *, const struct iovec *, unsigned) =
        (int (*)(struct io_uring *, const struct iovec *, unsigned))next("io_uring_register_buffers");
    return fails(FAULT_REGISTER) ? fault.error : real(ring, buffers, count);
}

// A transfer that shall fail goes to no file, so the kernel breaks its chain; a short one asks for fewer bytes, which does not.
static void entry_fail(struct io_uring_sqe *sqe)
{
    bool sync = sqe->opcode == IORING_OP_FSYNC;
    bool write = sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITE_FIXED;
    if (sync || write)
        order_add(sync ? 's' : 'w');
    if (sqe->opcode == IORING_OP_NOP || !fails(sync ? FAULT_SYNC : write ? FAULT_WRITE : FAULT_READ))
        return;
    if (fault.error > 0)
        sqe->len = (unsigned)fault.error;
    else
        sqe->fd = -1;
}

int io_uring_submit(struct io_uring *ring)
{
    int (*real)(struct io_uring *) = (int (*)(struct io_uring *))next("io_uring_submit");
    unsigned tail = ring->sq.sqe_tail, end = tail, at = tail - io_uring_sq_ready(ring);
    if (ring_fault.refusals > 0)
        return ring_fault.refusals--, -EAGAIN;
    for (; at != end; at++) {
        struct io_uring_sqe *sqe = &ring->sq.sqes[at & ring->sq.ring_mask];
        if (ring_fault.cut && sqe->flags & IOSQE_IO_LINK) {
            end = at + ring_fault.cut;
            ring_fault.cut = 0;
        }
        entry_fail(sqe);
    }
    ring->sq.sqe_tail = end;
    int taken = real(ring);
    ring->sq.sqe_tail = tail;
    return taken;
}

unsigned io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **out, unsigned most)
{
    unsigned (*real)(struct io_uring *, struct io_uring_cqe **, unsigned) =
        (unsigned (*)(struct io_uring *, struct io_uring_cqe **, unsigned))next("io_uring_peek_batch_cqe");
    unsigned count = real(ring, out, most);
    for (unsigned i = 0; i < count; i++)
        if (ring_fault.times && ring_fault.tags >> (out[i]->user_data % 8) & 1) {
            out[i]->res = ring_fault.result;
            ring_fault.times--;
        }
    return count;
}
