// SPDX-License-Identifier: Apache-2.0
//
// tier_kill: a process that stores and drops without end is stopped in the middle, and what is in the tier's file then is compared
// with what it had acknowledged.
//
//   kill COUNT SEED FOLDER     COUNT times on one file: a writer, SIGKILL at a random moment, check
//   power SEED FOLDER          a writer, power loss of its ext4 at a random moment; what it said, to stdout
//   check FOLDER               the check alone, of what a writer said, from stdin
//
// The writer says over a pipe what it begins, before the call, and what is acknowledged, after done(): "s KEY VERSION" and "S KEY
// VERSION" for a store, d and D for a drop. A key has at most one operation under way. So its object must be the version that was
// acknowledged last, or the one under way; or absent, if a drop is either of them, or if nothing was acknowledged. Every byte of an
// object follows from key and version, so the check does not need the tier's own checksum.
//
// LOCUS_TIER=plain: without io_uring.
#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <linux/types.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tier_file.h"

#define KEYS 48u
#define DEPTH 12u
#define UNIT 16384u
#define FILE_BYTES (24u << 20)
#define BYTES_MAX (600u << 10)
#define KILL_US_MAX 120000  // arbitrary: time for some dozens of stores
#define POWER_US_MAX 150000 // and as many on a loop device
#define SHUTDOWN _IOR('X', 125, __u32) // EXT4_IOC_SHUTDOWN, which is in no header of the system
#define SHUTDOWN_NOLOGFLUSH 2u

static uint64_t random_state;

static uint64_t random_below(uint64_t limit) // xorshift64*
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (random_state * 0x2545f4914f6cdd1d >> 11) % limit;
}

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int wrong(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("tier_kill: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return 1;
}

// --- objects -------------------------------------------------------------------------------------------------------------------

// The length and the bytes of a version; every third can be compressed.
static uint64_t object_make(uint64_t key, uint64_t version, char *to)
{
    uint64_t state = (key + 1) * 0x9e3779b97f4a7c15 ^ version * 0xd1342543de82ef95, words[2] = {key, version};
    state ^= state >> 29;
    uint64_t bytes = sizeof words + state % (version % 4 ? 40000 : BYTES_MAX - sizeof words);
    for (uint64_t i = 0; i < bytes; i++) {
        if (version % 3 || i % 512 == 0)
            state = state * 6364136223846793005 + 1442695040888963407;
        to[i] = (char)(state >> 56);
    }
    memcpy(to, words, sizeof words);
    return bytes;
}

static struct locus_tier *tier_open(const char *folder)
{
    char path[256], why[300] = "";
    struct locus_tier *tier;
    const char *way = getenv("LOCUS_TIER");
    snprintf(path, sizeof path, "%s/tier", folder);
    struct locus_tier_file_config config = {.size = sizeof config,
                                            .path = path,
                                            .bytes = FILE_BYTES,
                                            .unit_bytes = UNIT,
                                            .depth = DEPTH,
                                            .zstd_level = 1,
                                            .no_io_uring = way && strcmp(way, "plain") == 0,
                                            .why = why,
                                            .why_bytes = sizeof why};
    int error = -EBUSY; // a killed writer's ring holds the file for a moment
    for (int i = 0; i < 400 && error == -EBUSY; i++) {
        error = locus_tier_file_open(&tier, &config);
        if (error == -EBUSY)
            usleep(5000);
    }
    if (error)
        wrong("open: %s", why);
    return error ? NULL : tier;
}

// --- the writer ----------------------------------------------------------------------------------------------------------------

struct under_way {
    struct locus_tier_op op; // first
    uint64_t key, version;
    char what;
    char *bytes;
};

static int told_to;
static bool busy[KEYS];
static struct under_way *idle[DEPTH];
static uint32_t idle_count;

static void tell(char what, uint64_t key, uint64_t version)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%c %llu %llu\n", what, (unsigned long long)key, (unsigned long long)version);
    if (write(told_to, line, (size_t)length) != length)
        _exit(0);
}

// An operation that fails is one that is not acknowledged: the end.
static void must(int error, const char *what)
{
    if (error)
        wrong("writer stops: %s: %s", what, strerror(-error));
    if (error)
        _exit(0);
}

static void done(struct locus_tier_op *op, int result)
{
    struct under_way *own = (struct under_way *)op;
    must(result, "done");
    if (own->what != 'l')
        tell(own->what == 's' ? 'S' : 'D', own->key, own->version);
    busy[own->key] = false;
    idle[idle_count++] = own;
}

static void begin(struct locus_tier *tier, struct under_way *own, uint64_t version)
{
    own->key = random_below(KEYS);
    own->version = version;
    own->op.done = done;
    uint64_t kind = random_below(10);
    int error = -EBUSY;
    if (!busy[own->key] && kind < 7) {
        tell(own->what = 's', own->key, version);
        error = locus_tier_store(tier, own->key, own->bytes, object_make(own->key, version, own->bytes), &own->op);
        if (error) // nothing was begun, so what is acknowledged stays: the same as a store that never gets there
            tell('n', own->key, version);
    } else if (!busy[own->key] && kind < 9 && locus_tier_find(tier, own->key, NULL) == 0) {
        tell(own->what = 'd', own->key, version);
        error = locus_tier_drop(tier, own->key, &own->op);
    } else if (!busy[own->key] && locus_tier_find(tier, own->key, NULL) == 0) {
        own->what = 'l';
        error = locus_tier_load(tier, own->key, own->bytes, BYTES_MAX, &own->op);
    }
    if (error && error != -EBUSY && error != -ENOSPC)
        must(error, "call");
    if (error)
        idle[idle_count++] = own;
    else
        busy[own->key] = true;
}

static void write_for_ever(const char *folder, int fd, uint64_t version)
{
    struct locus_tier *tier = tier_open(folder);
    told_to = fd;
    must(tier ? 0 : -EIO, "open");
    for (; idle_count < DEPTH; idle_count++) {
        idle[idle_count] = calloc(1, sizeof **idle);
        must(idle[idle_count] && !posix_memalign((void **)&idle[idle_count]->bytes, 4096, BYTES_MAX) ? 0 : -ENOMEM, "memory");
    }
    for (;; locus_tier_poll(tier, idle_count ? 0 : 1000000000))
        for (uint32_t i = 0; i < DEPTH && idle_count; i++)
            begin(tier, idle[--idle_count], version++);
}

static pid_t writer_start(const char *folder, int fd, uint64_t version)
{
    pid_t writer = fork();
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        write_for_ever(folder, fd, version);
    }
    return writer;
}

// --- the check -----------------------------------------------------------------------------------------------------------------

struct known {
    uint64_t acknowledged;      // version; 0: absent
    uint64_t under_way;         // version of a store; 0: none
    bool dropping;
};

struct count {
    unsigned acknowledged, objects, torn, newer;
    uint64_t version;           // the largest that was said
};

static int said_read(FILE *said, struct known known[], struct count *count)
{
    char what;
    unsigned long long key, version;
    while (fscanf(said, "%c %llu %llu\n", &what, &key, &version) == 3) {
        if (key >= KEYS)
            return wrong("a line that cannot be read");
        struct known *own = &known[key];
        if (version > count->version)
            count->version = version;
        if (what == 's' || what == 'd')
            own->under_way = what == 's' ? version : own->under_way;
        if (what == 'd')
            own->dropping = true;
        if (what == 'n')
            own->under_way = 0;
        if (what != 'S' && what != 'D')
            continue;
        *own = (struct known){.acknowledged = what == 'S' ? version : 0};
        count->acknowledged++;
    }
    return feof(said) ? 0 : wrong("lines that cannot be read");
}

static void loaded(struct locus_tier_op *op, int result)
{
    ((struct under_way *)op)->version = (uint64_t)(int64_t)result;
}

static int key_check(struct locus_tier *tier, uint64_t key, struct known *known, struct count *count)
{
    static char got[BYTES_MAX] __attribute__((aligned(4096))), expected[BYTES_MAX];
    struct under_way own = {.op.done = loaded, .version = 1};
    uint64_t bytes = 0, words[2];
    if (locus_tier_find(tier, key, &bytes)) {
        if (known->acknowledged && !known->dropping)
            return wrong("lost: key %llu, version %llu was acknowledged", (unsigned long long)key,
                         (unsigned long long)known->acknowledged);
        *known = (struct known){0};
        return 0;
    }
    int error = locus_tier_load(tier, key, got, sizeof got, &own.op);
    while (!error && own.version == 1)
        locus_tier_poll(tier, 1000000000);
    if (error || own.version)
        return wrong("torn: key %llu: %s", (unsigned long long)key, strerror(error ? -error : (int)-own.version));
    memcpy(words, got, sizeof words);
    if (words[0] != key || object_make(key, words[1], expected) != bytes || memcmp(got, expected, bytes) != 0)
        return wrong("torn: key %llu: bytes that were never stored", (unsigned long long)key);
    if (words[1] != known->acknowledged && words[1] != known->under_way)
        return wrong("lost: key %llu has version %llu; %llu was acknowledged, %llu under way", (unsigned long long)key,
                     (unsigned long long)words[1], (unsigned long long)known->acknowledged, (unsigned long long)known->under_way);
    count->newer += words[1] != known->acknowledged;
    count->objects++;
    *known = (struct known){.acknowledged = words[1]}; // a restart settles it
    return 0;
}

static int check(const char *folder, FILE *said, struct known known[], struct count *count)
{
    struct locus_tier_file_granted granted;
    int failed = said_read(said, known, count);
    struct locus_tier *tier = failed ? NULL : tier_open(folder);
    if (!tier)
        return 1;
    locus_tier_file_granted(tier, &granted);
    count->torn += (unsigned)granted.torn;
    for (uint64_t key = 0; key < KEYS && !failed; key++)
        failed = key_check(tier, key, &known[key], count);
    struct locus_tier_stats stats;
    locus_tier_stats(tier, &stats);
    if (!failed && stats.refused_checksum)
        failed = wrong("torn: a checksum was refused");
    locus_tier_close(tier);
    return failed;
}

// --- what is done to the writer ------------------------------------------------------------------------------------------------

static int kill_once(const char *folder, struct known known[], struct count *count)
{
    int ends[2], status;
    FILE *held = tmpfile();
    if (!held || pipe(ends))
        return wrong("%s", strerror(errno));
    pid_t writer = writer_start(folder, ends[1], count->version + 1);
    close(ends[1]);
    uint64_t wait_us = random_below(KILL_US_MAX);
    pid_t killer = fork();
    if (killer == 0) {
        usleep((useconds_t)wait_us);
        kill(writer, SIGKILL);
        _exit(0);
    }
    char part[4096];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;)
        fwrite(part, 1, (size_t)n, held);
    close(ends[0]);
    waitpid(killer, NULL, 0);
    if (waitpid(writer, &status, 0) != writer || !WIFSIGNALED(status))
        return wrong("the writer ended by itself");
    rewind(held);
    int failed = check(folder, held, known, count);
    fclose(held);
    return failed;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Passes on what the writer says until then; with `begun_only`, what it began and not what was acknowledged.
static void relay(FILE *from, uint64_t end_ns, bool begun_only)
{
    char line[64];
    for (struct pollfd poll = {.fd = fileno(from), .events = POLLIN};;) {
        uint64_t now = now_ns();
        const struct timespec left = {.tv_nsec = now < end_ns ? (long)(end_ns - now) : 0};
        if (ppoll(&poll, 1, &left, NULL) != 1 || !fgets(line, sizeof line, from)) {
            if (now_ns() >= end_ns)
                return;
            continue;
        }
        if (!begun_only || (line[0] != 'S' && line[0] != 'D'))
            fputs(line, stdout);
        if (now_ns() >= end_ns && !begun_only)
            return;
    }
}

// Only on a loop device: the file system that goes down must never be one that somebody lives on. What the writer acknowledges when
// the device is going or gone would have been acknowledged to nobody, but what it began may be there.
static int power(const char *folder)
{
    __u32 flags = SHUTDOWN_NOLOGFLUSH;
    struct stat status;
    int ends[2] = {-1, -1}, fd = open(folder, O_RDONLY | O_DIRECTORY);
    if (fd >= 0 && (fstat(fd, &status) || major(status.st_dev) != LOOP_MAJOR)) {
        close(fd);
        return wrong("%s: not on a loop device", folder);
    }
    pid_t writer = fd < 0 || pipe2(ends, O_CLOEXEC) ? -1 : writer_start(folder, ends[1], 1);
    FILE *from = writer < 0 ? NULL : fdopen(ends[0], "r");
    if (!from)
        return wrong("%s: %s", folder, strerror(errno));
    close(ends[1]);
    setvbuf(from, NULL, _IONBF, 0); // poll sees what no buffer has swallowed
    relay(from, now_ns() + 20000000 + random_below(POWER_US_MAX) * 1000, false);
    int failed = ioctl(fd, SHUTDOWN, &flags) ? wrong("EXT4_IOC_SHUTDOWN: %s", strerror(errno)) : 0;
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    relay(from, 0, true);
    fclose(from);
    close(fd);
    return failed;
}

static void seed(const char *text)
{
    random_state = strtoull(text, NULL, 0) * 2 + 1;
    for (int i = 0; i < 8; i++) // small seeds begin alike
        random_below(2);
}

int main(int argc, char **argv)
{
    static struct known known[KEYS];
    struct count count = {0};
    int failed = 0, killed = 0;
    if (argc == 5 && strcmp(argv[1], "kill") == 0) {
        seed(argv[3]);
        for (; killed < atoi(argv[2]) && !failed; killed++)
            failed = kill_once(argv[4], known, &count);
    } else if (argc == 4 && strcmp(argv[1], "power") == 0) {
        seed(argv[2]);
        return power(argv[3]);
    } else if (argc == 3 && strcmp(argv[1], "check") == 0) {
        failed = check(argv[2], stdin, known, &count);
    } else {
        fputs("usage: tier_kill_scenario kill COUNT SEED FOLDER | power SEED FOLDER | check FOLDER\n", stderr);
        return 2;
    }
    printf("killed %d, acknowledged %u, found %u, of these not yet acknowledged %u, torn %u\n", killed, count.acknowledged,
           count.objects, count.newer, count.torn);
    return failed;
}
