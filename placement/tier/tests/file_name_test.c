// SPDX-License-Identifier: Apache-2.0
//
// file: which file a tier takes for its own, and what an open leaves that fails.
#include "placement/tier/tests/file_faulty.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "placement/memory/tests/region_child.h"

#define NOBODY 65534

static mode_t mode_of(const char *path)
{
    struct stat status;
    cr_assert_eq(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static void file_made(const char *path, mode_t mode)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    cr_assert(fd >= 0 && fchmod(fd, mode) == 0);
    close(fd);
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

Test(file_name, a_new_file_is_the_users_alone_whatever_the_umask)
{
    static const mode_t masks[] = {0, 022, 077, 0777};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        mode_t before = umask(masks[i]);
        struct locus_tier *tier = file_open(&config);
        umask(before);
        cr_assert_eq(mode_of(place.path), 0600, "umask %o", masks[i]);
        cr_assert_eq(fcntl(((struct file *)tier)->fd, F_GETFL) & O_NONBLOCK, 0, "else io_uring would not wait for a device");
        locus_tier_close(tier);
        locus_tier_close(file_open(&config));
        place_end(&place);
    }
}

Test(file_name, a_symbolic_link_is_refused_wherever_it_leads)
{
    struct place place = place_new();
    char link[100];
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE), linked = config;
    snprintf(link, sizeof link, "%s/link", place.folder);
    linked.path = link;
    cr_assert_eq(symlink(place.path, link), 0);
    cr_assert_eq(open_fails(linked, "symbolic link: give the path of the file"), -ELOOP);
    cr_assert(!is_there(place.path), "nothing is made where a link leads");
    locus_tier_close(file_open(&config));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(open_fails(linked, "link is a symbolic link"), -ELOOP);
        linked.bytes = 0;
    }
    cr_assert_eq(unlink(link), 0);
    place_end(&place);
}

Test(file_name, what_is_no_regular_file_is_refused_at_once_and_by_name, .timeout = 20)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cr_assert_eq(mkfifo(place.path, 0600), 0);
    cr_assert_eq(open_fails(config, "file is not a regular file"), -EINVAL);
    unlink(place.path);
    memcpy(address.sun_path, place.path, strlen(place.path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    cr_assert_eq(open_fails(config, "file is not a regular file"), -EINVAL);
    close(fd);
    unlink(place.path);
    cr_assert_eq(mkdir(place.path, 0700), 0);
    cr_assert_eq(open_fails(config, "file is a directory"), -EISDIR);
    rmdir(place.path);
    config.path = "/dev/tty"; // without a terminal its open would be an error of its own
    cr_assert_eq(open_fails(config, "/dev/tty is not a regular file"), -EINVAL);
    place_end(&place);
}

Test(file_name, a_file_with_rights_for_others_is_refused_until_they_are_taken_away)
{
    static const mode_t modes[] = {0644, 0640, 0620, 0610, 0604, 0602, 0601, 0666};
    for (int empty = 0; empty < 2; empty++)
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            struct place place = place_new();
            struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
            char word[40];
            if (empty)
                file_made(place.path, modes[i]);
            else
                locus_tier_close(file_open(&config));
            cr_assert_eq(chmod(place.path, modes[i]), 0);
            snprintf(word, sizeof word, "has mode %04o", modes[i]);
            cr_assert_eq(open_fails(config, word), -EPERM);
            cr_assert_eq(open_fails(config, "chmod 600 it"), -EPERM);
            cr_assert_eq(mode_of(place.path), modes[i], "it is left as it is");
            cr_assert_eq(chmod(place.path, 0600), 0);
            struct locus_tier *tier = file_open(&config);
            cr_assert_eq(granted_of(tier).made, empty);
            locus_tier_close(tier);
            place_end(&place);
        }
}

Test(file_name, another_users_file_is_refused_also_an_empty_one)
{
    struct stat status;
    if (geteuid() != 0)
        cr_skip_test("needs the right to give a file away");
    for (int empty = 0; empty < 2; empty++) {
        struct place place = place_new();
        struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
        if (empty)
            file_made(place.path, 0600);
        else
            locus_tier_close(file_open(&config));
        cr_assert_eq(chown(place.path, NOBODY, NOBODY), 0);
        cr_assert_eq(open_fails(config, "belongs to user 65534, and user 0 opens it"), -EPERM);
        cr_assert_eq(stat(place.path, &status), 0);
        cr_assert_eq(status.st_size > 0, !empty, "it is left as it is");
        cr_assert(chown(place.path, 0, 0) == 0 && chmod(place.folder, 0711) == 0 && seteuid(NOBODY) == 0);
        bool seen = stat(place.path, &status) == 0; // a folder above may be closed to nobody
        int error = seen ? open_fails(config, "belongs to user 0, and user 65534 opens it") : -EPERM;
        cr_assert_eq(seteuid(0), 0);
        cr_assert_eq(error, -EPERM);
        locus_tier_close(file_open(&config));
        place_end(&place);
    }
}

Test(file_name, a_file_with_a_second_name_is_refused_until_it_has_one)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    char other[100];
    snprintf(other, sizeof other, "%s/other", place.folder);
    locus_tier_close(file_open(&config));
    cr_assert_eq(link(place.path, other), 0);
    cr_assert_eq(open_fails(config, "has 2 names (hard links)"), -EPERM);
    cr_assert_eq(unlink(other), 0);
    locus_tier_close(file_open(&config));
    place_end(&place);
}

Test(file_name, a_file_system_that_gives_each_file_rights_for_others_is_named_and_keeps_no_file)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    fault_at(FAULT_MODE, 1, 1, 0644);
    cr_assert_eq(open_fails(config, "its file system gives a new file to user"), -EPERM);
    no_fault();
    cr_assert(!is_there(place.path));
    place_end(&place);
}

// Whoever fails to make a file removes it, perhaps when another has just opened it.
Test(file_name, a_name_that_leads_elsewhere_when_the_file_is_locked_is_followed_anew)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    locus_tier_close(file_open(&config));
    fault_at(FAULT_LOCK, 1, 1, 0);
    fault_path = place.path;
    struct locus_tier *tier = file_open(&config);
    cr_assert_eq(fault.seen, 2);
    no_fault();
    cr_assert(granted_of(tier).made);
    must_store(tier, 1, "a", 1);
    locus_tier_close(tier);
    tier = file_open(&config);
    cr_assert_eq(locus_tier_find(tier, locus_id_of(1), NULL), 0, "what was stored has a name");
    locus_tier_close(tier);
    place_end(&place);
}

// With a file that the open makes, and with an empty one that is there: that one stays, and stays empty.
Test(file_name, an_open_that_fails_leaves_the_folder_as_it_was)
{
    static const struct {
        enum fault_call call;
        int nth, error;
    } steps[] = {{FAULT_WRITE, 1, -EIO},        {FAULT_SYNC, 1, -EIO},        {FAULT_SYNC_ALL, 1, -EIO},
                 {FAULT_FALLOCATE, 1, -ENOSPC}, {FAULT_FALLOCATE, 1, -EFBIG}, {FAULT_SYNC_ALL, 2, -EDQUOT},
                 {FAULT_READ, 1, -EIO},         {FAULT_READ, 2, -EIO}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (int empty = 0; empty < 2; empty++) {
            struct place place = place_new();
            struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
            if (empty)
                file_made(place.path, 0600);
            fault_at(steps[i].call, steps[i].nth, steps[i].nth, steps[i].error);
            cr_assert_eq(open_fails(config, strerror(-steps[i].error)), steps[i].error);
            no_fault();
            cr_assert_eq(is_there(place.path), empty, "step %zu", i);
            struct locus_tier *tier = file_open(&config);
            must_store(tier, 1, "a", 1);
            locus_tier_close(tier);
            place_end(&place);
        }
}

Test(file_name, bytes_that_are_no_size_of_a_file_are_refused_and_nothing_is_made)
{
    static const uint64_t bytes[] = {1, 8191, UINT64_C(1) << 62, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 4095, UINT64_MAX};
    static const uint32_t unit_bytes[] = {0, 4096, 64u << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (int k = 0; k < 3; k++) {
            struct place place = place_new();
            struct locus_tier_file_config config = config_of(&place, 0, unit_bytes[k]);
            config.bytes = bytes[i];
            cr_assert_eq(open_fails(config, i < 2 ? "no units" : "too many units"), -EINVAL, "%zu %d", i, k);
            cr_assert(!is_there(place.path));
            place_end(&place);
        }
}

Test(file_name, memory_that_is_not_there_is_not_registered_and_the_tier_works)
{
    struct place place = place_new();
    struct locus_tier_file_config config = config_of(&place, 64, UNIT_OF_FILE);
    char *given = bytes_new(9000, 1), got[9000];
    config.memory = given;
    for (int i = 0; i < 2; i++) {
        config.memory_bytes = i ? SIZE_MAX : SIZE_MAX / 2;
        struct locus_tier *tier = file_open(&config);
        cr_assert(!granted_of(tier).registered_memory);
        cr_assert(granted_of(tier).registered_errno || !granted_of(tier).io_uring);
        must_store(tier, 1, given, 9000);
        must_load(tier, 1, got, 9000);
        cr_assert_eq(memcmp(given, got, 9000), 0);
        struct waited w;
        cr_assert_eq(locus_tier_store(tier, locus_id_of(2), given, UINT64_MAX, op_of(&w)), -EFBIG);
        cr_assert_eq(locus_tier_store(tier, locus_id_of(2), given, UINT64_MAX - 4095, op_of(&w)), -EFBIG);
        locus_tier_close(tier);
    }
    place_end(&place);
    free(given);
}
