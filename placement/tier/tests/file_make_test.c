// SPDX-License-Identifier: Apache-2.0
//
// file: a file that is made, up to any point, and what is not a file of ours.
#include "placement/tier/tests/file_faulty.h"

#include <sys/resource.h>

#include "placement/base/tests/sanitized.h"
#include "placement/memory/tests/region_child.h"

// Its first block is durable before it has the size that says that it is complete.
Test(file_make, the_first_block_is_synced_before_the_space_and_the_space_before_the_first_store)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    no_order();
    struct locus_tier *tier = file_open(&config);
    cr_assert_str_eq(order, "wsSaSs", "block, sync, sync of the folder, space, sync; and the scan's");
    locus_tier_close(tier);
    no_order();
    locus_tier_close(file_open(&config));
    cr_assert_str_eq(order, "s", "nothing is made again");
    place_end(&place);
}

Test(file_make, a_step_that_fails_is_said_and_the_file_can_be_made_later)
{
    static const struct {
        enum fault_call call;
        int nth;
        const char *word;
    } steps[] = {{FAULT_WRITE, 1, "Input/output error"},
                 {FAULT_SYNC, 1, "first block"},
                 {FAULT_SYNC_ALL, 1, "folder"},
                 {FAULT_FALLOCATE, 1, "bytes for it"},
                 {FAULT_SYNC_ALL, 2, "bytes for it"}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        fault_at(steps[i].call, steps[i].nth, steps[i].nth, -EIO);
        cr_assert_eq(open_fails(config, steps[i].word), -EIO);
        no_fault();
        struct locus_tier *tier = file_open(&config);
        cr_assert(granted_of(tier).made);
        must_store(tier, 1, "a", 1);
        locus_tier_close(tier);
        place_end(&place);
    }
}

// tmpfs gives up an allocation when a signal comes.
Test(file_make, an_allocation_that_a_signal_interrupts_is_gone_on_with)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 4000, UNIT_OF_FILE); // of two pieces
    struct stat status;
    fault_at(FAULT_FALLOCATE, 2, 40, -EINTR);
    struct locus_tier *tier = file_open(&config);
    cr_assert_eq(fault.seen, 39 + 2);
    no_fault();
    locus_tier_close(tier);
    cr_assert_eq(stat(place.path, &status), 0);
    cr_assert_geq(status.st_blocks * 512, 4000 * 4096, "all of it is allocated");
    place_end(&place);
}

// ZFS, NFS and many file systems in user space; a filter of system calls.
Test(file_make, where_nothing_is_allocated_beforehand_the_blocks_are_written)
{
    static const int errors[] = {EOPNOTSUPP, ENOSYS, EINVAL, EPERM};
    for (int i = 0; i < 8; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 1500, UNIT_OF_FILE); // of several writes
        struct stat status;
        struct file_first first;
        fault_at(FAULT_FALLOCATE, 1 + i / 4, 1000, -errors[i % 4]); // the second: an odd one, which gives a piece
        struct locus_tier *tier = file_open(&config);
        no_fault();
        cr_assert(granted_of(tier).made);
        cr_assert_eq(stat(place.path, &status), 0);
        cr_assert_eq((uint64_t)status.st_size, config.bytes);
        cr_assert_geq((uint64_t)status.st_blocks * 512, config.bytes);
        must_store(tier, 1, "a", 1);
        locus_tier_close(tier);
        block_read(&place, 0, &first);
        cr_assert_eq(first.making, 0);
        tier = file_open(&config);
        cr_assert(!granted_of(tier).made);
        cr_assert_eq(locus_tier_find(tier, locus_id_of(1), NULL), 0);
        locus_tier_close(tier);
        place_end(&place);
    }
}

// Writes: first block, the same with `making`, zeros, and without it again; syncs of data: after the first, second and last.
static int without_fallocate(void *context)
{
    static const struct {
        enum fault_call call;
        int nth;
    } steps[] = {{FAULT_WRITE, 2}, {FAULT_WRITE, 3}, {FAULT_WRITE, 4}, {FAULT_SYNC, 2}, {FAULT_SYNC, 3}, {FAULT_SYNC_ALL, 2}};
    (void)context;
    if (!forbid(SYS_fallocate, ANY_THIRD, EOPNOTSUPP))
        return CANNOT;
    for (size_t i = 0; i < 2 * sizeof steps / sizeof *steps; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        struct locus_tier *tier;
        struct stat status;
        int fd = i % 2 ? open(place.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
        close(fd);
        fault_at(steps[i / 2].call, steps[i / 2].nth, steps[i / 2].nth, -ENOSPC);
        if (locus_tier_file_open(&tier, &config) != -ENOSPC)
            return 3;
        no_fault();
        if (i % 2 ? stat(place.path, &status) || status.st_size : stat(place.path, &status) == 0)
            return 4;
        if (locus_tier_file_open(&tier, &config))
            return 5;
        locus_tier_close(tier);
        place_end(&place);
    }
    return 0;
}

Test(file_make, blocks_that_cannot_be_written_leave_no_file)
{
    int status = in_child(without_fallocate, NULL);
    if (status == CANNOT)
        cr_skip_test("seccomp filters are not available here");
    cr_assert_eq(status, 0, "the child ended with %d", status);
}

// With the size that it has by then, which is not the size that its first block says.
Test(file_make, a_file_whose_zeros_were_cut_off_is_gone_on_with_or_made_anew)
{
    for (int i = 0; i < 4; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        struct file_first first;
        locus_tier_close(file_open(&config));
        block_read(&place, 0, &first);
        first.making = 1;
        first.checksum = file_block_checksum(&first, &first.checksum);
        block_write(&place, 0, &first);
        cr_assert_eq(truncate(place.path, (off_t)(i & 1 ? 20 * FILE_BLOCK : config.bytes)), 0);
        config = config_of(&place, i & 2 ? 32 : 0, i & 2 ? UNIT_OF_FILE : 0);
        struct locus_tier *tier = file_open(&config);
        cr_assert(granted_of(tier).made);
        cr_assert_eq(stats_of(tier).units, i & 2 ? 32 : 64);
        must_store(tier, 1, "a", 1);
        locus_tier_close(tier);
        block_read(&place, 0, &first);
        cr_assert_eq(first.making, 0);
        tier = file_open(&config);
        cr_assert_eq(locus_tier_find(tier, locus_id_of(1), NULL), 0, "it is not made again");
        locus_tier_close(tier);
        place_end(&place);
    }
}

// A write beyond the limit would end the child with SIGXFSZ.
static int limited(void *context)
{
    const struct place *place = context;
    struct locus_tier_file_config config = config_of(place, 64, UNIT_OF_FILE);
    struct rlimit limit = {config.bytes - 1, config.bytes};
    struct locus_tier *tier;
    char why[300] = "";
    config.why = why;
    config.why_bytes = sizeof why;
    bool there = access(place->path, F_OK) == 0;
    for (int i = 0; i < 3; i++) {
        limit.rlim_cur = i == 0 ? config.bytes - 1 : i == 1 ? FILE_BLOCK - 1 : 0;
        if (setrlimit(RLIMIT_FSIZE, &limit))
            return CANNOT;
        if (locus_tier_file_open(&tier, &config) != -EFBIG || !strstr(why, "RLIMIT_FSIZE") || !strstr(why, "ulimit -f"))
            return 3;
        if (there != (access(place->path, F_OK) == 0))
            return 4;
    }
    limit.rlim_cur = config.bytes;
    if (setrlimit(RLIMIT_FSIZE, &limit) || locus_tier_file_open(&tier, &config))
        return 5;
    for (uint64_t key = 0; key < 64 && !there; key++)
        if (store(tier, key, "a", 1))
            return 6;
    locus_tier_close(tier);
    return 0;
}

Test(file_make, a_file_larger_than_the_process_may_write_is_refused_and_no_signal_comes)
{
    struct place place = place_new();
    for (int there = 0; there < 2; there++) {
        int status = in_child(limited, &place);
        cr_assert_eq(status, 0, "the child ended with %d", status);
    }
    place_end(&place);
}

Test(file_make, a_file_has_as_many_units_as_fit_into_its_bytes_and_is_not_larger)
{
    static const uint32_t unit_bytes[] = {UNIT_OF_FILE, 16384};
    for (uint64_t bytes = 100000; bytes < 500000; bytes += 33331)
        for (int i = 0; i < 2; i++) {
            struct place place = place_new();
            struct locus_tier_file_config config = config_of(&place, 0, unit_bytes[i]);
            struct stat status;
            config.bytes = bytes;
            struct locus_tier *tier = file_open(&config);
            uint64_t units = stats_of(tier).units;
            locus_tier_close(tier);
            cr_assert_eq(stat(place.path, &status), 0);
            cr_assert_leq((uint64_t)status.st_size, bytes);
            cr_assert_eq((uint64_t)status.st_size, config_of(&place, units, unit_bytes[i]).bytes);
            cr_assert_gt(config_of(&place, units + 1, unit_bytes[i]).bytes, bytes, "one more would not fit");
            place_end(&place);
        }
}

static void file_with(const struct place *place, const void *bytes, size_t count)
{
    int fd = open(place->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
    close(fd);
}

static void first_block(struct file_first *first)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    locus_tier_close(file_open(&config));
    block_read(&place, 0, first);
    place_end(&place);
}

// What a loss of power leaves of a block that was not synced: all, a part, or zeros, and not always the size.
Test(file_make, a_file_that_was_cut_off_while_it_was_made_is_made_anew)
{
    static const size_t sizes[] = {1, 36, 512, 4095, FILE_BLOCK}, whole[] = {0, 8, 20, 30, 36};
    struct file_first first, part;
    first_block(&first);
    for (size_t i = 0; i < 25; i++) {
        size_t size = sizes[i / 5], count = whole[i % 5] < size ? whole[i % 5] : size;
        if (count > 0 && count < 8)
            continue; // less than the magic number is not known for ours
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        memset(&part, 0, sizeof part);
        memcpy(&part, &first, count);
        file_with(&place, &part, size);
        config.bytes = 0;
        if (count < 36)
            cr_assert_eq(open_fails(config, "cut off while it was made, and bytes is 0"), -ENOENT);
        config = config_of(&place, 32, UNIT_OF_FILE);
        struct locus_tier *tier = file_open(&config);
        cr_assert(granted_of(tier).made);
        cr_assert_eq(stats_of(tier).units, 32, "with the shape that it is given now");
        must_store(tier, 1, "a", 1);
        locus_tier_close(tier);
        place_end(&place);
    }
}

Test(file_make, a_whole_first_block_without_its_space_is_gone_on_with_in_its_own_shape)
{
    struct file_first first;
    first_block(&first);
    for (int i = 0; i < 2; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 0, 0);
        file_with(&place, &first, i ? FILE_BLOCK : 512); // what is behind these is zeros
        struct locus_tier *tier = file_open(&config);
        cr_assert(granted_of(tier).made);
        cr_assert_eq(stats_of(tier).units, 64);
        locus_tier_close(tier);
        place_end(&place);
    }
}

Test(file_make, what_is_somebody_elses_is_refused_and_left_as_it_is)
{
    static const char text[] = "LOCFILE, but somebody's notes";
    static char large[3 * FILE_BLOCK], got[3 * FILE_BLOCK]; // zeros: of the size of no making that was cut off
    for (int i = 0; i < 2; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        size_t bytes = i ? sizeof large : sizeof text;
        file_with(&place, i ? large : text, bytes);
        cr_assert_eq(open_fails(config, "not the file of a tier"), -EINVAL);
        int fd = open(place.path, O_RDONLY | O_CLOEXEC);
        cr_assert_eq(read(fd, got, sizeof got), (ssize_t)bytes);
        cr_assert_eq(memcmp(got, i ? large : text, bytes), 0);
        close(fd);
        place_end(&place);
    }
    struct file_first first;
    first_block(&first);
    first.version = FILE_VERSION + 1; // of a later library, which may have another way to make one
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    file_with(&place, &first, sizeof first);
    cr_assert_eq(open_fails(config, "version 3"), -EPROTO);
    place_end(&place);
    config.path = "/dev/null";
    cr_assert_eq(open_fails(config, "not a regular file"), -EINVAL);
}

Test(file_make, a_config_of_a_later_library_is_refused_by_name)
{
    struct {
        struct locus_tier_file_config config;
        char more[16];
    } later = {.config = {.size = sizeof later, .path = "/nowhere/at/all", .bytes = 1 << 20}, .more = {1}};
    char why[200] = "";
    struct locus_tier *tier = (void *)1;
    later.config.why = why;
    later.config.why_bytes = sizeof why;
    cr_assert_eq(locus_tier_file_open(&tier, &later.config), -E2BIG);
    cr_assert_null(tier);
    cr_assert(strstr(why, "later version of the library"), "%s", why);
    later.config.size = 3; // no struct's size, so nothing in it can be relied on
    strcpy(why, "as before");
    cr_assert_eq(locus_tier_file_open(&tier, &later.config), -EINVAL);
    cr_assert_str_eq(why, "as before");
}

// A sparse file says that it has so many units that their table does not fit into the memory that the process may have.
static int without_memory(void *path)
{
    const struct rlimit limit = {UINT64_C(1) << 30, UINT64_C(1) << 30};
    char why[300] = "";
    struct locus_tier *tier;
    struct locus_tier_file_config config = {.size = sizeof config, .path = path, .why = why, .why_bytes = sizeof why};
    if (setrlimit(RLIMIT_AS, &limit))
        return CANNOT;
    return locus_tier_file_open(&tier, &config) == -ENOMEM && strstr(why, "Cannot allocate memory") ? 0 : 3;
}

Test(file_make, a_table_that_does_not_fit_into_memory_is_refused_with_a_word)
{
#ifdef SANITIZED
    cr_skip_test("the sanitizer's own memory is beyond any limit");
#endif
    struct file_first first;
    struct place place = place_new();
    first_block(&first);
    first.units = 1 << 26;
    first.checksum = file_block_checksum(&first, &first.checksum);
    file_with(&place, &first, sizeof first);
    if (truncate(place.path, (off_t)(file_units_offset(first.units, UNIT_OF_FILE) + first.units * UNIT_OF_FILE)))
        cr_skip_test("no file of 256 GiB here");
    int status = in_child(without_memory, place.path);
    place_end(&place);
    cr_assert_eq(status, 0, "the child ended with %d", status);
}
