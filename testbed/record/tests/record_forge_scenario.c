// SPDX-License-Identifier: Apache-2.0
//
// record_forge: makes a good record in the current folder with the modules that a run uses, and forges what a patient liar would:
// valid hashes for changed lines. For record_verify.sh. Its logs are of version 1, or of LOG_VERSION in the environment.
//
//     record_forge_scenario file      ledger, two postulates
//     record_forge_scenario first     a sealed run, and one that crashed within a line
//     record_forge_scenario record    a record of the sealed run
//     record_forge_scenario second    a sealed run of the other postulate
//     record_forge_scenario trial     a trial of a third one, which it files by itself
//     record_forge_scenario chain FILE...   hashes the lines as they are now, without asking what they say
//     record_forge_scenario seal FILE...    the same, and counts the lines in the seal anew
//     record_forge_scenario ledger    brings the ledger's hashes of files and logs up to date, and chains it
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "testbed/record/git.h"
#include "testbed/record/ledger.h"
#include "testbed/record/log.h"

#define HOST "bm1"
#define LEDGER "logs/" HOST "/ledger.jsonl"

// Nothing here may fail: a half-made record would make the cases pass or fail for the wrong reason.
static void must(int rc, const char *what)
{
    if (!rc)
        return;
    fprintf(stderr, "record_forge: %s: %s\n", what, strerror(rc < 0 ? -rc : rc));
    exit(2);
}

static void append(json_t *entry)
{
    struct tb_ledger *ledger;
    char why[512];
    must(tb_ledger_open(&ledger, "logs", HOST, true, why, sizeof why), LEDGER);
    must(tb_ledger_append(ledger, entry), LEDGER);
    tb_ledger_close(ledger);
    json_decref(entry);
}

static void file_postulate(const char *id, const char *path)
{
    char sha256[TB_HASH_TEXT];
    must(tb_hash_file(path, sha256), path);
    append(json_pack("{s:s, s:s, s:s, s:s}", "t", "postulate", "id", id, "path", path, "sha256", sha256));
}

struct forged_run {
    const char *id, *nonce, *postulate_id, *postulate, *log, *kind;
};
static const struct forged_run runs[] = {
    {"0001-20260101T000001Z-aaaaaa", "a0", "0001", "postulates/0001-one.md", "0001-one/20260101T000001Z-aaaaaa.jsonl", "official"},
    {"0001-20260101T000002Z-cccccc", "c0", "0001", "postulates/0001-one.md", "0001-one/20260101T000002Z-cccccc.jsonl", "official"},
    {"0002-20260101T000003Z-bbbbbb", "b0", "0002", "postulates/0002-two.md", "0002-two/20260101T000003Z-bbbbbb.jsonl", "official"},
    {"0003-20260101T000004Z-ffffff", "f0", "0003", "postulates/0003-three.md", "0003-three/20260101T000004Z-ffffff.jsonl", "trial"},
};

static void add(struct tb_log *log, json_t *line)
{
    must(tb_log_add(log, line), "add");
    json_decref(line);
}

// As `locus run` names them, where there is a repository.
static void name_commits(json_t *header, const char *postulate)
{
    const char *const head[] = {"rev-parse", "HEAD", NULL};
    json_t *build = json_object_get(json_object_get(header, "env"), "build");
    char commit[TB_HASH_TEXT];
    if (tb_git_commit_of(postulate, commit, sizeof commit) == 0)
        json_object_set_new(json_object_get(header, "postulate"), "commit", json_string(commit));
    if (tb_git_line(NULL, head, commit, sizeof commit) == 0)
        json_object_set_new(build, "commit", json_string(commit));
}

static void run(const struct forged_run *forged, bool crash)
{
    char path[256], sha256[TB_HASH_TEXT], head_text[TB_HASH_TEXT];
    struct tb_log *log;
    struct tb_hash head;
    size_t lines;
    must(tb_hash_file(forged->postulate, sha256), forged->postulate);
    append(json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "t", "open", "run", forged->id, "nonce", forged->nonce, "log",
                     forged->log, "postulate_id", forged->postulate_id, "postulate_sha256", sha256, "kind", forged->kind));
    snprintf(path, sizeof path, "logs/" HOST "/%s", forged->log);
    json_t *header =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:{s:s, s:s}, s:[{s:s}], s:[{s:s}], s:{s:{}}}", "t", "hdr", "v", 1, "run",
                  forged->id, "nonce", forged->nonce, "kind", forged->kind, "time", "2026-01-01T00:00:00Z", "postulate", "path",
                  forged->postulate, "sha256", sha256, "arms", "key", "A", "cells", "name", "churn/full", "env", "build");
    if (getenv("LOG_VERSION"))
        json_object_set_new(header, "v", json_integer(atoi(getenv("LOG_VERSION"))));
    name_commits(header, forged->postulate);
    must(tb_log_create(&log, path, header), path);
    json_decref(header);
    for (int round = 0; round < 4; round++)
        add(log, json_pack("{s:s, s:i, s:i, s:s, s:b, s:i}", "t", "s", "round", round, "cell", 0, "arm", "A", "valid", true,
                           "time_ns", 1000 + round));
    must(tb_log_flush(log), path);
    if (crash) {
        tb_log_abandon(log);
        FILE *file = fopen(path, "ae");
        must(!file || fputs("{\"t\":\"s\",\"round\":4,", file) < 0 || fclose(file) ? EIO : 0, path);
        return;
    }
    add(log, json_pack("{s:s, s:{}}", "t", "after", "counters"));
    add(log, json_pack("{s:s, s:[{s:s}], s:s}", "t", "sum", "predictions", "id", "P1", "verdict", "survived"));
    must(tb_log_seal(log, "complete", NULL, &head, &lines), path);
    tb_hash_text(&head, head_text);
    append(json_pack("{s:s, s:s, s:s, s:I, s:s, s:s}", "t", "close", "run", forged->id, "log_head", head_text, "log_lines",
                     (json_int_t)lines, "verdict", "survived", "status", "complete"));
}

static void record(const char *path)
{
    char sha256[TB_HASH_TEXT];
    must(tb_hash_file(path, sha256), path);
    append(json_pack("{s:s, s:s, s:s, s:s, s:s}", "t", "record", "id", runs[0].postulate_id, "run", runs[0].id, "path", path,
                     "sha256", sha256));
}

// --- forging -------------------------------------------------------------------------------------------------------------------

typedef void change_line(json_t *object, size_t line);

static void as_it_is(json_t *object, size_t line)
{
    (void)object;
    (void)line;
}

static void count_lines(json_t *object, size_t line)
{
    if (strcmp(json_string_value(json_object_get(object, "t")), "seal") == 0)
        json_object_set_new(object, "lines", json_integer((json_int_t)line));
}

static void update_hash(json_t *object, const char *path)
{
    char sha256[TB_HASH_TEXT];
    must(tb_hash_file(path, sha256), path);
    json_object_set_new(object, "sha256", json_string(sha256));
}

static void update_close(json_t *object)
{
    char path[256], head[TB_HASH_TEXT];
    struct tb_chain chain;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        if (strcmp(json_string_value(json_object_get(object, "run")), runs[i].id))
            continue;
        snprintf(path, sizeof path, "logs/" HOST "/%s", runs[i].log);
        must(tb_chain_load_groups(path, &chain), path);
        tb_hash_text(&chain.entries[chain.count - 1].head, head);
        json_object_set_new(object, "log_head", json_string(head));
        json_object_set_new(object, "log_lines", json_integer((json_int_t)chain.count));
        tb_chain_close(&chain);
    }
}

static void update_line(json_t *object, size_t line)
{
    (void)line;
    if (json_object_get(object, "path"))
        update_hash(object, json_string_value(json_object_get(object, "path")));
    if (json_object_get(object, "log_head"))
        update_close(object);
}

// A line without a hash is a row: the next line's hash covers it.
static void rewrite(const char *path, change_line *change)
{
    struct tb_hash head = {{0}};
    char *line = NULL, *text = NULL, *written = NULL, rows[4096] = "";
    size_t room = 0, text_bytes = 0, bytes, number = 0;
    FILE *in = fopen(path, "re"), *out = open_memstream(&text, &text_bytes);
    must(!in || !out ? errno : 0, path);
    while (getline(&line, &room, in) > 0) {
        number++;
        if (line[0] == '[') {
            must(strlen(rows) + strlen(line) < sizeof rows ? 0 : ENOSPC, path);
            strcat(rows, line);
            continue;
        }
        json_t *object = json_loads(line, 0, NULL);
        must(object ? 0 : EINVAL, path);
        json_object_del(object, "h");
        change(object, number);
        must(tb_chain_group(&head, rows, strlen(rows), object, &written, &bytes), path);
        fwrite(written, 1, bytes, out);
        free(written);
        json_decref(object);
        rows[0] = '\0';
    }
    fclose(in);
    fclose(out);
    in = fopen(path, "we");
    must(!in || fwrite(text, 1, text_bytes, in) != text_bytes || fclose(in) ? EIO : 0, path);
    free(line);
    free(text);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    mkdir("logs", 0777);
    mkdir("logs/" HOST, 0777);
    if (strcmp(what, "file") == 0) {
        file_postulate("0001", runs[0].postulate);
        file_postulate("0002", runs[2].postulate);
    } else if (strcmp(what, "first") == 0) {
        run(&runs[0], false);
        run(&runs[1], true);
    } else if (strcmp(what, "record") == 0) {
        record("experiments/0001-one.md");
    } else if (strcmp(what, "second") == 0) {
        run(&runs[2], false);
    } else if (strcmp(what, "trial") == 0) {
        file_postulate(runs[3].postulate_id, runs[3].postulate);
        run(&runs[3], false);
    } else if (strcmp(what, "chain") == 0 || strcmp(what, "seal") == 0) {
        for (int i = 2; i < argc; i++)
            rewrite(argv[i], strcmp(what, "seal") == 0 ? count_lines : as_it_is);
    } else if (strcmp(what, "ledger") == 0) {
        rewrite(LEDGER, update_line);
    } else {
        return 2;
    }
    return 0;
}
