// SPDX-License-Identifier: Apache-2.0
//
// record_fixture: a run that never was: a sealed log with its ledger entries, made by the real modules from samples whose truth is
// known. Two cells, arms A locus, B glibc (1.4 times A's time), C locus again.
#ifndef TB_RECORD_FIXTURE_H
#define TB_RECORD_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "testbed/judge/tests/record_fixture_lines.h"
#include "testbed/judge/verdict.h"
#include "testbed/record/ledger.h"

static inline int fixture_add(const struct record_fixture *fixture, struct tb_log *log, json_t *line)
{
    if (line && fixture->dress)
        fixture->dress(line);
    int rc = line ? tb_log_add(log, line) : -ENOMEM;
    json_decref(line);
    return rc;
}

static inline int fixture_samples(const struct record_fixture *fixture, struct tb_log *log)
{
    unsigned state = fixture->seed;
    int rc = 0;
    for (int round = 0; !rc && round < fixture->rounds && !fixture->no_samples; round++)
        for (int cell = 0; cell < 2; cell++)
            for (int arm = 0; !rc && arm < 3; arm++)
                rc = fixture_add(fixture, log, fixture_sample(fixture, round, cell, arm, &state));
    if (!rc)
        rc = fixture_add(fixture, log, json_pack("{s:s, s:{}}", "t", "after", "counters"));
    return rc ? rc : tb_log_flush(log);
}

static inline int fixture_summary(const struct record_fixture *fixture, const char *path, const struct tb_postulate *postulate,
                                  struct tb_log *log, char verdict[64])
{
    struct tb_log_view view;
    json_t *summary = NULL;
    char why[300];
    int rc = tb_log_load(path, &view, why, sizeof why);
    if (!rc)
        rc = tb_verdict_summary(&view, postulate, &summary);
    if (!rc) {
        snprintf(verdict, 64, "%s", json_string_value(json_object_get(summary, "verdict")));
        rc = fixture_add(fixture, log, summary);
        tb_log_view_close(&view);
    }
    return rc;
}

static inline int fixture_enter(const struct record_fixture *fixture, json_t *entry)
{
    struct tb_ledger *ledger = NULL;
    char why[300] = "";
    int rc = entry ? tb_ledger_open(&ledger, fixture->root, fixture->host, true, why, sizeof why) : -ENOMEM;
    if (!rc)
        rc = tb_ledger_append(ledger, entry);
    tb_ledger_close(ledger);
    json_decref(entry);
    return rc;
}

// Makes the run below the current folder. *path is its log. 0 or -errno.
static inline int record_fixture_make(const struct record_fixture *fixture, char *path, size_t bytes)
{
    struct tb_postulate *postulate;
    struct tb_postulate_why why;
    struct tb_log *log = NULL;
    struct tb_hash head;
    char head_text[TB_HASH_TEXT], verdict[64] = "none";
    size_t lines = 0;
    const char *text = fixture->postulate ? fixture->postulate : fixture_postulate;
    int rc = tb_postulate_parse("postulates/0002-glibc-churn.md", text, strlen(text), &postulate, &why);
    if (rc)
        return fprintf(stderr, "%s\n", why.text), rc;
    snprintf(path, bytes, "%s/%s/0002-glibc-churn/%s.jsonl", fixture->root, fixture->host, fixture->run + 5);
    json_t *header = fixture_header(fixture, postulate);
    if (header && fixture->dress)
        fixture->dress(header);
    rc = header ? fixture_enter(fixture,
                                json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "t", "open", "run", fixture->run, "nonce",
                                          "00112233445566778899aabbccddeeff", "log", strchr(strchr(path, '/') + 1, '/') + 1,
                                          "postulate_id", "0002", "postulate_sha256", postulate->sha256, "kind", fixture->kind))
                : -EINVAL;
    if (!rc)
        rc = tb_log_create(&log, path, header);
    json_decref(header);
    if (!rc)
        rc = fixture_samples(fixture, log);
    if (!rc)
        rc = fixture_summary(fixture, path, postulate, log, verdict);
    tb_postulate_close(postulate);
    if (rc || fixture->no_seal) {
        tb_log_abandon(log);
        return rc;
    }
    rc = tb_log_seal(log, "complete", NULL, &head, &lines);
    tb_hash_text(&head, head_text);
    return rc ? rc
              : fixture_enter(fixture,
                              json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "t", "close", "run", fixture->run, "log_head", head_text,
                                        "log_lines", (json_int_t)lines, "verdict", verdict, "status", "complete"));
}

#endif
