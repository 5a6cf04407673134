// SPDX-License-Identifier: Apache-2.0
//
// suite: see suite.h.

#include "testbed/workload/suite.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/sha256.h"
#include "testbed/workload/workload.h"

static const struct tb_suite suites[] = {
    {1, (const char *const[]){"steady-decode", "burst-storm", "long-tail", "churn-touch", NULL},
     "2d138a475557ff034197fc4294ac99908f210397ca3cd5123991d58d934eb906"},
    {2,
     (const char *const[]){"steady-decode", "burst-storm", "burst-queued", "long-tail", "long-tail-cancels", "churn-touch", NULL},
     "256ade3c6051e7f3eb50e2d3f247076a209bf762dd7dac91f17a3c5f158807b1"},
};

const struct tb_suite *tb_suite(unsigned version)
{
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (suites[i].version == version)
            return &suites[i];
    return NULL;
}

// What is hashed, one number after the other; grows.
struct words {
    unsigned char *bytes;
    size_t used, room;
};

static int put(struct words *words, uint64_t number)
{
    if (words->used + 8 > words->room) {
        size_t room = words->room ? 2 * words->room : 1 << 16;
        unsigned char *grown = realloc(words->bytes, room);
        if (!grown)
            return -ENOMEM;
        words->bytes = grown;
        words->room = room;
    }
    for (unsigned shift = 0; shift < 64; shift += 8)
        words->bytes[words->used++] = (unsigned char)(number >> shift);
    return 0;
}

static int put_text(struct words *words, const char *text)
{
    int error = put(words, strlen(text));
    for (; *text && !error; text++)
        error = put(words, (unsigned char)*text);
    return error;
}

static int put_span(struct words *words, const struct tb_span *span)
{
    int error = put(words, span->begin);
    return error ? error : put(words, span->end);
}

static int put_schedule(struct words *words, const struct tb_schedule *schedule)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    int error = put_text(words, schedule->name);
    if (!error)
        error = put(words, schedule->pool_blocks);
    for (uint64_t i = 0; i < schedule->ops_count && !error; i++)
        error = put(words, (uint64_t)ops[i].kind << 60 | (uint64_t)ops[i].count << 32 | ops[i].slot);
    if (!error)
        error = put_span(words, &schedule->prologue);
    for (uint64_t lap = 0; lap < schedule->laps_count && !error; lap++)
        error = put_span(words, tb_schedule_lap(schedule, lap));
    return error ? error : put_span(words, &schedule->epilogue);
}

int tb_suite_hash(const struct tb_suite *suite, char out[TB_SUITE_HASH])
{
    struct words words = {NULL, 0, 0};
    int error = 0;
    for (const char *const *name = suite->workloads; *name && !error; name++) {
        struct tb_schedule *schedule = NULL;
        error = tb_workload_schedule(*name, &schedule);
        if (!error)
            error = put_schedule(&words, schedule);
        free(schedule);
    }
    if (!error)
        error = tb_hash_memory(words.bytes, words.used, out);
    free(words.bytes);
    return error;
}

int tb_suite_check(const struct tb_suite *suite, bool *frozen)
{
    char sha256[TB_SUITE_HASH];
    int error = tb_suite_hash(suite, sha256);
    *frozen = !error && strcmp(sha256, suite->sha256) == 0;
    return error;
}
