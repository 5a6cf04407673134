// SPDX-License-Identifier: Apache-2.0
//
// region: why a span could not be opened. The kernel has one number, ENOMEM, for a dozen causes, each with a remedy of its own. So
// there is a table of causes, in the order in which open meets them. Each looks at the host, at what is there now, and writes a
// sentence with its figures and the remedy if it holds; the first that holds is the reason.
//
// By the time somebody asks, open has given back what it had, so a limit is compared with all that was wanted. A pool or a domain
// has several spans: what it took before the one in question is added (`beside`) where a limit is the whole process's.
#include "placement/base/config.h"
#include "placement/memory/region_internal.h"

#include "topo/cgroup.h"
#include "topo/sysfs.h"
#include "topo/topo.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define STATUS "/proc/self/status"
#define MEMINFO "/proc/meminfo"
#define NO_POOL "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB"
#define SPLITS_MAX 5u           // mappings that open makes for a moment: guards, span, and what is left of the reservation

struct ask {
    const struct locus_region_config *config;
    struct locus_nodes nodes;   // the policy's; with first touch none
    uint64_t span_bytes;        // in whole pages
    uint64_t page_bytes;        // of huge pages, or of the machine
    uint64_t bytes;             // of the process: the span, and what the caller took beside it
    uint64_t guards_bytes;      // address space around the span
    bool pooled;                // huge pages
    char *why;
    size_t why_bytes;
};

static bool say(const struct ask *ask, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool say(const struct ask *ask, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ask->why, ask->why_bytes, format, arguments);
    va_end(arguments);
    return true;
}

static uint64_t in_mib(uint64_t bytes) // rounded up
{
    return bytes / MIB + (bytes % MIB != 0);
}

static uint64_t less(uint64_t from, uint64_t bytes)
{
    return from > bytes ? from - bytes : 0;
}

static uint64_t file_number(const char *path)
{
    uint64_t number = 0;
    return topo_sysfs_u64("", path, &number) ? 0 : number;
}

// --- the nodes -----------------------------------------------------------------------------------------------------------------

bool region_node_why(int node, char *why, size_t why_bytes)
{
    struct topo_idset possible;
    struct locus_node_memory memory;
    if (locus_node_allowed(node))
        return false;
    if (locus_node_memory_read(node, &memory) == 0 && memory.total_bytes > 0)
        snprintf(why, why_bytes,
                 "node %d is outside this process's cpuset (Mems_allowed_list in /proc/self/status): give it the node, or take "
                 "another",
                 node);
    else if (locus_node_memory_read(node, &memory) == 0)
        snprintf(why, why_bytes, "node %d has no memory, so no page can be placed there", node);
    else if (node >= 0 && !topo_sysfs_idset("", "/sys/devices/system/node/possible", &possible) &&
             topo_idset_has(&possible, (unsigned)node))
        snprintf(why, why_bytes, "node %d is offline, or was never there: bring its memory online, or take another node", node);
    else
        snprintf(why, why_bytes, "this host has no node %d (/sys/devices/system/node/online has those that are there)", node);
    return true;
}

static bool no_node_named(const struct ask *ask)
{
    if (ask->config->policy == LOCUS_POLICY_FIRST_TOUCH || locus_nodes_count(&ask->nodes) > 0)
        return false;
    if (ask->config->node != LOCUS_NODE_ANY)
        return say(ask, "this host has no node %d: nodes are 0 .. %u", ask->config->node, LOCUS_NODES_MAX - 1);
    return say(ask, "the policy %s needs a node, and none is named: set `node` or `nodes`", locus_policy_name(ask->config->policy));
}

static bool too_many_nodes(const struct ask *ask)
{
    unsigned count = locus_nodes_count(&ask->nodes);
    if (ask->config->policy != LOCUS_POLICY_PREFERRED || count < 2)
        return false;
    return say(ask, "the policy preferred takes one node, and %u are named: use preferred-many", count);
}

static bool node_unusable(const struct ask *ask)
{
    for (int node = locus_nodes_next(&ask->nodes, 0); node >= 0; node = locus_nodes_next(&ask->nodes, node + 1))
        if (region_node_why(node, ask->why, ask->why_bytes))
            return true;
    return false;
}

// --- what the kernel lacks -----------------------------------------------------------------------------------------------------

static bool policy_works(const struct ask *ask)
{
    return ask->config->policy == LOCUS_POLICY_FIRST_TOUCH || locus_policy_probe(ask->config->policy) == 0;
}

static bool no_transparent_pages(const struct ask *ask)
{
    return ask->config->page == LOCUS_PAGE_THP && policy_works(ask) &&
           say(ask, "this kernel has no transparent huge pages, or a sandbox hides them: use LOCUS_PAGE_4K");
}

static bool cannot_populate_pool(const struct ask *ask)
{
    return ask->pooled && policy_works(ask) &&
           say(ask, "huge pages are populated by open, and here that is not possible: it takes Linux 5.14 (MADV_POPULATE_WRITE), "
                    "and memory that may be written. Use LOCUS_PAGE_THP");
}

static bool cannot_make_file(const struct ask *ask)
{
    int file = ask->config->windows && !ask->config->memory ? region_file() : 0;
    if (file > 0)
        close(file);
    if (file == -EMFILE || file == -ENFILE)
        return say(ask, "windows need a file descriptor for a moment, and %s has none left: raise the limit of open files (%s)",
                   file == -EMFILE ? "this process" : "this host", file == -EMFILE ? "RLIMIT_NOFILE, ulimit -n" : "fs.file-max");
    return file < 0 && file != -ENOMEM &&
           say(ask, "windows need memfd_create, which is forbidden here (%s): allow it in the sandbox, or open without `windows`",
               strerror(-file));
}

// --- limits of the process -----------------------------------------------------------------------------------------------------

static bool exceeds(const struct ask *ask, int resource, const char *key, uint64_t wanted, const char *what)
{
    struct rlimit limit;
    uint64_t used = 0;
    if (ask->config->memory || getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY ||
        topo_sysfs_bytes("", STATUS, key, &used) || wanted <= less(limit.rlim_cur, used))
        return false;
    return say(ask, "%s leaves this process %" PRIu64 " MiB, and %" PRIu64 " MiB are needed: raise it, or take less memory", what,
               less(limit.rlim_cur, used) / MIB, in_mib(wanted));
}

static bool address_space_limit(const struct ask *ask)
{
    return exceeds(ask, RLIMIT_AS, "VmSize", ask->bytes + ask->guards_bytes, "the limit of address space (RLIMIT_AS, ulimit -v)");
}

static bool file_limit(const struct ask *ask)
{
    return ask->config->windows && !ask->config->memory && region_file_too_large(ask->span_bytes) &&
           say(ask,
               "windows need a file in memory of %" PRIu64 " MiB, and the limit of a file's size (RLIMIT_FSIZE, ulimit -f) is "
               "less: raise it, or take less memory",
               in_mib(ask->span_bytes));
}

static bool data_limit(const struct ask *ask)
{
    return exceeds(ask, RLIMIT_DATA, "VmData", ask->bytes, "the limit of data (RLIMIT_DATA, ulimit -d)");
}

// What mmap says to the reservation: 0, or its errno.
static int reservation_error(const struct ask *ask)
{
    size_t bytes = ask->span_bytes + ask->guards_bytes;
    void *there = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error = there == MAP_FAILED ? errno : 0;
    if (!error)
        munmap(there, bytes);
    return error;
}

static bool lock_limit(const struct ask *ask)
{
    struct rlimit limit;
    if (ask->config->memory || reservation_error(ask) != EAGAIN || getrlimit(RLIMIT_MEMLOCK, &limit))
        return false;
    return say(ask,
               "this process locks all that it maps (mlockall), and the limit of locked memory (RLIMIT_MEMLOCK, ulimit -l) is "
               "%" PRIu64 " MiB, while %" PRIu64 " MiB are needed: raise it, or give CAP_IPC_LOCK",
               (uint64_t)limit.rlim_cur / MIB, in_mib(ask->bytes));
}

static bool mappings_limit(const struct ask *ask)
{
    uint64_t most = file_number("/proc/sys/vm/max_map_count"), count = 0;
    FILE *file = most && !ask->config->memory ? fopen("/proc/self/maps", "re") : NULL;
    if (!file)
        return false;
    for (int c = getc(file); c != EOF; c = getc(file))
        count += c == '\n';
    fclose(file);
    return count + SPLITS_MAX >= most &&
           say(ask, "this process has %" PRIu64 " mappings of at most %" PRIu64 ": raise vm.max_map_count (sysctl)", count, most);
}

static bool address_space(const struct ask *ask)
{
    if (ask->config->memory || reservation_error(ask) != ENOMEM)
        return false;
    return say(ask, "%" PRIu64 " MiB of address space are not to be had in one piece: take less memory", in_mib(ask->span_bytes));
}

// --- what the host promises ----------------------------------------------------------------------------------------------------

// The kernel keeps some of its promises for root, and for the process to be able to recover.
static uint64_t promises_left(void)
{
    uint64_t limit = 0, promised = 0, size = 0;
    uint64_t kept = KIB * file_number("/proc/sys/vm/user_reserve_kbytes");
    topo_sysfs_bytes("", MEMINFO, "CommitLimit", &limit);
    topo_sysfs_bytes("", MEMINFO, "Committed_AS", &promised);
    topo_sysfs_bytes("", STATUS, "VmSize", &size);
    kept = (size / 32 < kept ? size / 32 : kept) + KIB * file_number("/proc/sys/vm/admin_reserve_kbytes");
    return less(limit, promised + kept);
}

static bool commit_limit(const struct ask *ask)
{
    uint64_t total = 0, swap = 0, mode = 0;
    if (ask->pooled || ask->config->memory || topo_sysfs_u64("", "/proc/sys/vm/overcommit_memory", &mode))
        return false;
    if (mode == 2 && ask->bytes > promises_left())
        return say(ask,
                   "this host promises no more memory than it has (vm.overcommit_memory is 2): %" PRIu64 " MiB are left of "
                   "CommitLimit, and %" PRIu64 " MiB are needed. Raise vm.overcommit_ratio, or set vm.overcommit_memory to 0",
                   promises_left() / MIB, in_mib(ask->bytes));
    topo_sysfs_bytes("", MEMINFO, "MemTotal", &total);
    topo_sysfs_bytes("", MEMINFO, "SwapTotal", &swap);
    return mode == 0 && total && ask->span_bytes > total + swap &&
           say(ask, "%" PRIu64 " MiB are more than this host's memory and swap, which are %" PRIu64 " MiB: take less memory",
               in_mib(ask->span_bytes), (total + swap) / MIB);
}

// --- huge pages ----------------------------------------------------------------------------------------------------------------

static uint64_t pool_figure(const struct ask *ask, const char *figure)
{
    char path[128];
    snprintf(path, sizeof path, NO_POOL "/%s", ask->page_bytes / KIB, figure);
    return file_number(path);
}

static uint64_t node_figure(const struct ask *ask, int node, const char *figure)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/hugepages/hugepages-%" PRIu64 "kB/%s", node, ask->page_bytes / KIB,
             figure);
    return file_number(path);
}

static bool no_such_pages(const struct ask *ask)
{
    char path[80];
    snprintf(path, sizeof path, NO_POOL, ask->page_bytes / KIB);
    return ask->pooled && !ask->config->memory && access(path, F_OK) != 0 &&
           say(ask, "this machine or kernel has no huge pages of %" PRIu64 " MiB (%s): use LOCUS_PAGE_THP", ask->page_bytes / MIB,
               path);
}

// The host's pool, with what it may grow by beyond what is reserved.
static bool too_few_reserved(const struct ask *ask)
{
    uint64_t reserved = pool_figure(ask, "nr_hugepages"), promised = pool_figure(ask, "resv_hugepages");
    uint64_t left = less(pool_figure(ask, "free_hugepages"), promised), needed = ask->bytes / ask->page_bytes;
    uint64_t more = less(pool_figure(ask, "nr_overcommit_hugepages"), pool_figure(ask, "surplus_hugepages"));
    uint64_t usual_bytes = 0; // of the huge pages that the short name is about
    char file[96] = "/proc/sys/vm/nr_hugepages";
    if (!ask->pooled || ask->config->memory || needed <= left + more)
        return false;
    if (topo_sysfs_bytes("", MEMINFO, "Hugepagesize", &usual_bytes) || usual_bytes != ask->page_bytes)
        snprintf(file, sizeof file, NO_POOL "/nr_hugepages", ask->page_bytes / KIB);
    return say(ask,
               "%" PRIu64 " huge pages of %" PRIu64 " MiB are reserved on this host, %" PRIu64 " of them free, and %" PRIu64
               " are needed: reserve more (echo %" PRIu64 " >%s), or use LOCUS_PAGE_THP",
               reserved, ask->page_bytes / MIB, left, needed, reserved + needed - left, file);
}

static bool cgroup_pages_limit(const struct ask *ask)
{
    struct topo_cgroup_memory room;
    char name[TOPO_CGROUP_NAME_BYTES];
    if (!ask->pooled || topo_cgroup_hugetlb("", ask->page_bytes, &room) || ask->bytes <= room.room_bytes)
        return false;
    topo_cgroup_hugetlb_name(ask->page_bytes, name, sizeof name);
    return say(ask,
               "the cgroup's limit of huge pages leaves %" PRIu64 " MiB of them, and %" PRIu64 " MiB are needed: raise %s.max "
               "(cgroup v1: %s.limit_in_bytes), or use LOCUS_PAGE_THP",
               room.room_bytes / MIB, in_mib(ask->bytes), name, name);
}

static bool nodes_lack_pages(const struct ask *ask)
{
    struct locus_nodes nodes = ask->nodes;
    uint64_t left = 0, needed = ask->span_bytes / ask->page_bytes;
    bool strict = locus_policy_strict(ask->config->policy);
    if (!ask->pooled || (!strict && region_nodes_allowed(&nodes)))
        return false;
    int first = locus_nodes_next(&nodes, 0);
    for (int node = first; node >= 0; node = locus_nodes_next(&nodes, node + 1))
        left += node_figure(ask, node, "free_hugepages");
    if (needed <= left)
        return false;
    char who[48] = "the nodes that may be used have together";
    if (locus_nodes_count(&nodes) == 1)
        snprintf(who, sizeof who, "node %d has", first);
    return say(ask,
               "%s %" PRIu64 " free huge pages of %" PRIu64 " MiB, and %" PRIu64 " are needed: reserve more there "
               "(/sys/devices/system/node/node%d/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages)%s, or use LOCUS_PAGE_THP",
               who, left, ask->page_bytes / MIB, needed, first, ask->page_bytes / KIB,
               strict ? ", take more nodes or the policy preferred" : "");
}

// --- memory --------------------------------------------------------------------------------------------------------------------

// Such a process has all pages of a span at once.
static bool locks_what_it_maps(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool locks = page != MAP_FAILED && region_is_locked(page, bytes);
    if (page != MAP_FAILED)
        munmap(page, bytes);
    return locks;
}

static bool no_room(const struct ask *ask)
{
    bool at_once = ask->config->populate || ask->config->windows || (!ask->config->memory && locks_what_it_maps());
    return at_once && !ask->pooled &&
           (region_room_why(ask->config->policy, &ask->nodes, ask->span_bytes, ask->why, ask->why_bytes) ||
            (!locus_policy_strict(ask->config->policy) && ask->bytes > ask->span_bytes &&
             region_room_why(ask->config->policy, &ask->nodes, ask->bytes, ask->why, ask->why_bytes)));
}

// --- the table -----------------------------------------------------------------------------------------------------------------

static const struct {
    int error;
    bool (*holds)(const struct ask *);
} causes[] = {
    {EPERM, cannot_make_file},
    {EACCES, cannot_make_file},
    {ENOSYS, cannot_make_file},
    {EMFILE, cannot_make_file},
    {ENFILE, cannot_make_file},
    {EFBIG, file_limit},
    {EINVAL, no_node_named},
    {EINVAL, too_many_nodes},
    {EINVAL, node_unusable},
    {ENODEV, node_unusable},
    {ENOSYS, no_transparent_pages},
    {ENOSYS, cannot_populate_pool},
    {ENOMEM, address_space_limit},
    {ENOMEM, lock_limit},
    {ENOMEM, mappings_limit},
    {ENOMEM, address_space},
    {ENOMEM, data_limit},
    {ENOMEM, commit_limit},
    {ENOMEM, no_such_pages},
    {ENOMEM, too_few_reserved},
    {ENOMEM, cgroup_pages_limit},
    {ENOMEM, nodes_lack_pages},
    {ENOMEM, no_room},
    {ENOMEM, node_unusable},
};

static bool first_cause(const struct ask *ask, int error)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].error == abs(error) && causes[i].holds(ask))
            return true;
    return false;
}

bool region_cause(const struct locus_region_config *given, uint64_t beside_bytes, int error, char *why, size_t why_bytes)
{
    struct locus_region_config config = *given;
    uint64_t base_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t align_bytes = region_page_bytes(config.page, base_bytes);
    if ((unsigned)config.policy >= LOCUS_POLICIES)
        return false;
    config.policy = region_policy_meant(&config);
    struct ask ask = {.config = &config,
                      .page_bytes = region_is_pooled(&config) ? align_bytes : base_bytes,
                      .guards_bytes = base_bytes + align_bytes,
                      .pooled = region_is_pooled(&config),
                      .why = why,
                      .why_bytes = why_bytes};
    region_nodes_named(&config, &ask.nodes);
    if (config.bytes > SIZE_MAX / 2 || beside_bytes > SIZE_MAX / 2 - config.bytes)
        return abs(error) == ENOMEM && say(&ask, "%" PRIu64 " MiB are more than any address space", in_mib(config.bytes));
    ask.span_bytes = (config.bytes + align_bytes - 1) / align_bytes * align_bytes;
    ask.bytes = ask.span_bytes + beside_bytes;
    return first_cause(&ask, error);
}

void region_unknown_cause(const struct locus_region_config *config, int error, char *why, size_t why_bytes)
{
    bool unnamed = config->policy == LOCUS_POLICY_BY_NODE && (abs(error) == EPERM || abs(error) == ENOSYS);
    snprintf(why, why_bytes, "%s%s", locus_policy_why(region_policy_meant(config), error),
             unnamed ? ". Without a named node (LOCUS_NODE_ANY) no policy is needed" : "");
}

void locus_region_why(const struct locus_region_config *given, int error, char *why, size_t why_bytes)
{
    struct locus_region_config config;
    int taken = config_take(&config, sizeof config, given);
    const char *fault = taken ? config_why(taken) : abs(error) == EINVAL ? region_config_fault(&config) : NULL;
    if (fault)
        snprintf(why, why_bytes, "%s", fault);
    else if (!region_cause(&config, 0, error, why, why_bytes))
        region_unknown_cause(&config, error, why, why_bytes);
}
