// SPDX-License-Identifier: Apache-2.0
//
// ledger: one writer, a chain that holds before anything is added to it, and a checkpoint that a person can carry away.
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/record/ledger.h"

static char folder[] = "/tmp/record_ledger_XXXXXX";
static char path[128];
static char why[1024];

static void folder_make(void)
{
    unsetenv("LOCUS_HOST");
    cr_assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/host/ledger.jsonl", folder);
}

static void folder_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(record_ledger, .init = folder_make, .fini = folder_remove);

static struct tb_ledger *open_or_create(bool create)
{
    struct tb_ledger *ledger = NULL;
    cr_assert_eq(tb_ledger_open(&ledger, folder, "host", create, why, sizeof why), 0, "%s", why);
    return ledger;
}

static void append(struct tb_ledger *ledger, const char *type, const char *run, int number)
{
    json_t *entry = json_pack("{s:s, s:s, s:i}", "t", type, "run", run, "number", number);
    cr_assert_eq(tb_ledger_append(ledger, entry), 0);
    json_decref(entry);
}

static void refused(const char *host, bool create, int error, const char *says)
{
    struct tb_ledger *ledger;
    cr_assert_eq(tb_ledger_open(&ledger, folder, host, create, why, sizeof why), error);
    cr_assert(strstr(why, says), "says: %s", why);
}

Test(record_ledger, begins_with_a_line_that_names_the_host)
{
    struct tb_ledger *ledger = open_or_create(true);
    const struct tb_chain *chain = tb_ledger_chain(ledger);
    cr_assert_eq(chain->count, 1);
    const json_t *first = chain->entries[0].object;
    cr_assert_str_eq(json_string_value(json_object_get(first, "t")), "ledger");
    cr_assert_eq(json_integer_value(json_object_get(first, "v")), 1);
    cr_assert_str_eq(json_string_value(json_object_get(first, "host")), "host");
    cr_assert_eq(json_string_length(json_object_get(first, "nonce")), 32);
    const char *time = json_string_value(json_object_get(first, "time"));
    cr_assert(strlen(time) == 20 && time[10] == 'T' && time[19] == 'Z', "%s", time);
    tb_ledger_close(ledger);
    tb_ledger_close(NULL);
}

Test(record_ledger, what_was_appended_is_there_at_once_and_when_it_is_opened_again)
{
    struct tb_ledger *ledger = open_or_create(true);
    append(ledger, "open", "one", 1);
    append(ledger, "close", "one", 2);
    append(ledger, "open", "two", 3);
    append(ledger, "open", "one", 4);
    for (int again = 0; again < 2; again++) {
        cr_assert_eq(tb_ledger_chain(ledger)->count, 5);
        const json_t *found = tb_ledger_find(ledger, "open", "run", "one");
        cr_assert_eq(json_integer_value(json_object_get(found, "number")), 4, "the last one");
        cr_assert(json_object_get(found, "time"));
        cr_assert_eq(json_integer_value(json_object_get(tb_ledger_find(ledger, "close", "run", "one"), "number")), 2);
        cr_assert_null(tb_ledger_find(ledger, "close", "run", "two"));
        cr_assert_null(tb_ledger_find(ledger, "open", "number", "1"));
        tb_ledger_close(ledger);
        ledger = open_or_create(again);
    }
    tb_ledger_close(ledger);
}

Test(record_ledger, is_not_created_by_those_who_only_look)
{
    refused("host", false, -ENOENT, "host/ledger.jsonl: No such file");
    cr_assert_neq(access(path, F_OK), 0);
}

Test(record_ledger, has_one_writer_at_a_time)
{
    struct tb_ledger *ledger = open_or_create(true);
    refused("host", true, -EWOULDBLOCK, "another run is writing");
    tb_ledger_close(ledger);
    tb_ledger_close(open_or_create(true));
}

Test(record_ledger, a_crash_before_its_first_line_does_no_harm)
{
    tb_ledger_close(open_or_create(true));
    cr_assert_eq(truncate(path, 0), 0);
    refused("host", false, -EINVAL, "ledger.jsonl: empty");
    struct tb_ledger *ledger = open_or_create(true);
    cr_assert_eq(tb_ledger_chain(ledger)->count, 1);
    tb_ledger_close(ledger);
}

Test(record_ledger, a_broken_chain_is_not_written_to)
{
    struct stat before, after;
    struct tb_ledger *ledger = open_or_create(true);
    append(ledger, "open", "one", 1);
    size_t offset = tb_ledger_chain(ledger)->entries[1].offset;
    tb_ledger_close(ledger);
    FILE *file = fopen(path, "r+");
    cr_assert(file && fseek(file, (long)offset + 10, SEEK_SET) == 0 && fputc('#', file) == '#' && fclose(file) == 0);
    stat(path, &before);
    refused("host", true, -EINVAL, "ledger.jsonl:2: changed");
    stat(path, &after);
    cr_assert_eq(before.st_size, after.st_size);
}

Test(record_ledger, a_torn_line_is_named_with_the_command_that_takes_it_away)
{
    struct stat status;
    struct tb_ledger *ledger = open_or_create(true);
    append(ledger, "open", "one", 1);
    tb_ledger_close(ledger);
    stat(path, &status);
    cr_assert_eq(truncate(path, status.st_size - 3), 0);
    refused("host", true, -EINVAL, "ledger.jsonl:2: cut off");
    char *command = strstr(why, "`truncate");
    cr_assert(command, "%s", why);
    *strchr(++command, '`') = '\0';
    cr_assert_eq(system(command), 0);
    ledger = open_or_create(true);
    cr_assert_eq(tb_ledger_chain(ledger)->count, 1);
    append(ledger, "open", "two", 2);
    tb_ledger_close(ledger);
}

Test(record_ledger, an_entry_that_did_not_fit_is_nowhere)
{
    struct stat status;
    struct tb_checkpoint checkpoint;
    struct tb_ledger *ledger = open_or_create(true);
    json_t *entry = json_pack("{s:s, s:s}", "t", "open", "run", "lost");
    stat(path, &status);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){(rlim_t)status.st_size + 9, RLIM_INFINITY});
    cr_assert_eq(tb_ledger_append(ledger, entry), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    cr_assert_null(tb_ledger_find(ledger, "open", "run", "lost"));
    tb_ledger_checkpoint(ledger, &checkpoint);
    cr_assert_eq(checkpoint.bytes, (size_t)status.st_size);
    append(ledger, "open", "two", 2);
    tb_ledger_close(ledger);
    ledger = open_or_create(false);
    cr_assert_eq(tb_ledger_chain(ledger)->count, 2);
    tb_ledger_close(ledger);
    json_decref(entry);
}

Test(record_ledger, another_hosts_ledger_is_not_taken_for_ones_own)
{
    char other[128], from[64];
    tb_ledger_close(open_or_create(true));
    snprintf(from, sizeof from, "%s/host", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    cr_assert_eq(rename(from, other), 0);
    refused("other", true, -EINVAL, "ledger.jsonl:1: the ledger of another host, 'host'");
    refused("../etc", true, -EINVAL, "cannot name a host");
    refused("..", true, -EINVAL, "cannot name a host");
    refused("", true, -EINVAL, "cannot name a host");
    refused("a-name-of-sixty-four-characters-is-one-more-than-there-is-room-fo", true, -EINVAL, "cannot name a host");
}

static void add_run(struct tb_ledger *ledger, const char *kind, const char *postulate, const char *run, const char *status,
                    const char *verdict)
{
    json_t *open = json_pack("{s:s, s:s, s:s, s:s}", "t", "open", "run", run, "kind", kind, "postulate_id", postulate);
    json_t *close = json_pack("{s:s, s:s, s:s, s:s}", "t", "close", "run", run, "status", status, "verdict", verdict);
    cr_assert_eq(tb_ledger_append(ledger, open), 0);
    cr_assert(!*status || tb_ledger_append(ledger, close) == 0);
    json_decref(open);
    json_decref(close);
}

// The ids that are expected, each with a blank behind it.
static void replicates(struct tb_ledger *ledger, size_t above, const char *postulate, const char *expected)
{
    char found[256] = "";
    json_t *runs, *run;
    size_t i;
    cr_assert_eq(tb_ledger_replicated(tb_ledger_chain(ledger), above, postulate, &runs), 0);
    cr_expect_eq(runs == NULL, !*expected, "an array that is empty");
    json_array_foreach (runs, i, run)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s ", json_string_value(run));
    cr_expect_str_eq(found, expected, "%s above %zu: %s", postulate, above, found);
    json_decref(runs);
}

Test(record_ledger, a_run_replicates_the_official_ones_that_had_a_verdict_before_it)
{
    struct tb_ledger *ledger = open_or_create(true);
    replicates(ledger, SIZE_MAX, "0001", "");
    add_run(ledger, "trial", "0001", "a", "complete", "survived");
    add_run(ledger, "official", "0001", "b", "stopped", "none (stopped)");
    add_run(ledger, "official", "0001", "c", "complete", "invalid");
    add_run(ledger, "official", "0001", "d", "complete", "unmeasurable-on-host");
    add_run(ledger, "official", "0001", "e", "", "");
    add_run(ledger, "official", "0002", "f", "complete", "survived");
    replicates(ledger, SIZE_MAX, "0001", "");
    add_run(ledger, "official", "0001", "g", "complete", "falsified");
    size_t closed = tb_ledger_chain(ledger)->count;
    add_run(ledger, "official", "0001", "h", "complete", "inconclusive (noise)");
    replicates(ledger, SIZE_MAX, "0001", "g h ");
    replicates(ledger, SIZE_MAX, "0002", "f ");
    replicates(ledger, SIZE_MAX, "0003", "");
    replicates(ledger, closed + 1, "0001", "g ");
    replicates(ledger, closed, "0001", "");
    tb_ledger_close(ledger);
}

Test(record_ledger, a_checkpoint_is_the_files_size_and_last_hash)
{
    struct tb_checkpoint now, parsed;
    char text[256], line[512], hex[TB_HASH_TEXT];
    struct stat status;
    struct tb_ledger *ledger = open_or_create(true);
    append(ledger, "open", "one", 1);
    tb_ledger_checkpoint(ledger, &now);
    tb_ledger_close(ledger);
    stat(path, &status);
    cr_assert_eq(now.bytes, (size_t)status.st_size);
    tb_hash_text(&now.head, hex);
    FILE *file = fopen(path, "r");
    while (fgets(line, sizeof line, file))
        ;
    fclose(file);
    cr_assert(strstr(line, hex), "the last line is %s", line);

    tb_checkpoint_text(&now, text, sizeof text);
    cr_assert_eq(tb_checkpoint_parse(text, &parsed), 0);
    cr_assert(strcmp(parsed.host, "host") == 0 && parsed.bytes == now.bytes);
    cr_assert_eq(memcmp(&parsed.head, &now.head, sizeof now.head), 0);
    strcat(text, "\n");
    cr_assert_eq(tb_checkpoint_parse(text, &parsed), 0);
}

#define HEX "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

Test(record_ledger, what_is_no_checkpoint_is_refused)
{
    static const char *const wrong[] = {
        "",           "host",      "host 12",         "host 12 ba78",     "host -1 " HEX,
        "h/t 1 " HEX, ".. 1 " HEX, "host 1 " HEX "0", "host 1 " HEX " x", "host 99999999999999999999 " HEX};
    struct tb_checkpoint parsed;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(tb_checkpoint_parse(wrong[i], &parsed), -EINVAL, "'%s'", wrong[i]);
    cr_assert_eq(tb_checkpoint_parse("host 1 " HEX, &parsed), 0);
}

Test(record_ledger, of_a_name_that_differs_in_case_alone_is_not_begun)
{
    tb_ledger_close(open_or_create(true));
    refused("Host", true, -EINVAL, "differs in case alone");
    refused("Host", false, -ENOENT, "No such file");
    refused("-host", true, -EINVAL, "cannot name a host");
    refused("my host", true, -EINVAL, "cannot name a host");
    tb_ledger_close(open_or_create(true)); // its own goes on
}
