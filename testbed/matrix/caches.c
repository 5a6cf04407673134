// SPDX-License-Identifier: Apache-2.0
//
// caches: how far a working set has to reach. The kernel says of each cache of a CPU its level, kind, size and the CPUs that share
// it. A package may have several last-level caches (one for each core complex), and threads on all its CPUs fill them all: their
// number is that of the package's CPUs over those that share one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/host.h"
#include "testbed/matrix/matrix.h"

#define INDICES 8u // a CPU has 4 or 5: two of level 1, then one of each
#define LEVELS 4u

static bool read_word(const char *root, unsigned cpu, const char *what, char *text, size_t bytes)
{
    const struct tb_host host = {.root = root};
    char path[128], *read = NULL;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/%s", cpu, what);
    if (tb_host_read(&host, path, &read))
        return false;
    snprintf(text, bytes, "%.*s", (int)strcspn(read, "\n"), read);
    free(read);
    return true;
}

static unsigned read_count(const char *root, unsigned cpu, const char *what)
{
    char list[4096];
    int count = read_word(root, cpu, what, list, sizeof list) ? tb_id_list_count(list) : 0;
    return count < 0 ? 0 : (unsigned)count;
}

// "48K", "32768K", "32M": the kernel writes KiB, and others might not.
static uint64_t parse_size(const char *text)
{
    unsigned long long size = 0;
    char unit = 0;
    if (sscanf(text, "%llu%c", &size, &unit) < 1)
        return 0;
    switch (unit) {
    case 'K': return size << 10;
    case 'M': return size << 20;
    case 'G': return size << 30;
    default: return size;
    }
}

void tb_matrix_caches_read(const char *root, unsigned cpu, struct tb_matrix_caches *out)
{
    char what[64], level[64], type[64], size[64];
    unsigned last = 0, sharers = 0, package = read_count(root, cpu, "topology/package_cpus_list");
    *out = (struct tb_matrix_caches){0};
    if (package == 0) // its older name
        package = read_count(root, cpu, "topology/core_siblings_list");
    for (unsigned i = 0; i < INDICES; i++) {
        snprintf(what, sizeof what, "cache/index%u/level", i);
        if (!read_word(root, cpu, what, level, sizeof level))
            break;
        snprintf(what, sizeof what, "cache/index%u/type", i);
        if (!read_word(root, cpu, what, type, sizeof type) || strncmp(type, "Instruction", 11) == 0)
            continue;
        snprintf(what, sizeof what, "cache/index%u/size", i);
        unsigned number = (unsigned)parse_size(level);
        if (number == 0 || number > LEVELS || !read_word(root, cpu, what, size, sizeof size))
            continue;
        out->bytes[number - 1] = parse_size(size);
        if (number <= last)
            continue;
        last = number;
        snprintf(what, sizeof what, "cache/index%u/shared_cpu_list", i);
        sharers = read_count(root, cpu, what);
    }
    if (last > 0)
        out->last_bytes = out->bytes[last - 1] * (sharers > 0 && package > sharers ? package / sharers : 1);
}
