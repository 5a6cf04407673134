// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of faults under a tier's file: calls that fail, and a tier with an object to lose. The unit program has
// functions of its own under the names that the library calls (file_calls_test.c), and hands them on unless it is told otherwise.
#ifndef LOCUS_TESTS_FILE_FAULTY_H
#define LOCUS_TESTS_FILE_FAULTY_H

#include "placement/tier/tests/file_test.h"

enum fault_call {
    FAULT_NONE,
    FAULT_DIRECT,
    FAULT_MODE, // fchmod() gives this one instead
    FAULT_LOCK, // before flock() the file at fault_path is gone
    FAULT_FALLOCATE,
    FAULT_WRITE,
    FAULT_READ,
    FAULT_SYNC,
    FAULT_SYNC_ALL, // fsync
    FAULT_RING_INIT,
    FAULT_REGISTER
};

// Calls `nth` .. `last` of this kind, from 1, end with `error`; if that is positive, after so many bytes. Transfers and syncs of a
// ring count like those of calls.
extern struct fault {
    enum fault_call call;
    int nth, last, error, seen;
} fault;

extern const char *fault_path;

static inline void fault_at(enum fault_call call, int nth, int last, int error)
{
    fault = (struct fault){call, nth, last, error, 0};
}

// What a kernel may do to a ring, each so many times.
extern struct ring_fault {
    unsigned cut;               // takes so many elements of the next chain, and nothing behind them; 0: off
    int refusals;               // takes nothing
    unsigned tags, times;       // results of elements whose tag, modulo 8, is a bit of `tags` are replaced by
    int result;
} ring_fault;

static inline void no_fault(void)
{
    fault = (struct fault){0};
    ring_fault = (struct ring_fault){0};
}

// The order of what was asked for: w a write of a header's block or of bytes, s a sync of data, a space, S a sync of all.
extern char order[64];

void no_order(void); // empties it

// Opens, and expects a refusal with this word.
static inline int open_fails(struct locus_tier_file_config config, const char *word)
{
    char why[300] = "";
    struct locus_tier *tier = (void *)1;
    config.why = why;
    config.why_bytes = sizeof why;
    int error = locus_tier_file_open(&tier, &config);
    cr_assert_neq(error, 0);
    cr_assert_null(tier);
    cr_assert(strstr(why, word), "%d: %s", error, why);
    cr_assert(!strchr(why, '\n'));
    return error;
}

#define OLD (3u * 4096 + 5)

struct faulty {
    struct place place;
    struct locus_tier_file_config config;
    struct locus_tier *tier;
    char *old, *new, *got;
};

// A tier with key 1.
static inline struct faulty faulty_new(bool plain)
{
    struct faulty f = {.place = place_new()};
    f.config = config_of(&f.place, 64, UNIT_OF_FILE);
    f.config.path = NULL;
    f.config.no_io_uring = plain;
    f.old = bytes_new(OLD, 1), f.new = bytes_new(OLD, 2), f.got = bytes_new(OLD, 3);
    return f;
}

static inline void faulty_open(struct faulty *f)
{
    f->config.path = f->place.path;
    f->tier = file_open(&f->config);
}

static inline void faulty_end(struct faulty *f)
{
    no_fault();
    locus_tier_close(f->tier);
    place_end(&f->place);
    free(f->old), free(f->new), free(f->got);
}

static inline void assert_holds(struct faulty *f, uint64_t key, const char *bytes)
{
    memset(f->got, 0, OLD);
    must_load(f->tier, key, f->got, OLD);
    cr_assert_eq(memcmp(f->got, bytes, OLD), 0);
}

#endif
