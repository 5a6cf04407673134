// SPDX-License-Identifier: Apache-2.0
//
// tier_nosync: preloaded, it takes the sync of stores and drops out of a tier, the linked one of io_uring and the system call. What
// is then lost with the power shows that tier_power.sh can see a loss. (A new file is still made durable, by fsync.)
#include <dlfcn.h>
#include <liburing.h>

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}

int io_uring_submit(struct io_uring *ring)
{
    int (*real)(struct io_uring *) = (int (*)(struct io_uring *))dlsym(RTLD_NEXT, "io_uring_submit");
    for (unsigned i = 0; i < ring->sq.ring_entries; i++)
        if (ring->sq.sqes[i].opcode == IORING_OP_FSYNC)
            ring->sq.sqes[i].opcode = IORING_OP_NOP;
    return real(ring);
}
