// SPDX-License-Identifier: Apache-2.0
//
// record_nosync: preloaded, it takes the fsync out of a program, the system call and io_uring's alike. What is then lost with the
// power shows that record_power.sh can see a loss.
#include <dlfcn.h>
#include <liburing.h>

int fsync(int fd)
{
    (void)fd;
    return 0;
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned wait_for)
{
    int (*real)(struct io_uring *, unsigned) = (int (*)(struct io_uring *, unsigned))dlsym(RTLD_NEXT, "io_uring_submit_and_wait");
    for (unsigned i = 0; i < ring->sq.ring_entries; i++)
        if (ring->sq.sqes[i].opcode == IORING_OP_FSYNC)
            ring->sq.sqes[i].opcode = IORING_OP_NOP;
    return real(ring, wait_for);
}
