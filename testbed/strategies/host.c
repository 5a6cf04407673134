// SPDX-License-Identifier: Apache-2.0
//
// host: memory from the process instead of from the region, within the region's bytes.
//
//   malloc   one malloc for the whole sequence, one free at its end (seed 002 rejects it without a measurement). What is
//            counted are the bytes asked for: what the allocator keeps or has lost to fragmentation is not seen, only its time
//   virtual  address space for the longest sequence is reserved for each seat once; pages count when a token is written there, and
//            are given back to the kernel at the end of the sequence (demand paging, as seed 002 rejects, and as vAttention
//            proposes)

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed/strategies/strategy.h"

enum { MALLOC, VIRTUAL };

struct host {
    const struct tb_strategy_setup *setup;
    uint64_t free_bytes;
    size_t page_bytes, seat_bytes;
    size_t stride_bytes;        // of a token: its own when the calls are timed, else of a stand-in that has room for a tag
    struct seat {
        char *memory;
        uint64_t counted_bytes;
        uint32_t tokens;        // 0: not live
    } seat[];                   // [sequences]
};

static void host_close(void *state)
{
    struct host *host = state;
    for (uint32_t i = 0; host && i < host->setup->sequences; i++)
        if (host->setup->strategy->parameter == MALLOC)
            free(host->seat[i].memory);
        else if (host->seat[i].memory)
            munmap(host->seat[i].memory, host->seat_bytes);
    free(host);
}

static int host_open(const struct tb_strategy_setup *setup, void **state)
{
    struct host *host = calloc(1, sizeof *host + setup->sequences * sizeof *host->seat);
    if (!host)
        return -ENOMEM;
    host->setup = setup;
    host->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    host->stride_bytes = setup->executes ? setup->kv->token_bytes : sizeof(uint64_t);
    host->seat_bytes = ((size_t)setup->sequence_tokens * host->stride_bytes + host->page_bytes - 1) & ~(host->page_bytes - 1);
    host->free_bytes = setup->kv->tokens * setup->kv->token_bytes;
    *state = host;
    return 0;
}

static uint64_t pages_bytes(const struct host *host, uint32_t tokens)
{
    uint64_t bytes = (uint64_t)tokens * host->setup->kv->token_bytes;
    return (bytes + host->page_bytes - 1) / host->page_bytes * host->page_bytes;
}

static int admit_malloc(struct host *host, struct seat *seat, uint32_t most)
{
    uint64_t bytes = (uint64_t)most * host->setup->kv->token_bytes;
    if (bytes > host->free_bytes)
        return -EAGAIN;
    seat->memory = malloc(most * host->stride_bytes);
    seat->counted_bytes = bytes;
    return seat->memory ? 0 : -ENOMEM;
}

// The kernel's work for a page that is written for the first time.
static void touch(const struct host *host, struct seat *seat, uint64_t from_bytes)
{
    for (uint64_t at = from_bytes; host->setup->executes && at < seat->counted_bytes; at += host->page_bytes)
        ((volatile char *)seat->memory)[at] = 0;
}

static int admit_virtual(struct host *host, struct seat *seat, uint32_t tokens)
{
    if (pages_bytes(host, tokens) > host->free_bytes)
        return -EAGAIN;
    if (!seat->memory) {
        void *memory = mmap(NULL, host->seat_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return -ENOMEM;
        seat->memory = memory;
    }
    seat->counted_bytes = pages_bytes(host, tokens);
    touch(host, seat, 0);
    return 0;
}

static int host_admit(void *state, uint32_t sequence, const struct tb_prompt *prompt, uint32_t most, uint32_t *cached)
{
    struct host *host = state;
    struct seat *seat = &host->seat[sequence];
    bool mallocs = host->setup->strategy->parameter == MALLOC;
    *cached = 0;
    if (most > host->setup->kv->tokens)
        return -ENOSPC;
    int error = mallocs ? admit_malloc(host, seat, most) : admit_virtual(host, seat, prompt->tokens);
    if (error)
        return error;
    host->free_bytes -= seat->counted_bytes;
    seat->tokens = prompt->tokens;
    return 0;
}

static int host_extend(void *state, uint32_t sequence, uint32_t tokens)
{
    struct host *host = state;
    struct seat *seat = &host->seat[sequence];
    uint64_t bytes = pages_bytes(host, seat->tokens + tokens);
    if (host->setup->strategy->parameter == VIRTUAL && bytes > seat->counted_bytes) {
        if (bytes - seat->counted_bytes > host->free_bytes)
            return -EAGAIN;
        uint64_t before_bytes = seat->counted_bytes;
        host->free_bytes -= bytes - seat->counted_bytes;
        seat->counted_bytes = bytes;
        touch(host, seat, before_bytes);
    }
    seat->tokens += tokens;
    return 0;
}

static void host_cut(void *state, uint32_t sequence, uint32_t tokens)
{
    struct host *host = state;
    host->seat[sequence].tokens = tokens;
}

static void host_release(void *state, uint32_t sequence, bool keep)
{
    struct host *host = state;
    struct seat *seat = &host->seat[sequence];
    (void)keep;
    host->free_bytes += seat->counted_bytes;
    if (host->setup->strategy->parameter == MALLOC) {
        free(seat->memory);
        seat->memory = NULL;
    } else {
        madvise(seat->memory, host->setup->executes ? seat->counted_bytes : host->seat_bytes, MADV_DONTNEED);
    }
    seat->counted_bytes = 0;
    seat->tokens = 0;
}

static void *host_at(void *state, uint32_t sequence, uint32_t position, uint32_t *run)
{
    const struct host *host = state;
    const struct seat *seat = &host->seat[sequence];
    *run = 1;
    return seat->memory + position * host->stride_bytes;
}

static void host_usage(void *state, uint64_t below, struct tb_usage *out)
{
    const struct host *host = state;
    uint64_t tokens = host->free_bytes / host->setup->kv->token_bytes;
    (void)below;
    *out = (struct tb_usage){.reserved = host->setup->kv->tokens - tokens, .free = tokens, .largest = tokens};
}

static int host_audit(void *state, char *why, size_t why_bytes)
{
    const struct host *host = state;
    uint64_t held = 0, all = host->setup->kv->tokens * host->setup->kv->token_bytes;
    for (uint32_t i = 0; i < host->setup->sequences; i++)
        held += host->seat[i].counted_bytes;
    if (held + host->free_bytes == all)
        return 0;
    snprintf(why, why_bytes, "strategy %s: %llu bytes are held and %llu are free, of %llu", host->setup->strategy->name,
             (unsigned long long)held, (unsigned long long)host->free_bytes, (unsigned long long)all);
    return -EBADMSG;
}

static const struct tb_strategy_ops ops = {
    .open = host_open,
    .close = host_close,
    .admit = host_admit,
    .extend = host_extend,
    .cut = host_cut,
    .release = host_release,
    .at = host_at,
    .usage = host_usage,
    .audit = host_audit,
};

static const struct tb_strategy mallocs = {
    .name = "malloc", .summary = "one malloc of the exact length", .ops = &ops, .parameter = MALLOC, .promises = true};
TB_STRATEGY(mallocs);

static const struct tb_strategy virtuals = {.name = "virtual",
                                            .summary = "reserved addresses, pages as they are written",
                                            .ops = &ops,
                                            .parameter = VIRTUAL,
                                            .calls_timed = 10000};
TB_STRATEGY(virtuals);
