// SPDX-License-Identifier: Apache-2.0
//
// stamp: see stamp.h.
#include "testbed/base/stamp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static char *format(const char *how, time_t time, char out[TB_STAMP_BYTES])
{
    struct tm utc;
    if (!gmtime_r(&time, &utc) || !strftime(out, TB_STAMP_BYTES, how, &utc))
        out[0] = '\0'; // a year of five digits
    return out;
}

char *tb_time_text(time_t time, char out[TB_STAMP_BYTES])
{
    return format(TB_TIME_FORMAT, time, out);
}

char *tb_time_stamp(time_t time, char out[TB_STAMP_BYTES])
{
    return format("%Y%m%dT%H%M%SZ", time, out);
}

bool tb_time_read(const char *text, time_t *out)
{
    struct tm parts = {0};
    char again[TB_STAMP_BYTES];
    if (!strptime(text, TB_TIME_FORMAT, &parts))
        return false;
    *out = timegm(&parts);
    return strcmp(tb_time_text(*out, again), text) == 0;
}

int tb_random_digits(char *out, size_t digits)
{
    unsigned char random[16];
    size_t bytes = digits / 2;
    if (bytes > sizeof random || getrandom(random, bytes, 0) != (ssize_t)bytes)
        return -EIO;
    for (size_t i = 0; i < bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", random[i]);
    return 0;
}
