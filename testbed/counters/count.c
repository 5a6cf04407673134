// SPDX-License-Identifier: Apache-2.0
//
// count: see count.h.
#include "testbed/counters/count.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// The plugin's line, wherever in the text; the program may have printed before it, without a newline.
bool tb_count_read(const char *said, struct tb_count *out)
{
    const char *line = strstr(said, "counts: marks ");
    int used = 0;
    *out = (struct tb_count){0};
    bool whole = line &&
                 sscanf(line,
                        "counts: marks %" SCNu64 " instructions %" SCNu64 " locked %" SCNu64 " exchanges %" SCNu64
                        " failed %" SCNu64 " untold %" SCNu64 "%n",
                        &out->marks, &out->instructions, &out->locked, &out->exchanges, &out->failed, &out->untold, &used) == 6 &&
                 line[used] == '\n';
    out->known = whole && out->marks > 0;
    if (out->known)
        return true;
    *out = (struct tb_count){0};
    if (whole)
        snprintf(out->why, sizeof out->why, "the process passed no mark");
    else
        snprintf(out->why, sizeof out->why, "the emulator counted nothing%s%.*s", said[0] ? ": " : "", (int)strcspn(said, "\n"),
                 said);
    return false;
}

void tb_count_lacks(const struct tb_count *count, bool alone, char *why, size_t why_bytes)
{
    const char *threads = count->known && !alone ? "threads that wait for each other execute instructions meanwhile" : "";
    snprintf(why, why_bytes, "%s%s", count->known ? "" : count->why, threads);
    if (count->known && count->untold)
        snprintf(why + strlen(why), why_bytes - strlen(why), "%sof %" PRIu64 " exchanges nobody saw whether they failed",
                 *threads ? "; " : "", count->untold);
}
