// SPDX-License-Identifier: Apache-2.0
//
// region: makes a span, guards it, places it, and fills it if asked.
//
// The span is cut out of a larger PROT_NONE reservation. That gives the guard pages at no cost, and the alignment: mmap aligns to
// base pages only, so the reservation is larger by the alignment, and the surplus is given back. A span becomes usable by mprotect,
// so one of base pages is never without a mapping. A hugetlb span needs a mapping of its own: the middle is unmapped and mapped
// again with MAP_FIXED_NOREPLACE. MAP_FIXED would not do: when huge pages run out, some kernels have already removed the old
// mapping, and unmapping the whole reservation could hit what another thread has mapped into the hole.
//
// Order: the policy is set before the first touch, or pages would have to migrate; and before the span may be touched, because in a
// process that locks what it maps (mlockall) mprotect brings all its pages in. The room is checked before the span is
// populated, because the kernel kills the process if it does not fit (region_room.c). The check is repeated before each step, so
// other processes can surprise us only by what they take during one step. A span that mprotect brings in is checked whole before
// it, populated or not. Whether it is one, only msync tells: MS_INVALIDATE, which does nothing to such memory, is refused (EBUSY).
//
// A hugetlb span is always populated. mmap reserves in the host's pool only: where the policy's nodes, the cpuset or the cgroup's
// limit have fewer pages, the first touch ends in SIGBUS, and a look at the free pages would race with other processes.
// MADV_POPULATE_WRITE answers EFAULT instead, so it needs no check either.
//
// A span with `windows` is a memfd, mapped over the reservation in the same way. Its file is closed at once: mremap makes further
// mappings of it from this one (placement/blocks/window.c), and a forked child inherits nothing of it.
//
// The caller's memory is placed and populated in the same way, but not mapped, guarded, advised or unmapped.
//
// The guards also give the span a line of its own in /proc/self/numa_maps, on which region_verify.c relies.
#include "placement/base/config.h"
#include "placement/memory/region_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif

#define MIB ((size_t)1 << 20)
#define HUGE_SHIFT_2M 21
#define HUGE_SHIFT_1G 30

// Faulting 64 MiB in takes some 20 ms; checking the room (two small files) costs less than 1 % of that.
#define POPULATE_STEP_BYTES (64 * MIB)

size_t region_page_bytes(enum locus_page page, size_t base_bytes)
{
    switch (page) {
    case LOCUS_PAGE_THP:
    case LOCUS_PAGE_2M: return (size_t)1 << HUGE_SHIFT_2M;
    case LOCUS_PAGE_1G: return (size_t)1 << HUGE_SHIFT_1G;
    case LOCUS_PAGE_4K: break;
    }
    return base_bytes;
}

const char *region_config_fault(const struct locus_region_config *config)
{
    size_t page_bytes = region_page_bytes(config->page, (size_t)sysconf(_SC_PAGESIZE));
    if (config->bytes == 0)
        return "bytes is 0";
    if ((unsigned)config->memory_class > LOCUS_CLASS_METADATA)
        return "memory_class is out of range";
    if ((unsigned)config->page > LOCUS_PAGE_1G)
        return "page is out of range";
    if (config->memory && config->page == LOCUS_PAGE_THP)
        return "page is THP, but the caller's memory is not advised: use LOCUS_PAGE_4K";
    if (config->memory && config->bytes > UINTPTR_MAX - (uintptr_t)config->memory)
        return "the caller's memory ends beyond the address space";
    if (config->memory && ((uintptr_t)config->memory % page_bytes || config->bytes % page_bytes))
        return "the caller's memory does not begin and end on a page boundary";
    if (config->windows && !config->memory && region_is_pooled(config))
        return "windows cannot show reserved huge pages, which the kernel maps only once (mremap): use LOCUS_PAGE_THP or 4K";
    if (config->windows && (config->policy == LOCUS_POLICY_INTERLEAVE || config->policy == LOCUS_POLICY_WEIGHTED_INTERLEAVE))
        return "windows need another policy: interleaving would go by a page's place in a file, and cannot be verified";
    return NULL;
}

static int check_config(const struct locus_region_config *config, struct locus_nodes *nodes)
{
    return region_config_fault(config) ? -EINVAL : region_policy_nodes(config, nodes);
}

// Gives back the reservation outside guard + span + guard. If the kernel refuses (the reservation may have been merged with a
// neighbour, and a split can exceed the limit of mappings), the rest stays ours and is unmapped at close.
static void trim(struct locus_region *region, size_t guard)
{
    size_t head = (size_t)(region->base - guard - region->map);
    if (head > 0 && munmap(region->map, head) == 0) {
        region->map += head;
        region->map_bytes -= head;
    }
    size_t kept = (size_t)(region->base - region->map) + region->bytes + guard;
    size_t tail = region->map_bytes - kept;
    if (tail > 0 && munmap(region->map + kept, tail) == 0)
        region->map_bytes = kept;
}

static int reserve(struct locus_region *region, size_t guard)
{
    size_t align = region_page_bytes(region->config.page, guard);
    size_t extra = 2 * guard + (align - guard);
    if (region->config.bytes > SIZE_MAX - extra - align)
        return -ENOMEM;
    region->bytes = (region->config.bytes + align - 1) / align * align;
    region->map_bytes = region->bytes + extra;
    region->map = mmap(NULL, region->map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region->map == MAP_FAILED) {
        region->map = NULL;
        return -ENOMEM;
    }
    size_t past_guard = (size_t)((uintptr_t)(region->map + guard) % align);
    region->base = region->map + guard + (past_guard ? align - past_guard : 0);
    trim(region, guard);
    return 0;
}

// Maps what is to be the span in the middle of the reservation. The hole is open for a moment, and another thread's mapping there
// is not ours to unmap: on failure only the two guards are unmapped.
static int map_over(struct locus_region *region, int flags, int file)
{
    if (munmap(region->base, region->bytes) != 0)
        return -ENOMEM;
    void *span = mmap(region->base, region->bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, file, 0);
    if (span == region->base)
        return 0;
    if (span != MAP_FAILED) // a kernel before 4.17 takes the address as a hint
        munmap(span, region->bytes);
    char *behind = region->base + region->bytes;
    munmap(region->map, (size_t)(region->base - region->map));
    munmap(behind, (size_t)(region->map + region->map_bytes - behind));
    region->map = NULL;
    return -ENOMEM;
}

// Where vm.memfd_noexec demands it, the file says that nobody executes it; kernels before 6.3 do not know how.
int region_file(void)
{
    int file = memfd_create("locus", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
    if (file < 0 && errno == EINVAL)
        file = memfd_create("locus", MFD_CLOEXEC);
    return file < 0 ? -errno : file;
}

// To a file beyond the limit the kernel would say SIGXFSZ.
bool region_file_too_large(size_t bytes)
{
    struct rlimit limit;
    return bytes > LONG_MAX || (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur);
}

static int map_file(struct locus_region *region)
{
    if (region_file_too_large(region->bytes))
        return -EFBIG;
    int file = region_file();
    if (file < 0)
        return file;
    int result = ftruncate(file, (off_t)region->bytes) ? -errno : map_over(region, MAP_SHARED, file);
    close(file);
    return result;
}

static int map_hugetlb(struct locus_region *region)
{
    int shift = region->config.page == LOCUS_PAGE_1G ? HUGE_SHIFT_1G : HUGE_SHIFT_2M;
    return map_over(region, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | shift << MAP_HUGE_SHIFT, -1);
}

// To madvise the one mapping too many is EAGAIN, which is ENOMEM elsewhere.
static int madvised(const struct locus_region *region, int advice)
{
    if (madvise(region->base, region->bytes, advice) == 0)
        return 0;
    return errno == EAGAIN ? -ENOMEM : -errno;
}

// EINVAL means a kernel without transparent huge pages. If base pages were requested, that is what we have then.
static int advise(struct locus_region *region)
{
    bool thp = region->config.page == LOCUS_PAGE_THP;
    int result = madvised(region, thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    region->thp_advised = thp && result == 0;
    if (result == -EINVAL)
        result = thp ? -ENOSYS : 0;
    return result;
}

static int map_span(struct locus_region *region, size_t base_page)
{
    bool pooled = region_is_pooled(&region->config);
    int result = reserve(region, base_page);
    if (!result && region->config.windows)
        result = map_file(region);
    else if (!result && pooled)
        result = map_hugetlb(region);
    if (!result && !pooled)
        result = advise(region);
    return result ? result : madvised(region, MADV_DONTFORK);
}

// In the caller's memory or in a mapping of ours.
static int have_span(struct locus_region *region)
{
    size_t base_page = (size_t)sysconf(_SC_PAGESIZE);
    region->page_bytes = region_is_pooled(&region->config) ? region_page_bytes(region->config.page, base_page) : base_page;
    if (!region->config.memory)
        return map_span(region, base_page);
    region->base = region->config.memory;
    region->bytes = region->config.bytes;
    return 0;
}

bool region_is_locked(void *page, size_t bytes)
{
    return msync(page, bytes, MS_ASYNC | MS_INVALIDATE) != 0 && errno == EBUSY;
}

static int room_for_all(const struct locus_region *region)
{
    struct region_room room;
    int result = region_room_open(region->config.policy, &region->nodes, &room);
    return result ? result : region_room_holds(&room, region->bytes);
}

// Placed, and then usable.
static int place_span(const struct locus_region *region)
{
    int result = region_policy_apply(region);
    if (result || region->config.memory)
        return result;
    if (!region_is_pooled(&region->config) && region_is_locked(region->base, region->page_bytes))
        result = room_for_all(region);
    if (!result && mprotect(region->base, region->bytes, PROT_READ | PROT_WRITE) != 0)
        result = -errno;
    return result;
}

// Kernels before 5.14 answer EINVAL to MADV_POPULATE_WRITE; base pages are then touched one by one. A hugetlb span is not: a
// touch answers with SIGBUS where the call would have said EFAULT.
static int populate_step(const struct locus_region *region, char *start, size_t bytes)
{
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (errno == EFAULT)
        return -ENOMEM;
    if (errno != EINVAL)
        return -errno;
    if (region_is_pooled(&region->config))
        return -ENOSYS;
    for (size_t at = 0; at < bytes; at += region->page_bytes)
        __atomic_fetch_or(start + at, 0, __ATOMIC_RELAXED); // keeps the contents of the caller's memory
    return 0;
}

// Bytes of the span without a page. Our mapping begins empty, unless it is locked; the caller's memory may have pages.
static size_t absent_bytes(const struct locus_region *region)
{
    unsigned char present[4096];
    size_t base_page = (size_t)sysconf(_SC_PAGESIZE), absent = 0;
    if (!region->config.memory && !region_is_locked(region->base, region->page_bytes))
        return region->bytes;
    for (size_t done = 0; done < region->bytes; done += sizeof present * base_page) {
        size_t left = (region->bytes - done) / base_page, pages = left < sizeof present ? left : sizeof present;
        if (mincore(region->base + done, pages * base_page, present) != 0)
            return region->bytes;
        for (size_t i = 0; i < pages; i++)
            absent += present[i] & 1 ? 0 : base_page;
    }
    return absent;
}

static int populate(const struct locus_region *region)
{
    bool ask = !region_is_pooled(&region->config);
    size_t step = region->page_bytes > POPULATE_STEP_BYTES ? region->page_bytes : POPULATE_STEP_BYTES;
    size_t absent = ask ? absent_bytes(region) : 0;
    struct region_room room;
    int result = ask ? region_room_open(region->config.policy, &region->nodes, &room) : 0;
    for (size_t done = 0; !result && done < region->bytes; done += step) {
        size_t left = region->bytes - done;
        if (ask)
            result = region_room_holds(&room, left < absent ? left : absent);
        if (!result)
            result = populate_step(region, region->base + done, left < step ? left : step);
    }
    return result;
}

int locus_region_open(struct locus_region **out, const struct locus_region_config *given)
{
    *out = NULL;
    struct locus_region_config config;
    struct locus_nodes nodes;
    int result = config_take(&config, sizeof config, given);
    if (result)
        return result;
    config.policy = region_policy_meant(&config);
    config.populate |= region_is_pooled(&config) || (config.windows && !config.memory);
    result = check_config(&config, &nodes);
    if (result)
        return result;
    struct locus_region *region = calloc(1, sizeof(*region));
    if (!region)
        return -ENOMEM;
    region->config = config;
    region->nodes = nodes;
    result = have_span(region);
    if (!result)
        result = place_span(region);
    if (!result && config.populate)
        result = populate(region);
    if (result) {
        locus_region_close(region);
        return result;
    }
    *out = region;
    return 0;
}

void locus_region_close(struct locus_region *region)
{
    if (!region)
        return;
    if (region->map)
        munmap(region->map, region->map_bytes);
    free(region);
}

void *locus_region_base(const struct locus_region *region)
{
    return region->base;
}

size_t locus_region_bytes(const struct locus_region *region)
{
    return region->bytes;
}
