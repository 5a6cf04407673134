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
#include <poll.h>
#include <stdbool.h>

#define KILL_NAME "tier_kill"
#include "locus/tier_file.h"
#include "placement/base/tests/kill.h"

#define KEYS 48u
#define DEPTH 12u
#define UNIT 16384u
#define FILE_BYTES (24u << 20)
#define BYTES_MAX (600u << 10)
#define KILL_US_MAX 120000  // arbitrary: time for some dozens of stores
#define MOST_US_MAX 60000000  // and for one store on a machine that hardly runs
#define POWER_US_MAX 150000 // and as many on a loop device

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
        error = locus_tier_store(tier, locus_id_of(own->key), own->bytes, object_make(own->key, version, own->bytes), &own->op);
        if (error) // nothing was begun, so what is acknowledged stays: the same as a store that never gets there
            tell('n', own->key, version);
    } else if (!busy[own->key] && kind < 9 && locus_tier_find(tier, locus_id_of(own->key), NULL) == 0) {
        tell(own->what = 'd', own->key, version);
        error = locus_tier_drop(tier, locus_id_of(own->key), &own->op);
    } else if (!busy[own->key] && locus_tier_find(tier, locus_id_of(own->key), NULL) == 0) {
        own->what = 'l';
        error = locus_tier_load(tier, locus_id_of(own->key), own->bytes, BYTES_MAX, &own->op);
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
    if (locus_tier_find(tier, locus_id_of(key), &bytes)) {
        if (known->acknowledged && !known->dropping)
            return wrong("lost: key %llu, version %llu was acknowledged", (unsigned long long)key,
                         (unsigned long long)known->acknowledged);
        *known = (struct known){0};
        return 0;
    }
    int error = locus_tier_load(tier, locus_id_of(key), got, sizeof got, &own.op);
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

static int kill_once(const char *folder, uint64_t us_max, struct known known[], struct count *count)
{
    FILE *held = writer_kill(write_for_ever, us_max, folder, count->version + 1);
    if (!held)
        return 1;
    int failed = check(folder, held, known, count);
    fclose(held);
    return failed;
}

// So many; and more, with ever more time for the writer, until a store was acknowledged: a busy machine may not get as far.
static int kill_many(int kills, const char *folder, struct known known[], struct count *count, int *killed)
{
    uint64_t us_max = KILL_US_MAX;
    int failed = 0;
    for (*killed = 0; !failed && (*killed < kills || (count->acknowledged == 0 && us_max < MOST_US_MAX)); ++*killed) {
        us_max *= *killed < kills ? 1 : 2;
        failed = kill_once(folder, us_max, known, count);
    }
    return failed;
}

// Passes on what the writer says within that time, or, with 0, what it has said.
static void relay(int from, uint64_t us)
{
    char bytes[4096];
    ssize_t count;
    uint64_t end_ns = now_ns() + us * 1000;
    for (struct pollfd poll = {.fd = from, .events = POLLIN};;) {
        uint64_t at_ns = now_ns();
        const struct timespec left = {.tv_nsec = at_ns < end_ns ? (long)(end_ns - at_ns) : 0};
        int said = ppoll(&poll, 1, &left, NULL);
        if (said == 1 && (count = read(from, bytes, sizeof bytes)) > 0)
            fwrite(bytes, 1, (size_t)count, stdout);
        if (us ? now_ns() >= end_ns : said != 1)
            return;
    }
}

// The writer is stopped before the power goes, and all that it has said by then is passed on. So what it had acknowledged is known
// exactly, and of each key at most one operation is under way; those that the kernel has go on until the device is gone.
static int power(const char *folder)
{
    struct victim victim;
    int status;
    if (power_on(&victim, write_for_ever, folder, 1))
        return 1;
    relay(victim.said, 20000 + random_below(POWER_US_MAX));
    kill(victim.writer, SIGSTOP);
    if (waitpid(victim.writer, &status, WUNTRACED) != victim.writer || !WIFSTOPPED(status))
        return wrong("the writer ended by itself");
    relay(victim.said, 0);
    close(victim.said);
    return power_off(&victim);
}

int main(int argc, char **argv)
{
    static struct known known[KEYS];
    struct count count = {0};
    int failed = 0, killed = 0;
    if (argc == 5 && strcmp(argv[1], "kill") == 0) {
        seed(argv[3]);
        failed = kill_many(atoi(argv[2]), argv[4], known, &count, &killed);
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
