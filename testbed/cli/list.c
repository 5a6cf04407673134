// SPDX-License-Identifier: Apache-2.0
//
// locus list: the postulates, and how far each has come: filed, decided.

#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/cli/commands.h"
#include "testbed/host/head.h"
#include "testbed/cli/postulate/postulate.h"
#include "testbed/postulate/postulate.h"
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
    "The postulates: number, when it was filed, how many predictions it makes, its last verdict, and the question.\v"
    "filed: when it was entered into a ledger; EDITED when it is not what was filed. The verdict is the latest of any host; where "
    "that was an emulated guest, a line says so. A postulate itself is a text to be read: postulates/NNNN-slug.md.\n\n"
    "It works on the postulates and logs of a clone of the project's repository: call it at the top of one.\n\n"
    "Examples:\n"
    "  locus list\n"
    "  locus list --logs build/logs      verdicts of trial runs\n"
    "  locus list --json | jq -r '.experiments[] | select(.verdict == null).id'\n\n"
    "Exit status: 0 done, 1 a postulate cannot be read or a ledger is broken, 2 bad input.";

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

// What the ledgers know about one postulate. The texts are borrowed from them; NULL where there is none.
struct standing {
    const char *filed;          // when
    bool edited;
    const char *verdict, *verdict_run, *verdict_host, *verdict_time;
    const char *guest;          // the emulated machine of that run
};

static const char *text_of(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

static struct standing standing(const struct tb_postulate *postulate, const struct tb_store *filed)
{
    const struct tb_store_host *host = NULL;
    char run[16];
    snprintf(run, sizeof run, "%s-*", postulate->id);
    const json_t *close = tb_store_last(filed, "close", "run", run, &host);
    return (struct standing){
        .filed = text_of(tb_store_last(filed, "postulate", "id", postulate->id, NULL), "time"),
        .edited = tb_store_otherwise(filed, postulate->id, postulate->sha256) != NULL,
        .verdict = text_of(close, "verdict"),
        .verdict_run = text_of(close, "run"),
        .verdict_host = host ? host->name : NULL,
        .verdict_time = text_of(close, "time"),
        .guest = text_of(close, "emulated"),
    };
}

static void print_text(const struct tb_postulate *postulate, const struct standing *standing)
{
    char filed[11], verdict[64], guest[64];
    tb_text_clean(standing->edited ? "EDITED" : standing->filed ? standing->filed : "no", true, filed, sizeof filed);
    tb_text_clean(standing->verdict ? standing->verdict : "none yet", true, verdict, sizeof verdict);
    printf("%-6s  %-10s  %11u  %-26s  %s\n", postulate->id, filed, postulate->predictions_count, verdict, postulate->slug);
    printf("%8s", "");
    tb_text_wrap(stdout, 80, 8, 8, postulate->question);
    if (standing->guest) {
        tb_text_clean(standing->guest, true, guest, sizeof guest);
        printf("%8sThe verdict is of an emulated guest (%s): counts, no times.\n", "", guest);
    }
}

static json_t *predictions_json(const struct tb_postulate *postulate)
{
    json_t *predictions = json_array();
    char text[160];
    for (uint32_t i = 0; i < postulate->predictions_count; i++) {
        const struct tb_prediction *prediction = &postulate->predictions[i];
        json_array_append_new(predictions, json_pack("{s:s, s:s, s:s}", "id", prediction->id, "cell", prediction->cell, "text",
                                                     tb_prediction_text(prediction, text, sizeof text)));
    }
    return predictions;
}

static int add_json(json_t *array, const struct tb_postulate *postulate, const struct standing *standing)
{
    json_t *verdict = json_null();
    if (standing->verdict)
        verdict = json_pack("{s:s, s:s?, s:s?, s:s?, s:s?}", "verdict", standing->verdict, "run", standing->verdict_run, "host",
                            standing->verdict_host, "time", standing->verdict_time, "emulated", standing->guest);
    return json_array_append_new(array,
                                 json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:b, s:o, s:o}", "id", postulate->id, "slug",
                                           postulate->slug, "title", postulate->title, "question", postulate->question, "path",
                                           postulate->path, "sha256", postulate->sha256, "filed", standing->filed, "edited",
                                           standing->edited, "verdict", verdict, "predictions", predictions_json(postulate)));
}

static int print_all(const struct tb_postulates *all, const struct tb_store *filed, bool json)
{
    json_t *array = json_array();
    int failed = 0, status = TB_EXIT_OK;
    if (all->count == 0 && !json)
        printf("No postulate yet: locus postulate new SLUG writes the first.\n");
    else if (!json)
        printf("number  filed       predictions  last verdict                experiment\n");
    for (size_t i = 0; !failed && i < all->count; i++) {
        const struct tb_postulate *postulate = all->files[i].postulate;
        if (!postulate) {
            tb_error("%s", all->files[i].why.text);
            status = TB_EXIT_FAILED;
            continue;
        }
        struct standing now = standing(postulate, filed);
        if (json)
            failed = add_json(array, postulate, &now);
        else
            print_text(postulate, &now);
    }
    json_t *whole = json && !failed ? tb_headed(tb_head("list"), json_pack("{s:O}", "experiments", array)) : NULL;
    failed |= json && !whole;
    if (whole && !json_dumpf(whole, stdout, JSON_INDENT(2)))
        putchar('\n');
    if (failed)
        tb_error("out of memory");
    json_decref(whole);
    json_decref(array);
    return failed ? TB_EXIT_FAILED : status;
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
    struct tb_postulates all = {0};
    int status = tb_cli_parse(&argp, "list", argc, argv, &arguments);
    if (status != TB_CLI_RUN)
        return status;
    status = tb_cli_clone("list");
    if (status)
        return status;
    int rc = tb_postulates_load(&all), ledgers = tb_store_add_ledgers(&filed, arguments.logs);
    if (rc || ledgers)
        tb_error("%s: %s", rc ? TB_POSTULATES : arguments.logs, strerror(rc ? -rc : -ledgers));
    status = rc || ledgers ? TB_EXIT_FAILED : print_all(&all, &filed, arguments.json);
    if (tb_ledgers_whole(&filed))
        status = TB_EXIT_FAILED;
    tb_store_close(&filed);
    tb_postulates_close(&all);
    int flushed = tb_cli_flush();
    return status ? status : flushed;
}
