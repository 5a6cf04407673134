// SPDX-License-Identifier: Apache-2.0
//
// apart: memory for the structs that a take reads each time, where the blocks do not push them out.
//
// A cache chooses a line's set by its address, the first one by the offset in a page. Blocks of whole pages on page boundaries
// have their first lines in one set, so an engine that writes little into each pushes out whatever else lies there. On a Zen 4
// machine a pool whose struct malloc() had put there took a tenth longer (steady-decode, one byte, inlined).
#ifndef LOCUS_APART_H
#define LOCUS_APART_H

#include <stddef.h>
#include <stdlib.h>

#define APART_PAGE_BYTES 4096   // what lies on its boundaries is in one set
#define APART_OFFSET_BYTES 1024 // of the structs in a page; a multiple of any alignment that they ask for
#define APART_MOST_BYTES (APART_PAGE_BYTES - APART_OFFSET_BYTES) // a larger struct reaches the next page

// NULL: no memory. For apart_free().
static inline void *apart_alloc(size_t bytes)
{
    void *page;
    int error = posix_memalign(&page, APART_PAGE_BYTES, APART_OFFSET_BYTES + bytes);
    return error ? NULL : (char *)page + APART_OFFSET_BYTES;
}

static inline void apart_free(void *memory)
{
    if (memory)
        free((char *)memory - APART_OFFSET_BYTES);
}

#endif
