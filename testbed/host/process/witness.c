// SPDX-License-Identifier: Apache-2.0
//
// witness: where some pages of each region are, by move_pages.
//
// A large region is cut into as many equal parts as pages are asked about, and of each part a page is drawn by a fixed hash. Equal
// steps would not do: of pages interleaved over two nodes every sixteenth is on the same node.
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/host/process/maps.h"

#define ASKED_MAX 4096u         // of a region: a share of one half is then within 2 % of it in 99 of 100 looks
#define BATCH 256u

int tb_witness_move_pages(uint64_t pid, unsigned long count, void *const addresses[], int status[])
{
    return syscall(SYS_move_pages, (pid_t)pid, count, addresses, NULL, status, 0) ? -errno : 0;
}

// The finalizer of splitmix64.
static uint64_t hash(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// Addresses of no page are left out: what a program reserves may be a thousand times as much.
static bool counts(const struct tb_mapping *mapping, unsigned line)
{
    return mapping->line == line && tb_mapping_present(mapping) > 0;
}

struct walk {
    const struct tb_maps *maps;
    unsigned line;
    size_t at;                  // mapping
    uint64_t before;            // pages of the line in the mappings before it
};

static uint64_t pages_in(const struct tb_mapping *mapping, uint64_t page_bytes)
{
    return (mapping->end - mapping->start) / page_bytes;
}

// pre: pages are asked for in ascending order, and there is such a page.
static void *address_of(struct walk *walk, uint64_t page, uint64_t page_bytes)
{
    const struct tb_mapping *mapping = walk->maps->mapping;
    while (!counts(&mapping[walk->at], walk->line) || page - walk->before >= pages_in(&mapping[walk->at], page_bytes)) {
        walk->before += counts(&mapping[walk->at], walk->line) ? pages_in(&mapping[walk->at], page_bytes) : 0;
        walk->at++;
    }
    return (void *)(uintptr_t)(mapping[walk->at].start + (page - walk->before) * page_bytes);
}

static void note(const struct tb_process *process, const int status[], unsigned count, struct tb_region_witness *witness)
{
    witness->asked += count;
    for (unsigned i = 0; i < count; i++) {
        int at = status[i] < 0 ? -1 : tb_process_node_at(process, status[i]);
        witness->present += status[i] >= 0;
        if (at >= 0)
            witness->on[at]++;
    }
}

static int ask_line(const struct tb_maps *maps, const struct tb_process *process, unsigned line, tb_witness_ask *ask,
                    struct tb_region_witness *witness)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), pages = 0;
    struct walk walk = {.maps = maps, .line = line};
    for (size_t m = 0; m < maps->count; m++)
        pages += counts(&maps->mapping[m], line) ? pages_in(&maps->mapping[m], page_bytes) : 0;
    uint64_t parts = pages < ASKED_MAX ? pages : ASKED_MAX;
    witness->whole = parts == pages;
    for (uint64_t part = 0; part < parts;) {
        void *addresses[BATCH];
        int status[BATCH];
        unsigned count = 0;
        for (; count < BATCH && part < parts; count++, part++) {
            uint64_t first = part * pages / parts, next = (part + 1) * pages / parts;
            addresses[count] = address_of(&walk, first + hash(part) % (next - first), page_bytes);
        }
        int error = ask(process->pid, count, addresses, status);
        if (error)
            return error;
        note(process, status, count, witness);
    }
    return 0;
}

int tb_witness(const struct tb_maps *maps, struct tb_process *process, tb_witness_ask *ask)
{
    int error = 0;
    for (unsigned r = 0; r < process->regions_count && !error; r++)
        if (process->regions[r].kind != TB_REGION_REST)
            error = ask_line(maps, process, r, ask, &process->regions[r].witness);
    return error;
}
