// SPDX-License-Identifier: Apache-2.0
//
// check_memory: is there memory on every node, and does it stay? Swap, what is free, huge pages.

#include "testbed/host/doctor/exam.h"
#include "testbed/host/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODES "/sys/devices/system/node"

// With less than a tenth of a node to be had, a pool of usual size makes the kernel reclaim, and soon take another node's memory.
#define AVAILABLE_PERCENT_MIN 10

// --- swap ----------------------------------------------------------------------------------------------------------------------

struct swap {
    unsigned count;
    uint64_t total_kib, used_kib;
    FILE *off, *on;             // commands
};

// The kernel writes blanks and backslashes in a name as "\040".
static void octal_decode(char *name)
{
    char *to = name;
    for (const char *from = name; *from; to++) {
        bool octal = from[0] == '\\' && strspn(from + 1, "01234567") >= 3;
        *to = octal ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0')) : *from;
        from += octal ? 4 : 1;
    }
    *to = '\0';
}

// One line of /proc/swaps: name, type, size, used, priority. A negative priority is one that the kernel gave by itself.
static void swap_line(struct swap *swap, const char *line)
{
    char name[256];
    unsigned long long total, used;
    int priority;
    if (sscanf(line, "%255s %*s %llu %llu %d", name, &total, &used, &priority) != 4)
        return;
    octal_decode(name);
    swap->count++;
    swap->total_kib += total;
    swap->used_kib += used;
    const char *gap = swap->count > 1 ? "\n" : "";
    fprintf(swap->off, "%sswapoff ", gap);
    fprintf(swap->on, "%sswapon ", gap);
    if (priority >= 0)
        fprintf(swap->on, "-p %d ", priority);
    tb_shell_word(swap->off, name);
    tb_shell_word(swap->on, name);
}

static void swappiness_check(struct tb_exam *exam, struct tb_finding *finding, bool swaps)
{
    const char *path = tb_fact_path("memory.swappiness");
    char value[TB_VALUE_BYTES];
    if (!tb_exam_value(exam, finding, path, "/proc/sys/vm", TB_FINDING_FIT, "this kernel has no such thing", value))
        return;
    bool fit = !swaps || atoi(value) <= 10;
    tb_finding_set(finding, fit ? TB_FINDING_FIT : TB_FINDING_NOTE, "%s%s", value, swaps ? "" : " (but there is no swap)");
    tb_knob_alone(exam, finding, path, value, "10");
}

static void swap_judge(struct tb_exam *exam, struct tb_finding *finding, const char *text)
{
    char *off = NULL, *on = NULL;
    size_t off_bytes = 0, on_bytes = 0;
    struct swap swap = {.off = open_memstream(&off, &off_bytes), .on = open_memstream(&on, &on_bytes)};
    const char *line = swap.off && swap.on ? strchr(text, '\n') : NULL; // after the heading
    for (; line; line = strchr(line + 1, '\n'))
        swap_line(&swap, line + 1);
    bool failed = !swap.off || fclose(swap.off);
    failed |= !swap.on || fclose(swap.on);
    exam->failed |= failed;
    if (!failed && swap.count) {
        tb_finding_set(finding, swap.used_kib ? TB_FINDING_UNFIT : TB_FINDING_NOTE,
                       "%u device%s on, %" PRIu64 " MiB of %" PRIu64 " MiB used", swap.count, swap.count == 1 ? "" : "s",
                       (swap.used_kib + 1023) >> 10, swap.total_kib >> 10); // a page is not nothing
        if (tb_exam_root_lacks(exam, TB_CAP_SYS_ADMIN))
            tb_finding_remedy(finding, "This root may not take swap away, as in a container: do it on the host.");
        else {
            tb_finding_commands(exam, finding, off, on);
            off = on = NULL;
        }
    } else
        tb_finding_set(finding, TB_FINDING_FIT, "off");
    free(off);
    free(on);
    swappiness_check(exam, finding + 1, swap.count > 0);
}

static void check_swap(struct tb_exam *exam, struct tb_finding *finding)
{
    static const char path[] = "/proc/swaps";
    char *text = NULL;
    int error = tb_host_read(&exam->host, path, &text);
    if (!error)
        swap_judge(exam, finding, text);
    else if (tb_finding_missing(exam, finding, path, error, "/proc/sys/vm", TB_FINDING_FIT, "this kernel has no swap"))
        swappiness_check(exam, finding + 1, true);
    free(text);
}

// --- what is free on each node -------------------------------------------------------------------------------------------------

struct room {
    uint64_t total_kib, free_kib, available_kib;
};

static int meminfo_sum(const char *text, const char *key, uint64_t *sum)
{
    json_t *value = tb_host_field(text, 0, key, ':', TB_FIELD_NUMBER);
    bool known = json_is_integer(value);
    if (known)
        *sum += (uint64_t)json_integer_value(value);
    json_decref(value);
    return known ? 0 : -ENODATA;
}

// Free and what can be taken back at once: file pages and slabs. Shared memory is among neither.
static int node_room(struct tb_exam *exam, const char *path, struct room *room)
{
    static const char *const available[] = {"MemFree", "Active(file)", "Inactive(file)", "SReclaimable"};
    char *text = NULL;
    *room = (struct room){0};
    int error = tb_host_read(&exam->host, path, &text);
    if (!error)
        error = meminfo_sum(text, "MemTotal", &room->total_kib);
    if (!error)
        error = meminfo_sum(text, "MemFree", &room->free_kib);
    for (size_t i = 0; i < sizeof available / sizeof *available && !error; i++)
        error = meminfo_sum(text, available[i], &room->available_kib);
    free(text);
    return error;
}

static bool is_short(uint64_t kib, const struct room *room)
{
    return kib * 100 < room->total_kib * AVAILABLE_PERCENT_MIN;
}

static void nodes_judge(struct tb_exam *exam, struct tb_finding *finding, const struct tb_names *nodes)
{
    char path[TB_HOST_PATH / 2], worst[160] = "";
    unsigned with_memory = 0, scarce = 0, cached = 0;
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < nodes->count; i++) {
        struct room room;
        snprintf(path, sizeof path, NODES "/%s/meminfo", nodes->name[i]);
        int error = node_room(exam, path, &room);
        if (error) {
            tb_finding_unknown(finding, path, error);
            return;
        }
        if (room.total_kib == 0)
            continue;
        with_memory++;
        scarce += is_short(room.available_kib, &room);
        cached += is_short(room.free_kib, &room);
        uint64_t percent = room.available_kib * 100 / room.total_kib;
        if (percent < lowest)
            snprintf(worst, sizeof worst, "%s: %" PRIu64 " of %" PRIu64 " MiB to be had (%" PRIu64 " %%), %" PRIu64 " free",
                     nodes->name[i], room.available_kib >> 10, room.total_kib >> 10, percent, room.free_kib >> 10);
        lowest = percent < lowest ? percent : lowest;
    }
    tb_finding_set(finding,
                   scarce   ? TB_FINDING_UNFIT
                   : cached ? TB_FINDING_NOTE
                            : TB_FINDING_FIT,
                   "%s%s", with_memory > 1 ? "least on " : "", worst);
    if (scarce || cached)
        tb_finding_remedy(finding, "End what holds the memory. File pages go with `sync; echo 1 >/proc/sys/vm/drop_caches`, which "
                                   "cannot be restored.");
}

static void check_nodes(struct tb_exam *exam, struct tb_finding *finding)
{
    struct tb_names nodes;
    int error = tb_host_list(&exam->host, NODES, "node", &nodes);
    if (tb_finding_missing(exam, finding, NODES, error, "/sys/devices/system", TB_FINDING_NOTE, "this kernel has no NUMA"))
        return;
    nodes_judge(exam, finding, &nodes);
    tb_names_close(&nodes);
}

// --- huge pages ----------------------------------------------------------------------------------------------------------------

struct huge {
    char told[160];
    bool reserved, uneven;
};

// "2048kB: 512 512 (free 512 500)": of one size the reservations by node.
static int huge_size(struct tb_exam *exam, struct tb_finding *finding, const struct tb_names *nodes, const char *size,
                     struct huge *huge)
{
    char path[TB_HOST_PATH / 2], value[TB_VALUE_BYTES], list[96] = "";
    long first = -1;
    bool some = false, uneven = false;
    for (size_t i = 0; i < nodes->count; i++) {
        struct room room;
        snprintf(path, sizeof path, NODES "/%s/meminfo", nodes->name[i]);
        if (node_room(exam, path, &room) == 0 && room.total_kib == 0)
            continue;
        snprintf(path, sizeof path, NODES "/%s/hugepages/%s/nr_hugepages", nodes->name[i], size);
        int error = tb_exam_read(exam, path, value);
        if (error) {
            tb_finding_unknown(finding, path, error);
            return error;
        }
        long count = atol(value);
        some |= count > 0;
        uneven |= first >= 0 && count != first;
        first = first < 0 ? count : first;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, " %ld", count);
    }
    huge->uneven |= uneven;
    huge->reserved |= some;
    size_t length = strlen(huge->told);
    if (some)
        snprintf(huge->told + length, sizeof huge->told - length, "%s%s:%s", length ? ", " : "", size + strlen("hugepages-"), list);
    return 0;
}

static void check_huge_pages(struct tb_exam *exam, struct tb_finding *finding)
{
    char folder[TB_HOST_PATH / 2];
    struct huge huge = {0};
    struct tb_names nodes = {0}, sizes = {0};
    int error = tb_host_list(&exam->host, NODES, "node", &nodes);
    snprintf(folder, sizeof folder, NODES "/%s/hugepages", error ? "" : nodes.name[0]);
    if (!error)
        error = tb_host_list(&exam->host, folder, "", &sizes);
    tb_finding_missing(exam, finding, folder, error, "/sys/devices/system", TB_FINDING_NOTE, "no huge pages by node");
    for (size_t i = 0; i < sizes.count && !error; i++)
        error = huge_size(exam, finding, &nodes, sizes.name[i], &huge);
    if (!error)
        tb_finding_set(finding, huge.uneven ? TB_FINDING_NOTE : TB_FINDING_FIT, "%s", huge.reserved ? huge.told : "none reserved");
    if (!error && huge.uneven)
        tb_finding_remedy(finding, "echo COUNT >" NODES "/nodeN/hugepages/hugepages-2048kB/nr_hugepages, the same for each N.");
    tb_names_close(&sizes);
    tb_names_close(&nodes);
}

void tb_check_memory(struct tb_exam *exam)
{
    static const struct tb_check checks[] = {
        {"swap", true, "off",
         "A page that was swapped out is on no node. Touching it costs milliseconds, and it may come back on another node.",
         check_swap},
        {"swappiness", false, "10", "How readily the kernel swaps a process's pages out instead of dropping file pages.", NULL},
        {"node-memory", true, TB_TEXT(AVAILABLE_PERCENT_MIN) " % of each node",
         "A node without free memory reclaims while it is measured, or gives another node's memory; a strict bind ends in the "
         "OOM killer.",
         check_nodes},
        {"huge-pages", false, "as many on each node, or none",
         "Reserved huge pages are memory that nothing else gets; where nodes have different numbers, one node's pool falls "
         "back to small pages before the other's.",
         check_huge_pages},
    };
    tb_exam_run(exam, checks, sizeof checks / sizeof *checks);
}
