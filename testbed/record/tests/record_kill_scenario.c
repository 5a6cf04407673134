// SPDX-License-Identifier: Apache-2.0
//
// record_kill: a process that writes ledger and logs without end is stopped in the middle, and what it had acknowledged is looked
// for in what remains.
//
//   kill COUNT SEED FOLDER     COUNT times: a writer in FOLDER, SIGKILL at a random moment, check
//   power SEED FOLDER          a writer in FOLDER, power loss of its ext4 at a random moment; acknowledgements to stdout
//   check FOLDER               the check alone, acknowledgements from stdin
//
// The writer acknowledges each append over a pipe after it returned; another process holds what was acknowledged: "LINES PATH", how
// many lines the writer takes to be in the file by then. A later acknowledgement of a file includes the earlier ones.
//
// Checked: every file is an unbroken chain, or torn in its last line and nowhere else; it has as many whole lines as were
// acknowledged; rounds are there without a gap; a run is opened in the ledger before its log, and a run that is closed has
// its sealed log with that hash.
#include <ftw.h>
#include <poll.h>

#define KILL_NAME "record_kill"
#include "placement/base/tests/kill.h"
#include "testbed/base/json.h"
#include "testbed/record/ledger.h"
#include "testbed/record/log.h"

#define HOST "host"
#define KILL_US_MAX 40000   // arbitrary: time for some ten runs of the writer
#define POWER_US_MAX 150000 // and as many on a loop device

// --- the writer ----------------------------------------------------------------------------------------------------------------

static void acknowledge(int fd, const char *path, size_t lines)
{
    char line[512];
    int length = snprintf(line, sizeof line, "%zu %s\n", lines, path);
    if (write(fd, line, (size_t)length) != length)
        _exit(0);
}

// An append that fails is one that is not acknowledged: the end, as for a run. Nothing else may fail.
static void must(int error, const char *what)
{
    if (error)
        fprintf(stderr, "record_kill: writer stops: %s: %s\n", what, strerror(-error));
    if (error)
        _exit(0);
}

static void append(struct tb_ledger *ledger, json_t *entry)
{
    must(entry ? tb_ledger_append(ledger, entry) : -ENOMEM, "ledger");
    json_decref(entry);
}

// Most rounds are of a real one's size; some are of a megabyte, which takes the time to be torn.
static size_t round_write(struct tb_log *log, int round)
{
    static char filling[16384];
    memset(filling, '.', sizeof filling);
    bool large = random_below(8) == 0;
    uint64_t samples = large ? 64 : 1 + random_below(12);
    for (uint64_t i = 0; i < samples; i++) {
        json_t *sample = json_pack("{s:s, s:i, s:i, s:s, s:s%}", "t", "s", "round", round, "pos", (int)i, "arm", "A", "version",
                                   filling, (size_t)(large ? sizeof filling : random_below(300)));
        must(sample ? tb_log_add(log, sample) : -ENOMEM, "log");
        json_decref(sample);
    }
    must(tb_log_flush(log), "log");
    return samples + 1 + (round == 0); // the end of the round, and before all the one shape of the samples
}

static void run_write(struct tb_ledger *ledger, const char *folder, int number, int fd)
{
    char name[64], path[256], ledger_path[256], head_text[TB_HASH_TEXT];
    struct tb_log *log;
    struct tb_hash head;
    size_t lines;
    snprintf(name, sizeof name, "run-%d.jsonl", number);
    snprintf(path, sizeof path, "%s/%s/%s", folder, HOST, name);
    snprintf(ledger_path, sizeof ledger_path, "%s/%s/ledger.jsonl", folder, HOST);
    append(ledger, json_pack("{s:s, s:s}", "t", "open", "log", name));
    acknowledge(fd, ledger_path, tb_ledger_chain(ledger)->count);
    json_t *header = json_pack("{s:s, s:i}", "t", "hdr", "v", TB_LOG_VERSION);
    must(tb_log_create(&log, path, header), "log");
    json_decref(header);
    acknowledge(fd, path, lines = 1);
    for (int round = 0, rounds = (int)random_below(6); round < rounds; round++) {
        lines += round_write(log, round);
        acknowledge(fd, path, lines);
    }
    must(tb_log_seal(log, "complete", NULL, &head, &lines), "log");
    acknowledge(fd, path, lines);
    tb_hash_text(&head, head_text);
    append(ledger, json_pack("{s:s, s:s, s:s}", "t", "close", "log", name, "log_head", head_text));
    acknowledge(fd, ledger_path, tb_ledger_chain(ledger)->count);
}

static void write_for_ever(const char *folder, int fd, uint64_t context)
{
    (void)context;
    char why[1024];
    struct tb_ledger *ledger;
    must(tb_ledger_open(&ledger, folder, HOST, true, why, sizeof why), "ledger");
    for (int number = 0;; number++)
        run_write(ledger, folder, number, fd);
}

// --- the check -----------------------------------------------------------------------------------------------------------------

struct count {
    unsigned acknowledged, torn, runs;
};

static int lines_check(const char *path, size_t lines)
{
    struct tb_chain chain;
    int error = tb_chain_load_groups(path, &chain);
    if (error)
        return wrong("lost: %zu lines of %s were acknowledged: %s", lines, path, strerror(-error));
    int failed = chain.count < lines ? wrong("lost: %zu lines of %s were acknowledged, %zu hold", lines, path, chain.count) : 0;
    tb_chain_close(&chain);
    return failed;
}

// The last acknowledgement of each file counts.
static int acknowledged_check(FILE *acknowledgements, struct count *count)
{
    static struct {
        char path[256];
        size_t lines;
    } files[1024];
    size_t lines, files_count = 0, i;
    char path[256];
    while (files_count < sizeof files / sizeof *files && fscanf(acknowledgements, "%zu %255s\n", &lines, path) == 2) {
        for (i = 0; i < files_count && strcmp(files[i].path, path); i++)
            ;
        files_count += i == files_count;
        strcpy(files[i].path, path);
        files[i].lines = lines;
        count->acknowledged++;
    }
    int failed = feof(acknowledgements) ? 0 : wrong("acknowledgements that cannot be read");
    for (i = 0; i < files_count && !failed; i++)
        failed = lines_check(files[i].path, files[i].lines);
    return failed;
}

static int chain_check(const char *path, const struct tb_chain *chain, struct count *count)
{
    struct stat status;
    count->torn += chain->torn;
    if (chain->broken_line && !chain->torn)
        return wrong("%s:%zu: %s", path, chain->broken_line, chain->broken);
    if (chain->torn && (chain->broken_line != chain->count + 1 || !strstr(chain->broken, "cut off")))
        return wrong("%s: a torn line %zu behind %zu good ones is called: %s", path, chain->broken_line, chain->count,
                     chain->broken);
    if (!chain->torn && (stat(path, &status) || (size_t)status.st_size != chain->bytes))
        return wrong("%s: bytes behind the chain", path);
    return 0;
}

static int log_check(const char *path, bool closed, const char *head_expected, struct count *count)
{
    struct tb_log_view view;
    char head[TB_HASH_TEXT] = "", why[1024] = "";
    struct stat status;
    int error = stat(path, &status) ? -errno : status.st_size == 0 ? -ENODATA : tb_log_load(path, &view, why, sizeof why);
    int failed = 0, round = -1;
    if (error == -EINVAL && !strstr(why, "cut off")) // but within the header
        return wrong("%s", why);
    if (error)
        return closed ? wrong("%s: closed in the ledger: %s", path, strerror(-error)) : 0;
    const struct tb_chain *chain = &view.chain;
    failed = chain_check(path, chain, count);
    for (size_t i = 1; i < chain->count && !failed; i++) {
        const json_t *entry = chain->entries[i].object;
        int now = (int)json_integer_value(json_object_get(entry, "round"));
        if (strcmp(tb_member_text(entry, "t"), "s") == 0 && now != round && now != ++round)
            failed = wrong("%s:%zu: round %d where %d was to come", path, i + 1, now, round);
    }
    tb_hash_text(&chain->entries[chain->count - 1].head, head);
    if (!failed && closed && (strcmp(head, head_expected) || !view.seal))
        failed = wrong("%s: closed in the ledger with another end", path);
    tb_log_view_close(&view);
    return failed;
}

// Every log that the ledger knows, and the number of those that it does not.
static int ledger_check(const char *folder, struct count *count)
{
    char path[300];
    struct tb_chain chain;
    int opened = 0, failed = 0;
    snprintf(path, sizeof path, "%s/%s/ledger.jsonl", folder, HOST);
    int error = tb_chain_load(path, &chain);
    if (error && error != -ENOENT)
        return wrong("%s: %s", path, strerror(-error));
    failed = error ? 0 : chain_check(path, &chain, count);
    for (size_t i = 0; i < chain.count && !failed; i++) {
        const json_t *entry = chain.entries[i].object;
        const json_t *next = i + 1 < chain.count ? chain.entries[i + 1].object : NULL;
        if (strcmp(tb_member_text(entry, "t"), "open"))
            continue;
        opened++;
        snprintf(path, sizeof path, "%s/%s/%s", folder, HOST, tb_member_text(entry, "log"));
        failed = log_check(path, next != NULL, tb_member_text(next, "log_head"), count);
    }
    tb_chain_close(&chain);
    count->runs += (unsigned)opened;
    snprintf(path, sizeof path, "%s/%s/run-%d.jsonl", folder, HOST, opened);
    return !failed && access(path, F_OK) == 0 ? wrong("%s: a log that was not opened in the ledger", path) : failed;
}

static int check(const char *folder, FILE *acknowledgements, struct count *count)
{
    int failed = acknowledged_check(acknowledgements, count);
    return failed ? failed : ledger_check(folder, count);
}

// --- what is done to the writer ------------------------------------------------------------------------------------------------

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

static int kill_once(const char *folder, struct count *count)
{
    FILE *held = writer_kill(write_for_ever, KILL_US_MAX, folder, 0);
    if (!held)
        return 1;
    int failed = check(folder, held, count);
    fclose(held);
    nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}

static void pass_on(const char *bytes, ssize_t count)
{
    if (write(STDOUT_FILENO, bytes, (size_t)count) != count)
        _exit(wrong("acknowledgements: %s", strerror(errno)));
}

// Passes on what the writer acknowledges, for so long; then what it has acknowledged by now.
static void relay(int from, uint64_t us)
{
    char bytes[4096];
    ssize_t count;
    uint64_t at_ns = now_ns(), end_ns = at_ns + us * 1000;
    for (struct pollfd poll = {.fd = from, .events = POLLIN}; at_ns < end_ns; at_ns = now_ns()) {
        const struct timespec left = {.tv_nsec = (long)(end_ns - at_ns)};
        if (ppoll(&poll, 1, &left, NULL) == 1 && (count = read(from, bytes, sizeof bytes)) > 0)
            pass_on(bytes, count);
    }
    fcntl(from, F_SETFL, O_NONBLOCK);
    while ((count = read(from, bytes, sizeof bytes)) > 0)
        pass_on(bytes, count);
}

// A power loss ends the writer, too; here it goes on for a moment, and what it acknowledges when the device is going or gone would
// have been acknowledged to nobody.
static int power(const char *folder)
{
    struct victim victim;
    if (power_on(&victim, write_for_ever, folder, 0))
        return 1;
    relay(victim.said, random_below(POWER_US_MAX));
    close(victim.said);
    return power_off(&victim);
}

int main(int argc, char **argv)
{
    struct count count = {0, 0, 0};
    int failed = 0, done = 0;
    if (argc == 5 && strcmp(argv[1], "kill") == 0) {
        seed(argv[3]);
        for (; done < atoi(argv[2]) && !failed; done++) {
            failed = kill_once(argv[4], &count);
            random_below(2);
        }
    } else if (argc == 4 && strcmp(argv[1], "power") == 0) {
        seed(argv[2]);
        return power(argv[3]);
    } else if (argc == 3 && strcmp(argv[1], "check") == 0) {
        failed = check(argv[2], stdin, &count);
    } else {
        fputs("usage: record_kill_scenario kill COUNT SEED FOLDER | power SEED FOLDER | check FOLDER\n", stderr);
        return 2;
    }
    printf("killed %d, acknowledged %u, runs %u, torn %u\n", done, count.acknowledged, count.runs, count.torn);
    return failed;
}
