// SPDX-License-Identifier: Apache-2.0
//
// stamp: of what are runs, packets and ledgers named? Of their second, in UTC, and of random digits. Times in files are ISO 8601.
#ifndef TB_STAMP_H
#define TB_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define TB_TIME_FORMAT "%Y-%m-%dT%H:%M:%SZ" // of strftime and strptime
#define TB_STAMP_BYTES 24

// "2026-11-23T08:48:31Z", and in a name "20261123T084831Z". Returns out.
char *tb_time_text(time_t time, char out[TB_STAMP_BYTES]);
char *tb_time_stamp(time_t time, char out[TB_STAMP_BYTES]);

// Reads what tb_time_text() writes, and nothing else: no other form, no 30th of February. false: it is no time.
bool tb_time_read(const char *text, time_t *out);

// `digits` random ones, hexadecimal, at most 32 and even, and a NUL. 0, or -EIO: the kernel has none.
int tb_random_digits(char *out, size_t digits);

#endif
