// SPDX-License-Identifier: Apache-2.0
//
// locus postulate: predictions, written, checked and filed before the run.

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/share.h"
#include "testbed/cli/command.h"
#include "testbed/cli/forms.h"
#include "testbed/host/head.h"
#include "testbed/measure/contender.h"
#include "testbed/postulate/postulate.h"
#include "testbed/record/git.h"
#include "testbed/record/ledger.h"
#include "testbed/record/store.h"
#include "testbed/run/official.h"
#include "testbed/run/plan.h"
#include "testbed/run/power.h"
#include "testbed/run/room/room.h"

#define LOGS "logs"

static int postulate_get(const char *number, struct tb_postulate **out)
{
    struct tb_postulate_why why;
    int rc = tb_postulate_open(number, out, &why);
    if (rc)
        tb_error("%s", why.text);
    return rc == -ENOENT ? TB_EXIT_USAGE : rc ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// All ledgers below logs/. One whose chain is broken is reported, and counts as far as it holds.
static int ledgers_open(struct tb_store *out)
{
    int rc = tb_store_add_ledgers(out, LOGS);
    if (rc)
        tb_error("%s: %s", LOGS, strerror(-rc));
    return rc ? TB_EXIT_FAILED : tb_ledgers_whole(out);
}

// --- check ----------------------------------------------------------------------------------------------------------------------

// A library that is not installed here is a need of the run, not a mistake in the prediction.
static int arms_check(const struct tb_postulate *postulate)
{
    char why[4500];
    int status = TB_EXIT_OK;
    for (uint32_t i = 0; i < postulate->arms_count; i++) {
        struct tb_arm arm;
        uint32_t count = 0;
        int rc = tb_arms_add_for(tb_plan_touch(postulate), &arm, &count, postulate->arms[i].name, why, sizeof why);
        if (!rc || rc == -ENODEV)
            continue;
        tb_error("%s: arm %s: %s", postulate->path, postulate->arms[i].key, why);
        status = TB_EXIT_FAILED;
    }
    return status;
}

// What can be known without a run. The parser has checked that the parts fit together; here, that the arms exist, that the
// postulate it supersedes is there, and that it is what was filed.
static int postulate_check(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    const struct tb_store_host *other = tb_store_otherwise(filed, postulate->id, postulate->sha256);
    char path[4096];
    int status = arms_check(postulate);
    if (postulate->supersedes[0] && tb_postulate_find(TB_POSTULATES, postulate->supersedes, path, sizeof path)) {
        tb_error("%s: it supersedes %s, which is not here", postulate->path, postulate->supersedes);
        status = TB_EXIT_FAILED;
    }
    if (other) {
        tb_error("%s: it is not what was filed (%s has another hash). Take the change back, and write a new one that supersedes it",
                 postulate->path, other->path);
        status = TB_EXIT_FAILED;
    }
    return status;
}

// Gates among the predictions are counted apart, and so are those of which nothing was tried.
static void say_counts(const struct tb_postulate *postulate)
{
    uint32_t gates = 0, blind = 0;
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        gates += postulate->predictions[i].gate;
        blind += !postulate->predictions[i].gate && tb_prediction_blind(postulate, &postulate->predictions[i]);
    }
    uint32_t count = postulate->predictions_count - gates;
    printf("%s: ok, %u prediction%s", postulate->path, count, count == 1 ? "" : "s");
    if (postulate->rules >= 2)
        printf(", %u of %s blind", blind, count == 1 ? "it" : "them");
    if (gates)
        printf(", and %u gate%s", gates, gates == 1 ? "" : "s");
    printf("\n");
}

static int check_one(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    if (postulate_check(postulate, filed))
        return TB_EXIT_FAILED;
    say_counts(postulate);
    if (tb_official_too_short(postulate))
        printf("  no official run: estimates need at least %u rounds, and this has %llu\n", TB_ROUNDS_OFFICIAL_MIN,
               (unsigned long long)postulate->rounds);
    return TB_EXIT_OK;
}

// Could this host run it? A postulate may well be for a larger one. What decides in virtual time takes no memory worth a question,
// and of an engine the model would have to be made first.
static double say_host(const struct tb_postulate *postulate)
{
    const struct tb_plan_options options = {.rounds = 0};
    struct tb_plan *plan = NULL;
    char why[1024] = "";
    double seconds = 0;
    if (tb_touch_has_own_arms(tb_plan_touch(postulate)))
        return 0;
    if (tb_plan_open(&plan, postulate, &options, why, sizeof why)) {
        printf("  on this host: no run: %s\n", why[0] ? why : "out of memory");
        return 0;
    }
    int error = tb_room(&plan->rounds, why, sizeof why);
    if (why[0])
        printf("  on this host: %s%s\n", why, error ? ": a run would be unmeasurable-on-host" : "");
    seconds = tb_room_seconds(&plan->rounds);
    tb_plan_close(plan);
    return seconds;
}

// What the design can tell on this host, and how long it takes, as far as runs of this host show; else by the bytes alone.
static int say_power(const struct tb_postulate *postulate, double least_s)
{
    struct tb_store store = {0};
    struct tb_power power;
    char host[64], time[64];
    int rc = tb_host_name(host, sizeof host);
    if (rc || tb_store_add(&store, LOGS) || tb_store_add(&store, "build/logs")) {
        tb_store_close(&store);
        return rc ? TB_EXIT_OK : TB_EXIT_FAILED; // a host without a name has no runs
    }
    tb_power(postulate, &store, host, &power);
    if (!(power.process_s > 0) && *tb_room_time(least_s, time, sizeof time))
        printf("  a run takes %s\n", time);
    if (!power.from)
        printf("  no run of %s has two equal arms, so nothing is known of its noise: a trial would show it\n", host);
    else
        printf("  two equal arms differ by %.2g to %.2g %% from round to round on %s (sd, %s%s)\n", 100 * power.sd_least,
               100 * power.sd_most, host, power.from->run, power.paired_by_laps ? ", paired by laps" : "");
    for (size_t i = 0; i < power.looks_count; i++) {
        printf("  after %llu rounds a ratio is known within +/- %.2g %%", (unsigned long long)power.looks[i],
               100 * power.half_width[i]);
        if (power.process_s > 0)
            printf(", which takes about %.2g min", power.seconds[i] / 60);
        printf("\n");
    }
    tb_store_close(&store);
    return TB_EXIT_OK;
}

static int check_all(const struct tb_store *filed)
{
    struct tb_postulates all;
    int rc = tb_postulates_load(&all), status = rc ? TB_EXIT_FAILED : TB_EXIT_OK;
    if (rc)
        tb_error(TB_POSTULATES ": %s", strerror(-rc));
    for (size_t i = 0; i < all.count; i++) {
        const struct tb_postulate_file *file = &all.files[i];
        if (!file->postulate)
            tb_error("%s", file->why.text);
        if (!file->postulate || check_one(file->postulate, filed))
            status = TB_EXIT_FAILED;
        if (i > 0 && strncmp(file[-1].path, file->path, strlen(TB_POSTULATES "/NNNN-")) == 0) {
            tb_error("%s: another file has this number, too", file->path);
            status = TB_EXIT_FAILED;
        }
    }
    tb_postulates_close(&all);
    return status;
}

static int check(const char *const numbers[], int count)
{
    struct tb_store filed = {0};
    int status = ledgers_open(&filed);
    if (count == 0) {
        int all = check_all(&filed);
        status = all ? all : status;
    }
    for (int i = 0; i < count; i++) {
        struct tb_postulate *postulate = NULL;
        int one = postulate_get(numbers[i], &postulate);
        if (!one)
            one = check_one(postulate, &filed);
        if (!one)
            one = say_power(postulate, say_host(postulate));
        status = one ? one : status;
        tb_postulate_close(postulate);
    }
    tb_store_close(&filed);
    return status;
}

// --- the command ---

// --- new ------------------------------------------------------------------------------------------------------------------------
//
// A file that teaches, made of postulate/TEMPLATE.md. Every key is there and explained, and what only the author can know is left
// empty, so that `check` refuses it until it is filled in.

#define TEMPLATE "postulate/TEMPLATE.md"
#define ID "\"NNNN\""
#define TITLE "\ntitle:"

static bool slug_good(const char *slug)
{
    size_t length = strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length < 64 && slug[length] == '\0' && slug[0] != '-';
}

// One more than the highest number there is.
static int number_next(unsigned *out)
{
    struct tb_postulates all;
    int rc = tb_postulates_load(&all);
    *out = 1;
    for (size_t i = 0; i < all.count; i++) {
        unsigned long number = strtoul(all.files[i].path + strlen(TB_POSTULATES "/"), NULL, 10);
        if (number < 9999 && number >= *out)
            *out = (unsigned)number + 1;
    }
    tb_postulates_close(&all);
    if (rc)
        tb_error(TB_POSTULATES ": %s", strerror(-rc));
    return rc ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// The new file's text, malloc'd: the template with the number and the title (quoted, or "") in their places. NULL after a report.
static char *compose(unsigned number, const char *title)
{
    char path[4096], why[1024], *template = NULL, *text = NULL;
    size_t bytes = 0;
    if (tb_share(TEMPLATE, path, sizeof path, why, sizeof why)) {
        tb_error("%s", why);
        return NULL;
    }
    int rc = tb_file_read(path, &template, &bytes);
    const char *id = rc ? NULL : memmem(template, bytes, ID, strlen(ID));
    const char *behind = id ? memmem(id, bytes - (size_t)(id - template), TITLE, strlen(TITLE)) : NULL;
    if (!behind) {
        tb_error("%s: it is no template: it needs the lines id: " ID " and title:", path);
    } else {
        const char *rest = id + strlen(ID);
        behind += strlen(TITLE);
        if (asprintf(&text, "%.*s\"%04u\"%.*s %s%.*s", (int)(id - template), template, number, (int)(behind - rest), rest, title,
                     (int)(template + bytes - behind), behind) < 0)
            text = NULL;
    }
    free(template);
    return text;
}

static int postulate_new(const char *slug, const char *title)
{
    char path[256];
    unsigned number;
    if (!slug_good(slug)) {
        tb_error("'%s': a slug is small letters, digits and '-', at most 63, such as glibc-on-churn", slug);
        return TB_EXIT_USAGE;
    }
    json_t *string = json_string(title ? title : "");
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL; // a JSON string is a quoted one of YAML
    json_decref(string);
    if (!quoted) {
        tb_error("--title: it is not UTF-8");
        return TB_EXIT_USAGE;
    }
    int status = number_next(&number);
    char *text = status ? NULL : compose(number, title ? quoted : "");
    if (text) {
        snprintf(path, sizeof path, TB_POSTULATES "/%04u-%s.md", number, slug);
        int rc = tb_file_create(path, text);
        if (rc)
            tb_error("%s: %s", path, tb_output_why(rc));
        status = rc ? TB_EXIT_FAILED : TB_EXIT_OK;
    }
    if (text && !status)
        printf("%s\nfill it in, then: locus postulate check %04u\n", path, number);
    free(text);
    free(quoted);
    return text ? status : TB_EXIT_FAILED;
}

// --- file -----------------------------------------------------------------------------------------------------------------------
//
// Enters a postulate into a host's ledger. From then on its hash is known, and it must not change. What is filed has to be in HEAD
// byte for byte, so that every clone of the repository has it. The blob itself is compared, not git's opinion about the working
// tree, which can be told to look away (assume-unchanged).

static int committed(const struct tb_postulate *postulate)
{
    static const char *const inside[] = {"rev-parse", "--is-inside-work-tree", NULL};
    char object[4096 + 8], sha256[TB_HASH_TEXT], *blob = NULL, answer[16];
    snprintf(object, sizeof object, "HEAD:./%s", postulate->path);
    const char *const show[] = {"cat-file", "blob", object, NULL};
    int rc = tb_git_line(NULL, inside, answer, sizeof answer);
    if (rc == -ENOENT)
        tb_error("there is no git program here, and only git can show that a prediction came before its run: install git");
    else if (rc == -ECHILD)
        tb_error(
            "this folder is in no git repository (or git refuses it: see git status): a prediction counts only if it is committed");
    else if (rc)
        tb_error("git: %s", strerror(-rc));
    if (rc)
        return TB_EXIT_FAILED;
    rc = tb_git(NULL, show, &blob);
    if (!rc)
        rc = tb_hash_memory(blob, strlen(blob), sha256);
    if (rc)
        tb_error("postulate %s is not committed (git add %s && git commit). A prediction counts only if it came before the run",
                 postulate->id, postulate->path);
    else if (strcmp(sha256, postulate->sha256) != 0)
        tb_error("%s is not what is committed (see: git diff HEAD -- %s). Commit it first", postulate->path, postulate->path);
    free(blob);
    return rc || strcmp(sha256, postulate->sha256) != 0 ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// A file that came once, and never again, is what history can prove without the ledger's help.
static int committed_once(const struct tb_postulate *postulate)
{
    const char *const log[] = {"rev-list", "--full-history", "--abbrev-commit", "HEAD", "--", postulate->path, NULL};
    char *commits = NULL;
    int rc = tb_git(NULL, log, &commits);
    size_t count = 0;
    for (const char *c = commits; !rc && *c; c++)
        count += *c == '\n';
    free(commits);
    if (!rc && count == 1)
        return TB_EXIT_OK;
    tb_error("%s was committed %zu times, and a postulate comes once: give the text a number and a file of its own",
             postulate->path, count);
    return TB_EXIT_FAILED;
}

static int append(struct tb_ledger *ledger, json_t *entry)
{
    int rc = entry ? tb_ledger_append(ledger, entry) : -ENOMEM;
    json_decref(entry);
    return rc;
}

// Both entries where they are missing: a crash between them is put right by filing once more. -EEXIST: filed with another hash,
// by someone who was faster.
static int enter(struct tb_ledger *ledger, const struct tb_postulate *postulate, bool *new)
{
    const json_t *entry = tb_ledger_filed(ledger, postulate->id);
    const char *sha256 = json_string_value(json_object_get(entry, "sha256"));
    int rc = entry && (!sha256 || strcmp(sha256, postulate->sha256) != 0) ? -EEXIST : 0;
    *new = !entry;
    if (*new)
        rc = append(ledger, json_pack("{s:s, s:s, s:s, s:s}", "t", "postulate", "id", postulate->id, "path", postulate->path,
                                      "sha256", postulate->sha256));
    if (!rc && postulate->supersedes[0] && !tb_ledger_find(ledger, "supersede", "by", postulate->id))
        rc = append(ledger, json_pack("{s:s, s:s, s:s}", "t", "supersede", "id", postulate->supersedes, "by", postulate->id));
    return rc;
}

static int file_in(const char *host, const struct tb_postulate *postulate)
{
    struct tb_ledger *ledger = NULL;
    struct tb_checkpoint checkpoint;
    char why[4500], text[256];
    bool new = false;
    if (tb_ledger_open(&ledger, LOGS, host, true, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    int rc = enter(ledger, postulate, &new);
    if (rc)
        tb_error("%s/%s/ledger.jsonl: %s", LOGS, host, strerror(-rc));
    tb_ledger_checkpoint(ledger, &checkpoint);
    tb_ledger_close(ledger);
    if (rc)
        return TB_EXIT_FAILED;
    tb_checkpoint_text(&checkpoint, text, sizeof text);
    printf("%s %s in %s/%s/ledger.jsonl\nsha256      %s\ncheckpoint  %s\n", postulate->path,
           new ? "filed" : "was filed already, unchanged,", LOGS, host, postulate->sha256, text);
    return TB_EXIT_OK;
}

static int postulate_file(const char *number, const char *host)
{
    struct tb_postulate *postulate = NULL;
    struct tb_store filed = {0};
    char own[64];
    if (!host && tb_host_name(own, sizeof own)) {
        tb_error("this host has no usable name: give one with --host NAME");
        return TB_EXIT_USAGE;
    }
    int status = postulate_get(number, &postulate);
    if (!status)
        status = ledgers_open(&filed);
    if (!status)
        status = postulate_check(postulate, &filed);
    if (!status)
        status = committed(postulate);
    if (!status && !tb_store_last(&filed, "postulate", "id", postulate->id, NULL))
        status = tb_official_refuse_short(postulate) ? TB_EXIT_FAILED : committed_once(postulate);
    if (!status)
        status = file_in(host ? host : own, postulate);
    tb_store_close(&filed);
    tb_postulate_close(postulate);
    return status;
}

// --- the command ----------------------------------------------------------------------------------------------------------------

enum { KEY_TITLE = 1000, KEY_HOST, WORDS_MAX = 256 };

struct arguments {
    const char *words[WORDS_MAX]; // the action, then its arguments
    int count;
    const char *title, *host;
};

static const struct argp_option options[] = {
    {"title", KEY_TITLE, "TEXT", 0, "new: the title", 0},
    {"host", KEY_HOST, "NAME", 0, "file: whose ledger (LOCUS_HOST, or this host's name)", 0},
    {0},
};

static const char documentation[] =
    "Predictions in postulates/NNNN-slug.md, filed before the run that tests them.\v"
    "  new SLUG          writes the next number's file, with every key explained\n"
    "  check [NNNN...]   reads all or these, and says what is wrong; of these also what memory and time they take here\n"
    "  file NNNN         enters one into this host's ledger, logs/HOST/ledger.jsonl\n\n"
    "A postulate is the whole experiment: `locus run NNNN` runs its design. `locus postulate list` shows them all.\n\n"
    "A prediction counts only if it came before its run, so what is filed has to be committed, and is never edited "
    "afterwards: an official run and `locus verify` compare its hash. Whoever knows better writes a new one with "
    "`supersedes: \"NNNN\"`.\n\n"
    "In cells of touch pins, such as zipf/pins/4t/64r, arms are ways to hold a range that others hold as well: pages (the "
    "arena's pin), count (a plain atomic count, which is the bound), spin (a lock around a count) and rwlock.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus postulate new glibc-on-churn --title 'glibc pays for churn'\n"
    "  locus postulate check 0005\n"
    "  git add postulates && git commit -m 'Postulate 0005'\n"
    "  locus postulate file 0005\n\n"
    "Exit status: 0 done, 1 something is wrong with a postulate or its ledger, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case KEY_TITLE: arguments->title = argument; return 0;
    case KEY_HOST: arguments->host = argument; return 0;
    case ARGP_KEY_ARG:
        if (arguments->count == WORDS_MAX)
            return tb_cli_bad(state, "more than %d arguments", WORDS_MAX);
        arguments->words[arguments->count++] = argument;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static int usage(const char *action, const char *form, const char *too_much)
{
    if (too_much)
        tb_error("unexpected argument '%s': it is `locus postulate %s` (see: locus postulate --help)", too_much, form);
    else
        tb_error("locus postulate %s: it is `locus postulate %s` (see: locus postulate --help)", action, form);
    return TB_EXIT_USAGE;
}

static int act(const struct arguments *arguments)
{
    const char *action = arguments->count ? arguments->words[0] : "", *const *words = arguments->words + 1;
    int count = arguments->count - 1;
    bool new = strcmp(action, "new") == 0, file = strcmp(action, "file") == 0;
    if ((arguments->title && !new) || (arguments->host && !file)) {
        tb_error("--title is for new, --host for file (see: locus postulate --help)");
        return TB_EXIT_USAGE;
    }
    if (new)
        return count == 1 ? postulate_new(words[0], arguments->title) : usage("new", "new SLUG [--title TEXT]", words[1]);
    if (strcmp(action, "check") == 0)
        return check(words, count);
    if (file)
        return count == 1 ? postulate_file(words[0], arguments->host) : usage("file", "file NNNN [--host NAME]", words[1]);
    if (action[0])
        tb_error("postulate: '%s' is not new, check or file (see: locus postulate --help)", action);
    else
        tb_error("postulate: which of new, check and file? (see: locus postulate --help)");
    return TB_EXIT_USAGE;
}

static int command(int argc, char **argv)
{
    static struct arguments arguments;
    const struct argp argp = {options, parse, "new SLUG\ncheck [NNNN...]\nfile NNNN", documentation, NULL, NULL, NULL};
    int status = tb_cli_parse(&argp, "postulate", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("postulate");
    if (status)
        return status;
    status = act(&arguments);
    int flushed = tb_cli_flush();
    return status ? status : flushed;
}

TB_COMMAND(100, "postulate", "new, check, file: predictions before the run *", command);
