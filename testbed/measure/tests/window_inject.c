// SPDX-License-Identifier: Apache-2.0
//
// window_inject: a library to preload. It puts only the pools' blocks where the witness looks (testbed/guest/plugin/accesses.c),
// one pool after the other from the address in LOCUS_WINDOW (hexadecimal).
//
// Which mapping is a pool's? A region reserves its span as PROT_NONE, private and anonymous, at an address of the kernel's
// choice; no malloc, stack or library of the process does that by a call that can be preloaded. Size distinguishes blocks from
// the pool's own arrays, mailboxes and loans: in the suite's workloads these are below 1 MiB, the blocks 32 MiB and more.
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS_BYTES_MIN ((size_t)1 << 20)

static void *map(uintptr_t address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}

static uintptr_t next_place(size_t bytes)
{
    static _Atomic uintptr_t used;
    const char *window = getenv("LOCUS_WINDOW");
    return window ? strtoul(window, NULL, 16) + atomic_fetch_add(&used, bytes) : 0;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    uintptr_t place = 0;
    if (!address && bytes >= BLOCKS_BYTES_MIN && protection == PROT_NONE && flags == (MAP_PRIVATE | MAP_ANONYMOUS))
        place = next_place(bytes);
    if (place)
        return map(place, bytes, protection, flags | MAP_FIXED_NOREPLACE, file, offset);
    return map((uintptr_t)address, bytes, protection, flags, file, offset);
}
