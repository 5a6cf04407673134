// SPDX-License-Identifier: Apache-2.0
//
// record: what a draft says, what may be changed in it, and where it is filed.
#include <criterion/criterion.h>
#include <unistd.h>
#include <sys/stat.h>

#include "testbed/base/child.h"
#include "testbed/base/json.h"
#include "testbed/judge/tests/record_fixture.h"
#include "testbed/record/store.h"
#include "testbed/report/record/record.h"

#define RUN "0002-20261121T101500Z-a1b2c3"

static char why[1024], path[4096], folder[] = "/tmp/record-test-XXXXXX";

static struct record_fixture official(void)
{
    return (struct record_fixture){.root = "logs",
                                   .host = "bm1",
                                   .kind = "official",
                                   .run = RUN,
                                   .commit = FIXTURE_COMMIT,
                                   .dirty = "no",
                                   .seed = 1,
                                   .factor = 1,
                                   .rounds = 20,
                                   .invalid_round = -1};
}

// A folder of its own with the fixture's run in it.
static struct tb_log_view view_of(const struct record_fixture *fixture)
{
    struct tb_log_view view;
    if (strstr(folder, "XXXXXX")) {
        cr_assert(mkdtemp(folder));
        cr_assert_eq(chdir(folder), 0);
        cr_assert_eq(mkdir("experiments", 0755), 0);
        cr_assert_eq(setenv("LOCUS_HOST", "bm1", 1), 0);
    }
    cr_assert_eq(record_fixture_make(fixture, path, sizeof path), 0);
    cr_assert_eq(tb_store_load(path, &view, why, sizeof why), 0, "%s", why);
    return view;
}

static void clean_up(void)
{
    cr_assert_eq(tb_child_remove(folder), 0);
}

static char *drafted(const struct tb_log_view *view)
{
    char *text;
    cr_assert_eq(tb_record_draft(view, &text, why, sizeof why), 0);
    return text;
}

// Replaces the first `from`, which has to be there. Frees text.
static char *with(char *text, const char *from, const char *to)
{
    char *place = strstr(text, from), *out = malloc(strlen(text) + strlen(to) + 1);
    cr_assert(place && out, "'%s' is not in the text", from);
    sprintf(out, "%.*s%s%s", (int)(place - text), text, to, place + strlen(from));
    free(text);
    return out;
}

static char *filled(const struct tb_log_view *view)
{
    char *text = with(drafted(view), "<!-- What does this mean, and what does it not? -->", "It pays.\n\n### In short\nYes.");
    return with(text, "<!-- One sentence with a question mark. -->", "And on musl?");
}

#define SAYS(text, piece) cr_assert(strstr(text, piece), "not in the record: %s", piece)

Test(record, is_the_same_whenever_it_is_written, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *first = drafted(&view), *second = drafted(&view), run[TB_RUN_TEXT];
    cr_assert_str_eq(first, second);
    cr_assert_eq(tb_record_run(first, run), 0);
    cr_assert_str_eq(run, RUN);
    cr_assert_eq(tb_record_run("# 0002", run), -EINVAL);
    cr_assert_eq(tb_record_run("<!-- locus record, run ../../etc. ", run), -EINVAL);
    free(first);
    free(second);
    tb_log_view_close(&view);
}

Test(record, of_a_trial_is_not_filed, .fini = clean_up)
{
    struct record_fixture fixture = official();
    fixture.kind = "trial";
    struct tb_log_view view = view_of(&fixture); // below logs/, where someone may have moved it
    char *text = filled(&view), target[256];
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), -EINVAL);
    SAYS(why, "only an official one");
    cr_assert_neq(access("experiments/0002-glibc-churn.md", F_OK), 0);
    free(text);
    tb_log_view_close(&view);
}

// What follows from the log is not copied into the record: the log's last hash says which it was.
Test(record, is_thin, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *text = drafted(&view), head[TB_HASH_TEXT];
    size_t lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    cr_expect_leq(lines, 25u);
    tb_hash_text(&view.chain.entries[view.chain.count - 1].head, head);
    SAYS(text, "<!-- locus record, run " RUN ".");
    SAYS(text, "**Question:** Does glibc pay for churn?");
    SAYS(text, "**Verdict: survived**");
    SAYS(text, head);
    SAYS(text, view.path);
    SAYS(text, "`locus record show a1b2c3`");
    cr_expect_null(strstr(text, "|"), "a table is copied");
    free(text);
    tb_log_view_close(&view);
}

static void replicate_official(json_t *line)
{
    if (strcmp(tb_member_text(line, "t"), "hdr") == 0)
        json_object_set_new(line, "replicates", json_pack("[s, s]", RUN, "0002-20261121T101500Z-000000"));
}

Test(record, says_which_runs_it_replicates_and_what_came_of_them, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *text = drafted(&view);
    cr_expect_null(strstr(text, "replication"));
    free(text);
    tb_log_view_close(&view);
    fixture.run = "0002-20261121T111500Z-a1b2c4";
    fixture.dress = replicate_official;
    view = view_of(&fixture);
    text = filled(&view);
    SAYS(text, "This is a replication of " RUN " (survived), 0002-20261121T101500Z-000000 (not in the ledger).\n");
    cr_expect_eq(tb_record_check(&view, text, why, sizeof why), 0, "%s", why);

    // What cannot be read is not "not in the ledger".
    cr_assert(rename("logs/bm1/ledger.jsonl", "kept") == 0 && mkdir("logs/bm1/ledger.jsonl", 0777) == 0);
    char *unread = NULL;
    cr_expect_eq(tb_record_draft(&view, &unread, why, sizeof why), -EISDIR);
    SAYS(why, "ledger.jsonl: Is a directory");
    free(text);
    tb_log_view_close(&view);
}

static void refused(const struct tb_log_view *view, char *draft, const char *reason)
{
    why[0] = '\0';
    cr_assert_eq(tb_record_check(view, draft, why, sizeof why), -EINVAL, "not refused: %s", reason);
    SAYS(why, reason);
    free(draft);
}

Test(record, check_finds_every_kind_of_change, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *good = filled(&view);
    cr_assert_eq(tb_record_check(&view, good, why, sizeof why), 0, "%s", why);
    free(good);
    refused(&view, drafted(&view), "\"Interpretation\" is empty");
    refused(&view, with(filled(&view), "And on musl?", "<!-- later -->"), "\"Next question\" is empty");
    refused(&view, with(filled(&view), "And on musl?", "<!-- later"), "\"Next question\" is empty");
    refused(&view, with(filled(&view), "last hash `", "last hash `0"), "this is not what the log says");
    refused(&view, with(filled(&view), "SHA-256 `", "SHA-256 `0"), "this is not what the log says");
    refused(&view, with(filled(&view), "**Verdict: survived**", "**Verdict: falsified**"), "6: this is not what the log says");
    refused(&view, with(filled(&view), "- predicted in", "- guessed in"), "this is not what the log says");
    refused(&view, with(filled(&view), "## Next question", "## Last question"), "\"## Next question\" is missing");
    refused(&view, with(filled(&view), "It pays.", "It pays.\n## Gates\nall passed"), "begin it with ###");
    refused(&view, with(filled(&view), "And on musl?", "And on musl?\n# 0003 other\n"), "begin it with ###");
    char *start = filled(&view);
    start[40] = '\0';
    refused(&view, start, "1: this is not what the log says");
    tb_log_view_close(&view);
}

Test(record, is_filed_once_and_later_ones_are_addenda, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *text = filled(&view), target[256], sha256[TB_HASH_TEXT];
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), 0, "%s", why);
    cr_assert_str_eq(target, "experiments/0002-glibc-churn.md");
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), -EEXIST);
    SAYS(why, "filed already");
    free(text);
    tb_log_view_close(&view);
    fixture.run = "0002-20261121T111500Z-a1b2c4";
    fixture.seed = 2;
    view = view_of(&fixture);
    text = filled(&view);
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), 0, "%s", why);
    cr_assert_str_eq(target, "experiments/0002-glibc-churn.add1.md");
    struct tb_ledger *ledger;
    cr_assert_eq(tb_ledger_open(&ledger, "logs", "bm1", false, why, sizeof why), 0, "%s", why);
    const json_t *entry = tb_ledger_find(ledger, "record", "run", fixture.run);
    cr_assert_str_eq(tb_member_text(entry, "path"), target);
    cr_assert_str_eq(tb_member_text(entry, "id"), "0002");
    cr_assert_eq(tb_hash_file(target, sha256), 0);
    cr_assert_str_eq(tb_member_text(entry, "sha256"), sha256);
    tb_ledger_close(ledger);
    free(text);
    tb_log_view_close(&view);
}

Test(record, filing_goes_on_where_a_crash_left_the_file_without_its_entry, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *text = filled(&view), target[256];
    FILE *left = fopen("experiments/0002-glibc-churn.md", "w");
    cr_assert(left && fputs(text, left) >= 0 && fclose(left) == 0);
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), 0, "%s", why);
    cr_assert_str_eq(target, "experiments/0002-glibc-churn.md");
    free(text);
    tb_log_view_close(&view);
}

Test(record, is_not_filed_of_a_log_that_the_ledger_closed_otherwise, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *text = filled(&view), target[256];
    cr_assert_eq(rename("logs/bm1/ledger.jsonl", "old"), 0);
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), -EINVAL);
    fixture.run = "0002-20261121T111500Z-a1b2c4";
    tb_log_view_close(&view);
    view = view_of(&fixture);
    tb_log_view_close(&view);
    cr_assert_eq(tb_store_load("a1b2c3", &view, why, sizeof why), 0, "%s", why);
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), -EINVAL);
    SAYS(why, "locus verify");
    free(text);
    tb_log_view_close(&view);
}

Test(record, is_not_filed_of_a_log_that_took_the_place_of_another, .fini = clean_up)
{
    struct record_fixture fixture = official();
    struct tb_log_view view = view_of(&fixture);
    char *text, target[256], original[4096];
    tb_log_view_close(&view);
    strcpy(original, path);
    fixture.root = "other";
    fixture.seed = 9;
    view = view_of(&fixture); // the same run, by its name
    tb_log_view_close(&view);
    cr_assert_eq(rename(path, original), 0);
    cr_assert_eq(tb_store_load(RUN, &view, why, sizeof why), 0, "%s", why);
    text = filled(&view);
    cr_assert_eq(tb_record_file(&view, text, target, sizeof target, why, sizeof why), -EINVAL);
    SAYS(why, "has an entry for it with this last hash");
    free(text);
    tb_log_view_close(&view);
}
