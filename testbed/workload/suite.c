// SPDX-License-Identifier: Apache-2.0
//
// suite: see suite.h.

#include "testbed/workload/suite.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
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

// What is hashed, one number after the other.
static void put(FILE *out, uint64_t number)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        putc((int)(number >> shift & 0xff), out);
}

static void put_span(FILE *out, const struct tb_span *span)
{
    put(out, span->begin);
    put(out, span->end);
}

static void put_schedule(FILE *out, const struct tb_schedule *schedule)
{
    const struct tb_op *ops = tb_schedule_ops(schedule);
    put(out, strlen(schedule->name));
    for (const char *c = schedule->name; *c; c++)
        put(out, (unsigned char)*c);
    put(out, schedule->pool_blocks);
    for (uint64_t i = 0; i < schedule->ops_count; i++)
        put(out, (uint64_t)ops[i].kind << 60 | (uint64_t)ops[i].count << 32 | ops[i].slot);
    put_span(out, &schedule->prologue);
    for (uint64_t lap = 0; lap < schedule->laps_count; lap++)
        put_span(out, tb_schedule_lap(schedule, lap));
    put_span(out, &schedule->epilogue);
}

int tb_suite_hash(const struct tb_suite *suite, char out[TB_SUITE_HASH])
{
    char *bytes = NULL;
    size_t count = 0;
    int error = 0;
    FILE *stream = open_memstream(&bytes, &count);
    if (!stream)
        return -ENOMEM;
    for (const char *const *name = suite->workloads; *name && !error; name++) {
        struct tb_schedule *schedule = NULL;
        error = tb_workload_schedule(*name, &schedule);
        if (!error)
            put_schedule(stream, schedule);
        free(schedule);
    }
    bool lost = ferror(stream);
    if ((fclose(stream) || lost) && !error)
        error = -ENOMEM;
    if (!error)
        error = tb_hash_memory(bytes, count, out);
    free(bytes);
    return error;
}

int tb_suite_check(const struct tb_suite *suite, bool *frozen)
{
    char sha256[TB_SUITE_HASH];
    int error = tb_suite_hash(suite, sha256);
    *frozen = !error && strcmp(sha256, suite->sha256) == 0;
    return error;
}
