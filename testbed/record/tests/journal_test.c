// SPDX-License-Identifier: Apache-2.0
//
// journal: both engines write the same file, fall back, and leave nothing of an append that failed. What can be lost with
// the power is for record_power.sh. Each Criterion test is a process of its own, so a filter or a limit set here ends with it.
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "testbed/record/chain.h"

static char folder[] = "/tmp/record_journal_XXXXXX";
static char path[128];

static void folder_make(void)
{
    unsetenv("LOCUS_JOURNAL");
    unsetenv("LOCUS_JOURNAL_COPY");
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
}

static void folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(record_journal, .init = folder_make, .fini = folder_remove);

static struct tb_journal *create(bool plain)
{
    struct tb_journal *journal = NULL;
    unlink(path);
    int error = tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true, .lock = true, .plain = plain});
    cr_assert_eq(error, 0, "%s: %s", path, strerror(-error));
    return journal;
}

static void expect_content(const char *expected)
{
    char content[256] = "";
    FILE *file = fopen(path, "r");
    cr_assert(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    cr_assert_str_eq(content, expected);
}

static long size_of(void)
{
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    return (long)status.st_size;
}

// From now on system call `number` fails with `error`, where `fd` >= 0 only on that descriptor.
static void forbid(int number, int error, int fd)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])), // its lower half: little endian
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)fd, 0, fd >= 0 ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        cr_skip_test("needs seccomp filters");
}

// The descriptor of the journal's file: the only one that is open on it.
static int descriptor(void)
{
    struct stat file, other;
    cr_assert_eq(stat(path, &file), 0);
    for (int fd = 3; fd < 1024; fd++)
        if (fstat(fd, &other) == 0 && other.st_ino == file.st_ino && other.st_dev == file.st_dev)
            return fd;
    cr_assert_fail("the file is not open");
    return -1;
}

Test(record_journal, both_engines_append_what_they_are_given)
{
    static char large[1 << 20];
    memset(large, 'x', sizeof large);
    for (int plain = 0; plain <= 1; plain++) {
        struct tb_journal *journal = create(plain);
        cr_assert_eq(tb_journal_append(journal, "one\n", 4), 0);
        cr_assert_eq(tb_journal_append(journal, "", 0), 0);
        cr_assert_eq(tb_journal_append(journal, "two\n", 4), 0);
        expect_content("one\ntwo\n");
        cr_assert_eq(tb_journal_append(journal, large, sizeof large), 0);
        cr_assert_eq(size_of(), (long)sizeof large + 8);
        tb_journal_close(journal);
        cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .plain = plain}), 0);
        cr_assert_eq(tb_journal_append(journal, "end", 3), 0);
        cr_assert_eq(size_of(), (long)sizeof large + 11);
        tb_journal_close(journal);
    }
}

// As an fsync in the kernel may still hold it.
Test(record_journal, gives_its_lock_back_although_something_else_holds_the_open_file)
{
    struct tb_journal *journal = create(false);
    int held = dup(descriptor());
    cr_assert_geq(held, 0);
    tb_journal_close(journal);
    cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .lock = true}), 0);
    tb_journal_close(journal);
    close(held);
}

Test(record_journal, says_which_engine_it_is)
{
    struct tb_journal *journal = create(true);
    cr_assert_str_eq(tb_journal_engine(journal), "write+fsync");
    tb_journal_close(journal);
    setenv("LOCUS_JOURNAL", "plain", 1);
    journal = create(false);
    cr_assert_str_eq(tb_journal_engine(journal), "write+fsync");
    tb_journal_close(journal);
    unsetenv("LOCUS_JOURNAL");
    journal = create(false);
    if (strcmp(tb_journal_engine(journal), "io_uring"))
        cr_skip_test("needs io_uring");
    tb_journal_close(journal);
}

static void falls_back(int error)
{
    forbid(SYS_io_uring_setup, error, -1);
    struct tb_journal *journal = create(false);
    cr_assert_str_eq(tb_journal_engine(journal), "write+fsync");
    cr_assert_eq(tb_journal_append(journal, "line\n", 5), 0);
    expect_content("line\n");
    tb_journal_close(journal);
}

Test(record_journal, a_kernel_without_io_uring_will_do)
{
    falls_back(ENOSYS);
}

Test(record_journal, a_kernel_that_forbids_io_uring_will_do)
{
    falls_back(EPERM);
}

Test(record_journal, a_ring_that_is_forbidden_after_its_setup_is_given_up)
{
    struct tb_journal *journal = create(false);
    forbid(SYS_io_uring_enter, EPERM, -1);
    cr_assert_eq(tb_journal_append(journal, "one\n", 4), 0);
    cr_assert_eq(tb_journal_append(journal, "two\n", 4), 0);
    expect_content("one\ntwo\n");
    cr_assert_str_eq(tb_journal_engine(journal), "write+fsync");
    tb_journal_close(journal);
}

// The file that is beside the journal, as copies go there.
static void expect_copy(const char *expected)
{
    char content[512] = "", copy_path[160];
    snprintf(copy_path, sizeof copy_path, "%s/copy", folder);
    FILE *file = fopen(copy_path, "r");
    cr_assert(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    cr_assert_str_eq(content, expected);
}

static void copies_begin(void)
{
    char copy_path[160];
    snprintf(copy_path, sizeof copy_path, "%s/copy", folder);
    FILE *file = fopen(copy_path, "w");
    cr_assert(file);
    fclose(file);
    setenv("LOCUS_JOURNAL_COPY", copy_path, 1);
}

Test(record_journal, every_append_is_copied_with_its_place)
{
    for (int plain = 0; plain <= 1; plain++) {
        char expected[512];
        copies_begin();
        struct tb_journal *journal = create(plain);
        snprintf(expected, sizeof expected, "0 0 %s\n", path);
        expect_copy(expected); // the file is there, and nothing is in it
        cr_assert_eq(tb_journal_append(journal, "one\n", 4), 0);
        tb_journal_close(journal);
        cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .plain = plain}), 0);
        cr_assert_eq(tb_journal_append(journal, "and two", 7), 0);
        tb_journal_close(journal);
        snprintf(expected, sizeof expected, "0 0 %s\n0 4 %s\none\n4 7 %s\nand two", path, path, path);
        expect_copy(expected);
    }
}

Test(record_journal, what_cannot_be_copied_is_not_there)
{
    copies_begin();
    struct tb_journal *journal = create(true);
    cr_assert_eq(tb_journal_append(journal, "one\n", 4), 0);
    setenv("LOCUS_JOURNAL_COPY", "/dev/full", 1);
    cr_assert_eq(tb_journal_append(journal, "two\n", 4), -ENOSPC);
    expect_content("one\n");
    copies_begin();
    cr_assert_eq(tb_journal_append(journal, "three\n", 6), 0);
    expect_content("one\nthree\n");
    tb_journal_close(journal);
}

Test(record_journal, a_file_whose_copy_cannot_begin_is_not_made)
{
    struct tb_journal *journal;
    setenv("LOCUS_JOURNAL_COPY", "/dev/full", 1);
    cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true}), -ENOSPC);
    cr_assert_neq(access(path, F_OK), 0);
    setenv("LOCUS_JOURNAL_COPY", "/nowhere/copy", 1);
    cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true}), -ENOENT);
    cr_assert_neq(access(path, F_OK), 0);
}

Test(record_journal, creates_only_what_is_not_there_and_opens_only_what_is)
{
    struct tb_journal *journal;
    struct tb_journal_config config = {.path = path};
    cr_assert_eq(tb_journal_open(&journal, &config), -ENOENT);
    config.create = true;
    cr_assert_eq(tb_journal_open(&journal, &config), 0);
    tb_journal_close(journal);
    cr_assert_eq(tb_journal_open(&journal, &config), -EEXIST);
    config.path = "/dev/null/folder/file";
    cr_assert_eq(tb_journal_open(&journal, &config), -ENOTDIR);
    config.path = "";
    cr_assert_eq(tb_journal_open(&journal, &config), -ENOENT);
    tb_journal_close(NULL);
}

Test(record_journal, makes_the_folders_above_a_new_file)
{
    struct tb_journal *journal;
    snprintf(path, sizeof path, "%s/a/b//c/file", folder);
    cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = path, .create = true}), 0);
    cr_assert_eq(tb_journal_append(journal, "line\n", 5), 0);
    expect_content("line\n");
    tb_journal_close(journal);
}

Test(record_journal, a_lock_keeps_the_second_one_out_until_it_is_closed)
{
    struct tb_journal *first = create(false), *second;
    struct tb_journal_config config = {.path = path, .lock = true};
    cr_assert_eq(tb_journal_open(&second, &config), -EWOULDBLOCK);
    tb_journal_close(first);
    cr_assert_eq(tb_journal_open(&second, &config), 0);
    tb_journal_close(second);
}

// Another file has its name by now (import.h), so nobody would ever see what is appended.
Test(record_journal, a_lock_on_a_file_without_a_name_is_refused)
{
    char nameless[64];
    struct tb_journal *journal = create(false);
    tb_journal_close(journal);
    int fd = open(path, O_RDONLY);
    cr_assert(fd >= 0 && unlink(path) == 0);
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", fd);
    cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = nameless, .lock = true}), -EWOULDBLOCK);
    close(fd);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// The kernel takes the first part of such a write and refuses the rest: a short write.
Test(record_journal, a_short_write_leaves_no_half_line)
{
    signal(SIGXFSZ, SIG_IGN);
    for (int plain = 0; plain <= 1; plain++) {
        struct tb_journal *journal = create(plain);
        limit_file_size(20);
        cr_assert_eq(tb_journal_append(journal, "short\n", 6), 0);
        cr_assert_eq(tb_journal_append(journal, "a line that does not fit\n", 25), -EFBIG);
        expect_content("short\n");
        cr_assert_eq(tb_journal_append(journal, "after\n", 6), 0, "a smaller one still fits");
        expect_content("short\nafter\n");
        limit_file_size(RLIM_INFINITY);
        tb_journal_close(journal);
    }
}

Test(record_journal, a_full_disk_leaves_no_half_line_and_can_be_used_again)
{
    static char large[1 << 20];
    memset(large, 'x', sizeof large);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", folder, "tmpfs", 0, "size=64k"))
        cr_skip_test("needs the right to mount a tmpfs");
    for (int plain = 0; plain <= 1; plain++) {
        struct tb_journal *journal = create(plain);
        cr_assert_eq(tb_journal_append(journal, "before\n", 7), 0);
        cr_assert_eq(tb_journal_append(journal, large, sizeof large), -ENOSPC);
        expect_content("before\n");
        cr_assert_eq(tb_journal_append(journal, "after\n", 6), 0);
        expect_content("before\nafter\n");
        tb_journal_close(journal);
    }
    umount(folder);
}

Test(record_journal, an_error_of_the_disk_leaves_what_was_there)
{
    struct tb_journal *journal = create(true);
    cr_assert_eq(tb_journal_append(journal, "before\n", 7), 0);
    forbid(SYS_write, EIO, descriptor());
    cr_assert_eq(tb_journal_append(journal, "lost\n", 5), -EIO);
    expect_content("before\n");
    tb_journal_close(journal);
}

Test(record_journal, a_disk_that_does_not_sync_is_not_trusted_again)
{
    struct tb_journal *journal = create(true);
    cr_assert_eq(tb_journal_append(journal, "before\n", 7), 0);
    forbid(SYS_fsync, EIO, descriptor());
    cr_assert_eq(tb_journal_append(journal, "lost\n", 5), -EUCLEAN);
    expect_content("before\n");
    cr_assert_eq(tb_journal_append(journal, "refused\n", 8), -EUCLEAN);
    expect_content("before\n");
    tb_journal_close(journal);
}

// ext4 makes a new file's name durable with the file; other file systems do not, so the power test cannot see this.
Test(record_journal, a_name_that_cannot_be_made_durable_is_no_file)
{
    struct tb_journal *journal;
    struct tb_journal_config config = {.path = path, .create = true};
    char inner[sizeof path];
    forbid(SYS_fsync, EIO, -1);
    cr_assert_eq(tb_journal_open(&journal, &config), -EIO);
    cr_assert_neq(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/a/b/file", folder);
    snprintf(inner, sizeof inner, "%s/a/b", folder);
    cr_assert_eq(tb_journal_open(&journal, &config), -EIO);
    cr_assert_neq(access(inner, F_OK), 0, "nothing is made in a folder that may vanish");
}

// Neither can be cut, one cannot be synced, the other cannot be written.
Test(record_journal, a_device_that_is_no_disk_is_never_acknowledged)
{
    static const char *const devices[] = {"/dev/null", "/dev/full"};
    for (int i = 0; i < 4; i++) {
        struct tb_journal *journal;
        cr_assert_eq(tb_journal_open(&journal, &(struct tb_journal_config){.path = devices[i / 2], .plain = i % 2}), 0);
        cr_assert_eq(tb_journal_append(journal, "line\n", 5), -EUCLEAN, "%s", devices[i / 2]);
        cr_assert_eq(tb_journal_append(journal, "line\n", 5), -EUCLEAN, "%s", devices[i / 2]);
        tb_journal_close(journal);
    }
}

static void ignore(int number)
{
    (void)number;
}

Test(record_journal, signals_neither_lose_nor_repeat_a_line)
{
    struct sigaction action = {.sa_handler = ignore}; // without SA_RESTART
    sigaction(SIGALRM, &action, NULL);
    for (int plain = 0; plain <= 1; plain++) {
        struct tb_journal *journal = create(plain);
        struct itimerval often = {{0, 150}, {0, 150}}, never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &often, NULL);
        int failed = 0;
        for (int i = 0; i < 100; i++)
            failed += tb_journal_append(journal, "0123456789\n", 11) != 0;
        setitimer(ITIMER_REAL, &never, NULL);
        cr_assert_eq(failed, 0);
        cr_assert_eq(size_of(), 1100);
        tb_journal_close(journal);
    }
}
