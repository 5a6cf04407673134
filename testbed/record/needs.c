// SPDX-License-Identifier: Apache-2.0
//
// needs: what a postulate requires of the host. Asked before the first sample: a host that lacks it says "unmeasurable here", which
// is no verdict on the prediction.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/contender.h"
#include "testbed/probe.h"
#include "testbed/record/environment.h"
#include "topo/pin.h"
#include "topo/topo.h"

#define COUNT_MAX 1048576ull

struct asked {
    uint64_t least;             // of "NAME >= N", otherwise 1
    const struct tb_arm *arms;
    uint32_t arms_count, workers;
    char *found;
    size_t found_bytes;
};

static int count_met(const struct asked *asked, uint64_t count, uint64_t least, const char *what)
{
    if (count >= least)
        return 1;
    snprintf(asked->found, asked->found_bytes, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
    return 0;
}

static int cpus_at_least(const struct asked *asked, uint64_t least)
{
    unsigned count = 0;
    int error = locus_pin_allowed(NULL, 0, &count);
    return error ? error : count_met(asked, count, least, "allowed CPU");
}

static int need_cpus(const struct asked *asked)
{
    return cpus_at_least(asked, asked->least);
}

static int need_workers_pinned(const struct asked *asked)
{
    return cpus_at_least(asked, (uint64_t)asked->workers + 1);
}

static int need_nodes(const struct asked *asked)
{
    struct locus_topo *topo;
    uint64_t count = 0;
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    if (error)
        return error;
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++)
        count += locus_topo_nodes(topo)[n].allowed && locus_topo_nodes(topo)[n].memory.total_bytes > 0;
    locus_topo_close(topo);
    return count_met(asked, count, asked->least, "node");
}

static int need_mbind(const struct asked *asked)
{
    struct locus_topo *topo;
    int error = locus_topo_open(&topo, NULL, NULL, 0);
    if (error)
        return error;
    error = tb_probe_mbind(topo);
    locus_topo_close(topo);
    if (error)
        snprintf(asked->found, asked->found_bytes, "mbind: %s", strerror(error));
    return error == 0;
}

static int need_move_pages(const struct asked *asked)
{
    int error = tb_probe_move_pages();
    if (error)
        snprintf(asked->found, asked->found_bytes, "move_pages: %s", strerror(error));
    return error == 0;
}

static int need_libraries(const struct asked *asked)
{
    for (uint32_t i = 0; i < asked->arms_count; i++) {
        const struct tb_arm *arm = &asked->arms[i];
        bool wants = arm->library[0] || arm->contender->libraries || strcmp(arm->contender->name, "malloc") == 0;
        if (wants && access(arm->library, R_OK)) {
            snprintf(asked->found, asked->found_bytes, "no library for %s", arm->label);
            return 0;
        }
    }
    return 1;
}

static const struct need {
    const char *name;
    bool counted;
    int (*met)(const struct asked *asked);
} needs[] = {
    {"cpus", true, need_cpus},
    {"numa_nodes", true, need_nodes},
    {"mbind_ok", false, need_mbind},
    {"move_pages_ok", false, need_move_pages},
    {"workers_pinned", false, need_workers_pinned},
    {"libraries", false, need_libraries},
};

// What follows the name: nothing, or ">= N".
static bool rest_parse(const char *rest, bool counted, uint64_t *least)
{
    char end;
    unsigned long long number;
    if (!counted)
        return rest[strspn(rest, " ")] == '\0';
    rest += strspn(rest, " ");
    if (strncmp(rest, ">=", 2) || !strchr("0123456789", rest[2 + strspn(rest + 2, " ")]))
        return false;
    if (sscanf(rest + 2, "%llu %c", &number, &end) != 1 || number == 0 || number > COUNT_MAX)
        return false;
    *least = number;
    return true;
}

int tb_need_met(const char *need, const struct tb_arm arms[], uint32_t arms_count, uint32_t workers, char *out, size_t bytes)
{
    struct asked asked = {1, arms, arms_count, workers, out, bytes};
    size_t length = strcspn(need, " >");
    if (bytes > 0)
        out[0] = '\0';
    for (const struct need *known = needs; known < needs + sizeof needs / sizeof *needs; known++)
        if (strlen(known->name) == length && strncmp(known->name, need, length) == 0)
            return rest_parse(need + length, known->counted, &asked.least) ? known->met(&asked) : -EINVAL;
    return -EINVAL;
}
