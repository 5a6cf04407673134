// SPDX-License-Identifier: Apache-2.0
//
// tier_full FOLDER: a tier in a file on a file system that is really full, which FOLDER is on. It has 4 to 64 MiB, and nobody else
// uses it: a file of ballast takes what is left. Prints TAP.
//
// LOCUS_TIER=plain: without io_uring.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locus/tier_file.h"

#define UNIT 4096u
#define FILE_BYTES (UINT64_C(1) << 20)
#define BYTES 3000u // of an object: a unit each

static char path[200], ballast[200], why[300], engine[16] = "io_uring";
static struct locus_tier *tier;
static char bytes[BYTES] __attribute__((aligned(4096))), got[BYTES] __attribute__((aligned(4096)));
static uint64_t version_of[256];

#define NEED(condition, ...)                                                                                                       \
    do {                                                                                                                           \
        if (!(condition))                                                                                                          \
            return wrong(__VA_ARGS__);                                                                                             \
    } while (0)

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("# ", stdout);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    return 1;
}

// --- the disk ------------------------------------------------------------------------------------------------------------------

// Takes all room but `spare` blocks of 4 KiB.
static int fill(int spare)
{
    static const char block[4096] = {1};
    int fd = open(ballast, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    NEED(fd >= 0, "ballast: %s", strerror(errno));
    while (write(fd, block, sizeof block) == (ssize_t)sizeof block)
        ;
    int error = errno;
    struct stat status;
    bool cut = fstat(fd, &status) == 0 && ftruncate(fd, status.st_size / 4096 * 4096 - spare * 4096) == 0;
    close(fd);
    NEED(error == ENOSPC && cut, "the disk is not full but says: %s", strerror(error));
    return 0;
}

// Takes the room from the file that it does not use, as a copy that is made with holes does.
static int make_holes(void)
{
    static const char nothing[4096];
    char block[4096];
    int fd = open(path, O_RDWR | O_CLOEXEC), count = 0;
    NEED(fd >= 0, "%s", strerror(errno));
    for (off_t at = 0; pread(fd, block, sizeof block, at) == (ssize_t)sizeof block; at += (off_t)sizeof block)
        if (memcmp(block, nothing, sizeof block) == 0)
            count += fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, sizeof block) == 0;
    close(fd);
    NEED(count > 100, "no holes");
    return 0;
}

// --- the tier ------------------------------------------------------------------------------------------------------------------

static int tier_open(void)
{
    const struct locus_tier_file_config config = {.size = sizeof config,
                                                  .path = path,
                                                  .bytes = FILE_BYTES,
                                                  .unit_bytes = UNIT,
                                                  .no_io_uring = strcmp(engine, "plain") == 0,
                                                  .why = why,
                                                  .why_bytes = sizeof why};
    int error = -EBUSY; // a ring that has just been closed may hold the file for a moment
    for (int i = 0; i < 400 && error == -EBUSY; i++) {
        error = locus_tier_file_open(&tier, &config);
        if (error == -EBUSY)
            usleep(5000);
    }
    return error;
}

struct waited {
    struct locus_tier_op op; // first
    int calls, result;
};

static void waited_done(struct locus_tier_op *op, int result)
{
    ((struct waited *)op)->calls++;
    ((struct waited *)op)->result = result;
}

static int outcome(struct waited *waited, int error)
{
    while (!error && !waited->calls)
        locus_tier_poll(tier, 1000000000);
    return error ? error : waited->result;
}

static void object_make(uint64_t key, uint64_t version)
{
    uint64_t state = key * 0x9e3779b97f4a7c15 + version;
    for (uint32_t i = 0; i < BYTES; i++, state = state * 6364136223846793005 + 1442695040888963407)
        bytes[i] = (char)(state >> 56);
}

static int store(uint64_t key, uint64_t version)
{
    struct waited waited = {.op.done = waited_done};
    object_make(key, version);
    int error = outcome(&waited, locus_tier_store(tier, locus_id_of(key), bytes, BYTES, &waited.op));
    if (!error)
        version_of[key] = version;
    return error;
}

static int drop(uint64_t key)
{
    struct waited waited = {.op.done = waited_done};
    int error = outcome(&waited, locus_tier_drop(tier, locus_id_of(key), &waited.op));
    if (!error)
        version_of[key] = 0;
    return error;
}

// Is each object that was acknowledged here, and whole, and no other?
static int all_are_whole(const char *when)
{
    for (uint64_t key = 0; key < 256; key++) {
        struct waited waited = {.op.done = waited_done};
        int error = outcome(&waited, locus_tier_load(tier, locus_id_of(key), got, BYTES, &waited.op));
        NEED(error == (version_of[key] ? 0 : -ENOENT), "%s: key %d: %s", when, (int)key, strerror(-error));
        object_make(key, version_of[key]);
        NEED(error || memcmp(got, bytes, BYTES) == 0, "%s: key %d has other bytes", when, (int)key);
    }
    return 0;
}

static int begin(uint64_t objects)
{
    memset(version_of, 0, sizeof version_of);
    int error = tier_open();
    NEED(!error, "%s", why);
    for (uint64_t key = 0; key < objects; key++)
        NEED(store(key, 1) == 0, "store %d", (int)key);
    return 0;
}

static int restart(const char *when)
{
    locus_tier_close(tier);
    tier = NULL;
    int error = tier_open();
    NEED(!error, "%s: %s", when, why);
    return all_are_whole(when);
}

// --- the cases -----------------------------------------------------------------------------------------------------------------

// There is no room for the first block; and then for it but not for the rest.
static int a_file_that_does_not_fit_is_refused_in_one_line_and_made_when_it_does(void)
{
    struct stat status;
    for (int spare = 0; spare <= 64; spare += 64) {
        if (fill(spare))
            return 1;
        int error = tier_open();
        NEED(error == -ENOSPC, "open: %s", strerror(-error));
        NEED(strstr(why, "No space left on device") && !strchr(why, '\n'), "it says: %s", why);
        NEED(stat(path, &status) && errno == ENOENT, "a file stays that has no room");
    }
    unlink(ballast);
    return begin(10) || all_are_whole("made");
}

static int a_full_disk_takes_nothing_from_a_file_that_has_its_space(void)
{
    struct locus_tier_stats stats;
    if (begin(20) || fill(0))
        return 1;
    for (uint64_t key = 10; key < 15; key++)
        NEED(store(key, 2) == 0, "store %d again", (int)key);
    locus_tier_stats(tier, &stats);
    for (uint64_t key = 20; key < stats.units; key++)
        NEED(store(key, 1) == 0, "store %d", (int)key);
    NEED(store(255, 1) == -ENOSPC, "the tier has no room left");
    NEED(locus_tier_why(tier)[0] == '\0', "it says: %s", locus_tier_why(tier));
    NEED(drop(3) == 0 && store(255, 1) == 0, "room that a drop gave back is used");
    return all_are_whole("full") || restart("full, opened again");
}

// The bytes of an object find no room: its store fails alone. When there is room, the same tier uses it.
static int a_store_without_room_for_its_bytes_fails_alone_and_succeeds_later(void)
{
    if (begin(20))
        return 1;
    locus_tier_close(tier);
    if (make_holes() || fill(0) || tier_open())
        return wrong("%s", why);
    int first = store(100, 1), again = store(5, 2);
    NEED(first == -ENOSPC && again == -ENOSPC, "%s, and of a replacement: %s", strerror(-first), strerror(-again));
    NEED(locus_tier_why(tier)[0] == '\0', "it says: %s", locus_tier_why(tier));
    if (all_are_whole("full"))
        return 1;
    unlink(ballast);
    NEED(store(100, 1) == 0 && store(5, 2) == 0, "there is room again");
    return all_are_whole("with room") || restart("with room, opened again");
}

// The bytes find room and the header does not: then nothing more is stored until the file is opened again.
static int a_header_without_room_ends_all_stores_and_no_loads_until_a_restart(void)
{
    if (begin(20))
        return 1;
    locus_tier_close(tier);
    if (make_holes() || fill(1) || tier_open())
        return wrong("%s", why);
    int error = store(100, 1);
    NEED(error == -ENOSPC, "%s", strerror(-error));
    const char *says = locus_tier_why(tier);
    NEED(strstr(says, "header") && strstr(says, "No space left on device") && !strchr(says, '\n'), "it says: %s", says);
    NEED(store(101, 1) == -EIO && drop(1) == -EIO, "no more stores and drops");
    if (all_are_whole("refusing"))
        return 1;
    unlink(ballast);
    if (restart("with room"))
        return 1;
    NEED(store(100, 1) == 0 && drop(1) == 0 && store(5, 2) == 0, "with room it goes on: %s", locus_tier_why(tier));
    return all_are_whole("with room") || restart("with room, opened again");
}

#define CASE(function) .name = #function, .run = function

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } cases[] = {{CASE(a_file_that_does_not_fit_is_refused_in_one_line_and_made_when_it_does)},
                 {CASE(a_full_disk_takes_nothing_from_a_file_that_has_its_space)},
                 {CASE(a_store_without_room_for_its_bytes_fails_alone_and_succeeds_later)},
                 {CASE(a_header_without_room_ends_all_stores_and_no_loads_until_a_restart)}};
    int failed = 0;
    if (argc != 2) {
        fputs("usage: tier_full_scenario FOLDER\n", stderr);
        return 2;
    }
    if (getenv("LOCUS_TIER"))
        snprintf(engine, sizeof engine, "%s", getenv("LOCUS_TIER"));
    snprintf(path, sizeof path, "%s/tier", argv[1]);
    snprintf(ballast, sizeof ballast, "%s/ballast", argv[1]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int result = cases[i].run();
        printf("%s - %s_%s\n", result ? "not ok" : "ok", cases[i].name, engine);
        failed |= result;
        locus_tier_close(tier);
        tier = NULL;
        unlink(path);
        unlink(ballast);
    }
    return failed;
}
