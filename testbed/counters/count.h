// SPDX-License-Identifier: Apache-2.0
//
// count: what an emulator counted between the marks of a process (mark.h): the line of testbed/guest/plugin/counts.c, read.
#ifndef TB_COUNT_H
#define TB_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Sums over all threads and marks. Everything but `why` is 0 when nothing was counted.
struct tb_count {
    bool known;
    uint64_t marks;             // times that the marks were passed
    uint64_t instructions;      // of threads that wait, too
    uint64_t locked;            // instructions that lock memory
    uint64_t exchanges, failed; // locked compare-and-exchanges, and those seen to fail
    uint64_t untold;            // whose outcome was not seen: above 0 `failed` is a lower bound
    char why[192];              // why nothing was counted; ""
};

// From what the process and the plugin printed. false: there is no whole line of the plugin, or no mark was passed; out->why says
// which.
bool tb_count_read(const char *said, struct tb_count *out);

// Why not all of it is a figure; "": all is. Without a count that is count->why. Otherwise the instructions are none unless one
// thread was `alone`, nor are the failures where outcomes are untold.
void tb_count_lacks(const struct tb_count *count, bool alone, char *why, size_t why_bytes);

#endif
