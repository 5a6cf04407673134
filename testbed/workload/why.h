// SPDX-License-Identifier: Apache-2.0
//
// why: what is wrong with a file, in one sentence for the user.
#ifndef TB_WHY_H
#define TB_WHY_H

#include <stdint.h>

struct tb_why {                 // without "locus: " and newline
    char text[512];
};

// "FILE:7: " or, for line 0, "FILE: ", and then the message. Of a very long path only the end is shown.
void tb_why_set(struct tb_why *why, const char *path, uint32_t line, const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
