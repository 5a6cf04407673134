// SPDX-License-Identifier: Apache-2.0
//
// Shared by the tests of tiers in files: a folder for each test.
#ifndef LOCUS_TESTS_FILE_TEST_H
#define LOCUS_TESTS_FILE_TEST_H

#include "placement/tier/tests/tier_test.h"

#include "placement/tier/file/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT_OF_FILE 4096u

struct place {
    char folder[64], path[80];
};

// A file system that is on a disk as a rule; a small machine may have none but /tmp. LOCUS_TEST_FOLDER names another.
static inline const char *place_base(void)
{
    const char *given = getenv("LOCUS_TEST_FOLDER");
    return given ? given : access("/var/tmp", W_OK) ? "/tmp" : "/var/tmp";
}

static inline struct place place_new(void)
{
    struct place place;
    snprintf(place.folder, sizeof place.folder, "%s/tier-XXXXXX", place_base());
    cr_assert(mkdtemp(place.folder));
    snprintf(place.path, sizeof place.path, "%s/file", place.folder);
    return place;
}

static inline void place_end(const struct place *place)
{
    unlink(place->path);
    rmdir(place->folder);
}

static inline struct locus_tier_file_config config_of(const struct place *place, uint64_t units, uint32_t unit_bytes)
{
    return (struct locus_tier_file_config){.size = sizeof(struct locus_tier_file_config),
                                           .path = place->path,
                                           .bytes = units ? file_units_offset(units, unit_bytes) + units * unit_bytes : 0,
                                           .unit_bytes = unit_bytes};
}

static inline struct locus_tier *file_open(const struct locus_tier_file_config *config)
{
    struct locus_tier *tier = NULL;
    char why[300] = "";
    struct locus_tier_file_config with_why = *config;
    with_why.why = why;
    with_why.why_bytes = sizeof why;
    int error = -EBUSY; // a ring that has just been closed may hold the file for a moment
    for (int i = 0; i < 200 && error == -EBUSY; i++) {
        error = locus_tier_file_open(&tier, &with_why);
        if (error == -EBUSY)
            usleep(5000);
    }
    cr_assert_eq(error, 0, "%d: %s", error, why);
    return tier;
}

static inline struct locus_tier_file_granted granted_of(const struct locus_tier *tier)
{
    struct locus_tier_file_granted granted;
    cr_assert_eq(locus_tier_file_granted(tier, &granted), 0);
    return granted;
}

// A block of the file, to look at or to damage.
static inline void block_read(const struct place *place, uint64_t offset, void *block)
{
    int fd = open(place->path, O_RDONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && pread(fd, block, FILE_BLOCK, (off_t)offset) == FILE_BLOCK);
    close(fd);
}

static inline void block_write(const struct place *place, uint64_t offset, const void *block)
{
    int fd = open(place->path, O_WRONLY | O_CLOEXEC);
    cr_assert(fd >= 0 && pwrite(fd, block, FILE_BLOCK, (off_t)offset) == FILE_BLOCK && fsync(fd) == 0);
    close(fd);
}

#endif
