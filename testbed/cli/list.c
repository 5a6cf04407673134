// SPDX-License-Identifier: Apache-2.0
//
// locus list: the experiments, and how far each has come: predicted, filed, decided.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/commands.h"
#include "testbed/host/head.h"
#include "testbed/postulate/agree.h"
#include "testbed/record/store.h"
#include "testbed/report/board/board.h"

#define ROOT "logs"

struct arguments {
    const char *logs;
    bool json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "One JSON object", 0},
    {"logs", 'l', "FOLDER", 0, "Whose ledgers are asked for verdicts (logs; trials are in build/logs)", 0},
    {0},
};

static const char documentation[] =
    "The experiments in this program: number, question, whether its prediction is there and filed, and the last verdict.\v"
    "postulate: yes; missing; broken (it cannot be read) or differs (it speaks of something else than the experiment runs): see "
    "locus postulate check. filed: when it was entered into a ledger; EDITED when it is not what was filed. The verdict is the "
    "latest of any host; where that was an emulated guest, a line says so.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus list\n"
    "  locus list --logs build/logs      verdicts of trial runs\n"
    "  locus list --json | jq -r '.experiments[] | select(.verdict == null).id'\n\n"
    "Exit status: 0 done, 1 a ledger is broken, 2 bad input.";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    switch (key) {
    case 'j': arguments->json = true; return 0;
    case 'l': arguments->logs = argument; return 0;
    case ARGP_KEY_ARG: return tb_cli_bad(state, "unexpected argument '%s' (see: locus list --help)", argument);
    default: return ARGP_ERR_UNKNOWN;
    }
}

// What is known about one experiment. The texts are borrowed from the ledgers; NULL where there is none.
struct standing {
    const char *postulate;      // "yes", "missing", "broken", "differs"
    const char *filed;          // when
    bool edited;
    const char *verdict, *verdict_run, *verdict_host, *verdict_time;
    const char *guest;          // the emulated machine of that run
};

// NULL where there is none.
static const char *text(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

static void standing(const struct tb_experiment *experiment, const struct tb_store *filed, struct standing *out)
{
    struct tb_postulate *postulate = NULL;
    struct tb_postulate_why why;
    const struct tb_store_host *host = NULL;
    char path[4096], differs[1024], run[16];
    *out = (struct standing){.postulate = "yes"};
    if (tb_postulate_find("postulates", experiment->id, path, sizeof path))
        out->postulate = "missing";
    else if (tb_postulate_load(path, &postulate, &why))
        out->postulate = "broken";
    else if (tb_postulate_agrees(postulate, experiment, differs, sizeof differs))
        out->postulate = "differs";
    out->filed = text(tb_store_last(filed, "postulate", "id", experiment->id, NULL), "time");
    out->edited = postulate && tb_store_otherwise(filed, experiment->id, postulate->sha256);
    snprintf(run, sizeof run, "%s-*", experiment->id);
    const json_t *close = tb_store_last(filed, "close", "run", run, &host);
    out->verdict = text(close, "verdict");
    out->verdict_run = text(close, "run");
    out->verdict_time = text(close, "time");
    out->verdict_host = host ? host->name : NULL;
    out->guest = text(close, "emulated");
    tb_postulate_close(postulate);
}

static void print_text(const struct tb_experiment *experiment, const struct standing *standing)
{
    char filed[11], verdict[64];
    tb_text_clean(standing->edited ? "EDITED" : standing->filed ? standing->filed : "no", true, filed, sizeof filed);
    tb_text_clean(standing->verdict ? standing->verdict : "none yet", true, verdict, sizeof verdict);
    printf("%-6s  %-9s  %-10s  %-26s  %s\n", experiment->id, standing->postulate, filed, verdict, experiment->slug);
    printf("%8s", "");
    tb_text_wrap(stdout, 80, 8, 8, experiment->question);
    if (standing->guest) {
        char guest[64];
        tb_text_clean(standing->guest, true, guest, sizeof guest);
        printf("%8sThe verdict is of an emulated guest (%s): counts, no times.\n", "", guest);
    }
}

static int add_json(json_t *array, const struct tb_experiment *experiment, const struct standing *standing)
{
    json_t *verdict = json_null();
    if (standing->verdict)
        verdict = json_pack("{s:s, s:s?, s:s?, s:s?, s:s?}", "verdict", standing->verdict, "run", standing->verdict_run, "host",
                            standing->verdict_host, "time", standing->verdict_time, "emulated", standing->guest);
    return json_array_append_new(array,
                                 json_pack("{s:s, s:s, s:s, s:s, s:s?, s:b, s:o}", "id", experiment->id, "slug", experiment->slug,
                                           "question", experiment->question, "postulate", standing->postulate, "filed",
                                           standing->filed, "edited", standing->edited, "verdict", verdict));
}

static int by_number(const void *left, const void *right)
{
    const struct tb_experiment *const *a = left, *const *b = right;
    return strcmp((*a)->id, (*b)->id);
}

// The linker keeps the experiments in no order that means anything.
static const struct tb_experiment **experiments_sorted(size_t *count)
{
    *count = (size_t)(__stop_tb_experiments - __start_tb_experiments);
    const struct tb_experiment **sorted = calloc(*count + 1, sizeof(*sorted));
    for (size_t i = 0; sorted && i < *count; i++)
        sorted[i] = __start_tb_experiments[i];
    if (sorted)
        qsort(sorted, *count, sizeof *sorted, by_number);
    return sorted;
}

static int print_all(const struct tb_store *filed, bool json)
{
    size_t count;
    const struct tb_experiment **sorted = experiments_sorted(&count);
    json_t *array = json_array();
    int failed = !sorted || !array;
    if (count > 0 && !json)
        printf("number  postulate  filed       last verdict                experiment\n");
    for (size_t i = 0; !failed && i < count; i++) {
        struct standing now;
        standing(sorted[i], filed, &now);
        if (json)
            failed = add_json(array, sorted[i], &now);
        else
            print_text(sorted[i], &now);
    }
    json_t *whole = json && !failed ? tb_headed(tb_head("list"), json_pack("{s:O}", "experiments", array)) : NULL;
    failed |= json && !whole;
    if (whole && !json_dumpf(whole, stdout, JSON_INDENT(2)))
        putchar('\n');
    if (failed)
        tb_error("out of memory");
    free(sorted);
    json_decref(whole);
    json_decref(array);
    return failed ? TB_EXIT_FAILED : TB_EXIT_OK;
}

int tb_ledgers_whole(const struct tb_store *store)
{
    int status = TB_EXIT_OK;
    for (size_t i = 0; i < store->hosts_count; i++) {
        const struct tb_chain *ledger = &store->hosts[i]->ledger;
        if (!ledger->broken_line)
            continue;
        tb_error("%s:%zu: %s (see: locus verify)", store->hosts[i]->path, ledger->broken_line, ledger->broken);
        status = TB_EXIT_FAILED;
    }
    return status;
}

int tb_cmd_list(int argc, char **argv)
{
    struct arguments arguments = {.logs = ROOT};
    const struct argp argp = {options, parse, NULL, documentation, NULL, NULL, NULL};
    struct tb_store filed = {0};
    int status = tb_cli_parse(&argp, "list", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("list");
    if (status)
        return status;
    int rc = tb_store_add_ledgers(&filed, arguments.logs), broken = TB_EXIT_FAILED;
    if (rc) {
        tb_error("%s: %s", arguments.logs, strerror(-rc));
    } else {
        status = print_all(&filed, arguments.json);
        broken = tb_ledgers_whole(&filed);
    }
    tb_store_close(&filed);
    int flushed = tb_cli_flush();
    return broken ? broken : status ? status : flushed;
}
