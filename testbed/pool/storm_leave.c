// SPDX-License-Identifier: Apache-2.0
//
// storm_leave: a range's contents: written, checked, and given up; see storm.h.
//
// A pattern is a hash of owner, handle and place, so a page of another range, or of an earlier life of the same pages, is not it.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "testbed/pool/storm_internal.h"
#include "testbed/stats/random.h"

#define STRIDE_BYTES (32u << 10)
#define SOME_PLACES 8u
#define LEAVE_STAYS 64u         // one in so many evictions is refused,
#define LEAVE_SAVED 8u          // and one in so many of the others is saved by another thread
#define SAVE_FAILS 16u          // one in so many of these fails, so the range stays

static _Thread_local struct worker *self; // leave() is called by the thread that evicts, with no word on which

void tb_storm_as(struct worker *worker)
{
    self = worker;
}

void tb_storm_wrong(struct tb_storm *storm, uint64_t *counter, const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&storm->wrong_lock);
    *counter += 1;
    if (!storm->first[0]) {
        va_start(arguments, format);
        vsnprintf(storm->first, sizeof storm->first, format, arguments);
        va_end(arguments);
    }
    pthread_mutex_unlock(&storm->wrong_lock);
}

static uint64_t pattern(uint64_t owner, locus_range range, uint64_t place)
{
    uint64_t state = owner ^ range * UINT64_C(0xd6e8feb86659fd93) ^ place << 40;
    return tb_random_next(&state);
}

static uint64_t places_of(uint64_t bytes)
{
    return bytes / STRIDE_BYTES + 1; // and the last word
}

static uint64_t *word_at(const void *memory, uint64_t bytes, uint64_t place)
{
    uint64_t offset = place < bytes / STRIDE_BYTES ? place * STRIDE_BYTES : bytes - sizeof(uint64_t);
    return (uint64_t *)((char *)(uintptr_t)memory + offset);
}

void tb_storm_fill(void *memory, uint64_t bytes, uint64_t owner, locus_range range)
{
    for (uint64_t place = 0; place < places_of(bytes); place++)
        *word_at(memory, bytes, place) = pattern(owner, range, place);
}

void tb_storm_check(struct worker *worker, const void *memory, uint64_t bytes, uint64_t owner, locus_range range,
                    enum places places, const char *when)
{
    uint64_t all = places_of(bytes), count = places == PLACES_ALL || all < SOME_PLACES ? all : SOME_PLACES;
    tb_storm_bump(&worker->checks, 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = count == all ? i : tb_random_next(&worker->random) % all;
        if (*word_at(memory, bytes, place) == pattern(owner, range, place))
            continue;
        struct tb_storm *storm = worker->storm;
        tb_storm_wrong(storm, &storm->damaged, "the range %llx of owner %llx is not as it was written, at place %llu, %s",
                       (unsigned long long)range, (unsigned long long)owner, (unsigned long long)place, when);
        return;
    }
}

// --- contents that leave -------------------------------------------------------------------------------------------------------

static bool save_begin(struct tb_storm *storm, const struct save *save)
{
    pthread_mutex_lock(&storm->saves_lock);
    bool room = storm->saves_count < SAVES_MAX;
    if (room)
        storm->saves[storm->saves_count++] = *save;
    pthread_mutex_unlock(&storm->saves_lock);
    return room;
}

int tb_storm_leave(void *context, locus_range range, enum locus_pages_kind kind, uint64_t owner, void *memory, uint64_t bytes)
{
    struct tb_storm *storm = context;
    struct worker *worker = self ? self : storm->workers;
    uint64_t start_ns = tb_latency_now_ns(), random = tb_random_next(&worker->random);
    int rc = 0;
    (void)kind;
    tb_storm_check(worker, memory, bytes, owner, range, PLACES_ALL, "when it should leave");
    if (random % LEAVE_STAYS == 0)
        rc = -EBUSY;
    else if (random / LEAVE_STAYS % LEAVE_SAVED == 0)
        rc = save_begin(storm, &(struct save){range, owner, bytes, memory}) ? 1 : 0;
    worker->leave_ns += tb_latency_now_ns() - start_ns;
    return rc;
}

void tb_storm_save_end(struct worker *worker)
{
    struct tb_storm *storm = worker->storm;
    struct save save = {0};
    pthread_mutex_lock(&storm->saves_lock);
    bool any = storm->saves_count > 0;
    if (any) {
        save = storm->saves[0];
        storm->saves[0] = storm->saves[--storm->saves_count];
    }
    pthread_mutex_unlock(&storm->saves_lock);
    if (!any)
        return;
    tb_storm_check(worker, save.memory, save.bytes, save.owner, save.range, PLACES_ALL, "when it had been saved");
    int rc = locus_pages_evict_done(storm->pages, save.range, tb_random_next(&worker->random) % SAVE_FAILS == 0 ? -EIO : 0);
    tb_storm_bump(&worker->calls, 1);
    if (rc)
        tb_storm_wrong(storm, &storm->pins_lost, "the end of saving the range %llx was refused (%d)",
                       (unsigned long long)save.range, -rc);
}
