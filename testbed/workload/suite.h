// SPDX-License-Identifier: Apache-2.0
//
// suite: LOCUS-EVAL and its versions. A published version is frozen: suite.c has the SHA-256 over everything its workloads do,
// and a build whose workloads do something else is refused that version's name.
//
// v1  four workloads, as in the LOCUS paper (whose trace workloads did not touch their blocks; here all contenders do the same).
// v2  the same four, a long tail with cancels, and a burst in a pool that is too small for it. Touch none, byte and full on all of
//     them; spinning and sleeping workers, 1 to 8 of them; blocks from 4 KiB to 2 MiB (cell.h); recorded traces.
#ifndef TB_SUITE_H
#define TB_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#define TB_SUITE_LATEST 2u
#define TB_SUITE_HASH 65 // hexadecimal, with the NUL

struct tb_suite {
    unsigned version;
    const char *const *workloads; // NULL-terminated, in the order shown
    const char *sha256;
};

const struct tb_suite *tb_suite(unsigned version); // NULL: no such version

// Over the workloads in order: name, size of the pool, every operation, and the bounds of prologue, laps and epilogue, as
// little-endian numbers of 64 bits. 0, or the error of tb_workload_schedule().
int tb_suite_hash(const struct tb_suite *suite, char out[TB_SUITE_HASH]);

// *frozen: are the workloads of this build the published ones? 0 or -errno.
int tb_suite_check(const struct tb_suite *suite, bool *frozen);

#endif
