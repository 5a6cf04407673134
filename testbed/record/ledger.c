// SPDX-License-Identifier: Apache-2.0
//
// ledger: who opens it holds its lock until it is closed, has read and checked every line, and so appends to exactly what is
// there. A reader that only looks (verify, report) loads the chain instead and needs no lock.
//
// A ledger whose chain is broken is not written to. That includes a torn last line, which a crash can leave and a hand, too: which
// of them it was is for a person to say, so the message tells how to take it away, and nothing is mended silently.

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "testbed/base/cli.h"
#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/host/head.h"
#include "testbed/record/ledger.h"
#include "testbed/record/names.h"

struct tb_ledger {
    struct tb_journal *journal;
    struct tb_chain chain;
    char host[sizeof((struct tb_checkpoint *)0)->host];
    char path[4096];
};

// --- open, close ---------------------------------------------------------------------------------------------------------------

static int lock(struct tb_ledger *ledger, bool create)
{
    struct tb_journal_config config = {.path = ledger->path, .lock = true};
    int error = tb_journal_open(&ledger->journal, &config);
    if (error == -ENOENT && create) {
        config.create = true;
        error = tb_journal_open(&ledger->journal, &config);
    }
    if (error == -EEXIST) // made by another process just now
        error = -EWOULDBLOCK;
    return error;
}

static int check(const struct tb_ledger *ledger, char *why, size_t why_bytes)
{
    const struct tb_chain *chain = &ledger->chain;
    char other[sizeof ledger->host];
    if (chain->torn)
        snprintf(why, why_bytes,
                 "%s:%zu: %s; if a run crashed while it wrote it, nothing was acknowledged, and `truncate -s %zu %s` takes it away",
                 ledger->path, chain->broken_line, chain->broken, chain->bytes, ledger->path);
    else if (chain->broken_line)
        snprintf(why, why_bytes, "%s:%zu: %s", ledger->path, chain->broken_line, chain->broken);
    else if (chain->count == 0)
        snprintf(why, why_bytes, "%s: empty", ledger->path);
    else if (strcmp(tb_member_text(chain->entries[0].object, "t"), "ledger") ||
             json_integer_value(json_object_get(chain->entries[0].object, "v")) != 1)
        snprintf(why, why_bytes, "%s:1: not a ledger of version 1", ledger->path);
    else if (strcmp(tb_member_text(chain->entries[0].object, "host"), ledger->host))
        snprintf(why, why_bytes, "%s:1: the ledger of another host, '%s'", ledger->path,
                 tb_member_show(chain->entries[0].object, "host", other, sizeof other));
    else
        return 0;
    return -EINVAL;
}

// The first line. A crash before it was durable leaves an empty file, so this does not belong to the file's creation.
static int begin(struct tb_ledger *ledger)
{
    char nonce[33];
    int rc = tb_random_digits(nonce, 32);
    if (rc)
        return rc;
    json_t *first = json_pack("{s:s, s:i, s:s, s:s}", "t", "ledger", "v", 1, "host", ledger->host, "nonce", nonce);
    int error = first ? tb_ledger_append(ledger, first) : -ENOMEM;
    json_decref(first);
    return error;
}

static int open_checked(struct tb_ledger *ledger, const char *root, const char *host, bool create, char *why, size_t why_bytes)
{
    char twin[256];
    if (!tb_host_name_valid(host) || strlen(host) >= sizeof ledger->host) {
        snprintf(why, why_bytes,
                 "'%s' cannot name a host: up to %zu letters, digits, '.', '_' and '-', of which the first is neither "
                 "'.' nor '-'",
                 host, sizeof ledger->host - 1);
        return -EINVAL;
    }
    if (create && tb_host_twin(root, host, twin, sizeof twin)) {
        snprintf(why, why_bytes, "%s/%s: there is %s/%s, which differs in case alone: name one host otherwise (--host NAME)", root,
                 host, root, twin);
        return -EINVAL;
    }
    memcpy(ledger->host, host, strlen(host) + 1);
    int length = snprintf(ledger->path, sizeof ledger->path, "%s/%s/ledger.jsonl", root, host);
    int error = (size_t)length < sizeof ledger->path ? lock(ledger, create) : -ENAMETOOLONG;
    if (!error)
        error = tb_chain_load(ledger->path, &ledger->chain);
    if (!error && create && ledger->chain.count == 0 && !ledger->chain.broken_line)
        error = begin(ledger);
    if (!error)
        return check(ledger, why, why_bytes);
    snprintf(why, why_bytes, "%s: %s", ledger->path, error == -EWOULDBLOCK ? "another run is writing to it" : strerror(-error));
    return error;
}

int tb_ledger_open(struct tb_ledger **out, const char *root, const char *host, bool create, char *why, size_t why_bytes)
{
    struct tb_ledger *ledger = calloc(1, sizeof *ledger);
    if (!ledger) {
        snprintf(why, why_bytes, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    int error = open_checked(ledger, root, host, create, why, why_bytes);
    if (error)
        tb_ledger_close(ledger);
    else
        *out = ledger;
    return error;
}

void tb_ledger_close(struct tb_ledger *ledger)
{
    if (!ledger)
        return;
    tb_journal_close(ledger->journal);
    tb_chain_close(&ledger->chain);
    free(ledger);
}

// --- entries -------------------------------------------------------------------------------------------------------------------

static struct tb_hash head_of(const struct tb_chain *chain)
{
    return chain->count ? chain->entries[chain->count - 1].head : (struct tb_hash){{0}};
}

// The entry is added in memory before it is written: what is on the disk and acknowledged must not fail for want of memory.
int tb_ledger_append(struct tb_ledger *ledger, json_t *entry)
{
    struct tb_chain *chain = &ledger->chain;
    struct tb_hash head = head_of(chain);
    char now[TB_STAMP_BYTES], *line = NULL;
    size_t bytes;
    int error = json_object_set_new(entry, "time", json_string(tb_time_text(time(NULL), now)))
                    ? -ENOMEM
                    : tb_chain_line(&head, entry, &line, &bytes);
    if (!error)
        error = tb_chain_add(chain, entry, &head, bytes);
    if (!error) {
        error = tb_journal_append(ledger->journal, line, bytes);
        if (error) {
            json_decref(chain->entries[--chain->count].object);
            chain->bytes -= bytes;
        }
    }
    free(line);
    return error;
}

const struct tb_chain *tb_ledger_chain(const struct tb_ledger *ledger)
{
    return &ledger->chain;
}

size_t tb_ledger_last(const struct tb_chain *chain, size_t above, const char *type, const char *key, const char *value)
{
    size_t begin = strlen(value);
    begin -= begin > 0 && value[begin - 1] == '*';
    for (size_t i = above > chain->count ? chain->count : above - 1; i-- > 0;) {
        const json_t *entry = chain->entries[i].object;
        const char *own = tb_member_text(entry, key);
        if (strcmp(tb_member_text(entry, "t"), type) == 0 && (value[begin] ? strncmp(own, value, begin) : strcmp(own, value)) == 0)
            return i + 1;
    }
    return 0;
}

static const json_t *entry_at(const struct tb_chain *chain, size_t line)
{
    return line ? chain->entries[line - 1].object : NULL;
}

const json_t *tb_ledger_find(const struct tb_ledger *ledger, const char *type, const char *key, const char *value)
{
    return entry_at(&ledger->chain, tb_ledger_last(&ledger->chain, SIZE_MAX, type, key, value));
}

bool tb_ledger_binds(const struct tb_chain *chain, size_t line)
{
    if (line == chain->count)
        return true;
    const json_t *filed = chain->entries[line - 1].object, *next = chain->entries[line].object;
    return strcmp(tb_member_text(next, "t"), "open") || strcmp(tb_member_text(next, "kind"), "official") == 0 ||
           strcmp(tb_member_text(next, "postulate_id"), tb_member_text(filed, "id")) ||
           strcmp(tb_member_text(next, "postulate_sha256"), tb_member_text(filed, "sha256"));
}

size_t tb_ledger_filing(const struct tb_chain *chain, size_t above, const char *id)
{
    do
        above = tb_ledger_last(chain, above, "postulate", "id", id);
    while (above && !tb_ledger_binds(chain, above));
    return above;
}

const json_t *tb_ledger_filed(const struct tb_ledger *ledger, const char *id)
{
    return entry_at(&ledger->chain, tb_ledger_filing(&ledger->chain, SIZE_MAX, id));
}

// --- replications --------------------------------------------------------------------------------------------------------------

bool tb_ledger_sought(const json_t *open, const json_t *close, const char *postulate)
{
    return close && strcmp(tb_member_text(open, "t"), "open") == 0 && strcmp(tb_member_text(open, "kind"), "official") == 0 &&
           strcmp(tb_member_text(open, "postulate_id"), postulate) == 0;
}

bool tb_ledger_answered(const json_t *close)
{
    const char *verdict = tb_member_text(close, "verdict");
    return strcmp(tb_member_text(close, "status"), "complete") == 0 && strcmp(verdict, "invalid") &&
           strcmp(verdict, "unmeasurable-on-host");
}

int tb_ledger_replicated(const struct tb_chain *chain, size_t above, const char *postulate, json_t **runs)
{
    *runs = NULL;
    for (size_t i = 0; i < chain->count; i++) {
        const json_t *open = chain->entries[i].object;
        if (strcmp(tb_member_text(open, "postulate_id"), postulate)) // before the search, which is long
            continue;
        const char *run = tb_member_text(open, "run");
        const json_t *close = entry_at(chain, tb_ledger_last(chain, above, "close", "run", run));
        if (!tb_ledger_sought(open, close, postulate) || !tb_ledger_answered(close))
            continue;
        *runs = tb_json_appended(*runs ? *runs : json_array(), json_string(run));
        if (!*runs)
            return -ENOMEM;
    }
    return 0;
}

// --- checkpoints ---------------------------------------------------------------------------------------------------------------

void tb_ledger_checkpoint(const struct tb_ledger *ledger, struct tb_checkpoint *out)
{
    *out = (struct tb_checkpoint){.bytes = ledger->chain.bytes, .head = head_of(&ledger->chain)};
    snprintf(out->host, sizeof out->host, "%s", ledger->host);
}

void tb_checkpoint_text(const struct tb_checkpoint *checkpoint, char *out, size_t bytes)
{
    char hex[TB_HASH_TEXT];
    tb_hash_text(&checkpoint->head, hex);
    snprintf(out, bytes, "%s %zu %s", checkpoint->host, checkpoint->bytes, hex);
}

int tb_checkpoint_parse(const char *line, struct tb_checkpoint *out)
{
    char copy[256], *rest = NULL;
    uint64_t bytes;
    struct tb_checkpoint found = {.bytes = 0};
    if ((size_t)snprintf(copy, sizeof copy, "%s", line) >= sizeof copy)
        return -EINVAL;
    const char *blanks = " \t\r\n", *host = strtok_r(copy, blanks, &rest), *size = strtok_r(NULL, blanks, &rest);
    const char *hash = strtok_r(NULL, blanks, &rest);
    if (!hash || strtok_r(NULL, blanks, &rest) || !tb_host_name_valid(host) || strlen(host) >= sizeof found.host ||
        !tb_cli_u64(size, 0, INT64_MAX, &bytes) || tb_hash_parse(hash, &found.head))
        return -EINVAL;
    memcpy(found.host, host, strlen(host) + 1);
    found.bytes = bytes;
    *out = found;
    return 0;
}
