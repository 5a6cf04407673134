// SPDX-License-Identifier: Apache-2.0
//
// record: drafting a record, checking the draft against its log, and filing it.
//
// A record is one file and one entry in a ledger. The file comes first: should the entry not follow, because of a crash, the next
// attempt finds the same bytes without an entry and adds it. The other way round the ledger would speak of a file that never was.

#include "testbed/report/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/host/head.h"
#include "testbed/judge/shown.h"
#include "testbed/record/ledger.h"
#include "testbed/record/store.h"

static const char folder[] = TB_RECORD_FOLDER;

// --- the draft -----------------------------------------------------------------------------------------------------------------

static const char interpretation[] = "\n## Interpretation\n", next_question[] = "\n## Next question\n";

// What the run replicates, with the verdicts that its host's ledger has.
static int put_replication(FILE *out, const struct tb_log_view *view, char *why, size_t why_bytes)
{
    const json_t *runs = json_object_get(view->header, "replicates");
    struct tb_chain ledger = {.count = 0};
    struct tb_words words;
    char host[64], path[128];
    if (!runs)
        return 0;
    tb_store_host_of(view->path, host, sizeof host);
    snprintf(path, sizeof path, "logs/%s/ledger.jsonl", host);
    int rc = tb_chain_load(path, &ledger);
    if (rc && rc != -ENOENT)
        return snprintf(why, why_bytes, "%s: %s", path, strerror(-rc)), rc;
    fprintf(out, "This is a replication of %s.\n\n", tb_replicated_words(runs, &ledger, &words));
    tb_chain_close(&ledger);
    return 0;
}

int tb_record_draft(const struct tb_log_view *view, char **out_text, char *why_not, size_t why_bytes)
{
    const json_t *header = view->header, *summary = view->summary;
    const char *run = tb_member_text(header, "run"), *why = tb_member_text(summary, "why"), *emulated = tb_log_emulated(view);
    const char *paper = tb_member_text(header, "experiment.reproduces");
    char head[TB_HASH_TEXT], *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return snprintf(why_not, why_bytes, "%s", strerror(ENOMEM)), -ENOMEM;
    tb_hash_text(&view->chain.entries[view->chain.count - 1].head, head);
    fprintf(out,
            "<!-- locus record, run %s. Only the last two sections are written by a person. -->\n"
            "# %s %s\n\n",
            run, tb_member_text(header, "experiment.id"), tb_member_text(header, "experiment.slug"));
    if (emulated)
        fprintf(out,
                "> **Made in an emulated guest (%s): counts, no times.** Its counts are exact; its clock says nothing about "
                "hardware.\n\n",
                emulated);
    fprintf(out, "**Question:** %s\n\n", tb_member_text(header, "experiment.question"));
    fprintf(out, "**Verdict: %s**%s%s%s\n\n", tb_member_text(summary, "verdict"), *why ? " (" : "", why, *why ? ")" : "");
    int rc = put_replication(out, view, why_not, why_bytes);
    if (*paper)
        fprintf(out, "Repeats experiment %s of the LOCUS paper.\n\n", paper);
    fprintf(out,
            "- predicted in %s, SHA-256 `%s`\n"
            "- measured in `%s`, last hash `%s`\n- its tables: `locus record show %s`\n",
            tb_member_text(header, "postulate.path"), tb_member_text(header, "postulate.sha256"), view->path, head,
            strlen(run) > 6 ? run + strlen(run) - 6 : run);
    fprintf(out,
            "%s\n<!-- What does this mean, and what does it not? -->\n"
            "%s\n<!-- One sentence with a question mark. -->\n",
            interpretation, next_question);
    bool composed = !ferror(out);
    if ((fclose(out) || !composed) && !rc)
        rc = (snprintf(why_not, why_bytes, "%s", strerror(ENOMEM)), -ENOMEM);
    if (rc)
        free(text);
    else
        *out_text = text;
    return rc;
}

int tb_record_run(const char *draft, char run[TB_RUN_TEXT])
{
    static const char mark[] = "<!-- locus record, run ";
    if (strncmp(draft, mark, sizeof mark - 1))
        return -EINVAL;
    draft += sizeof mark - 1;
    size_t length = strspn(draft, "0123456789abcdefTZ-");
    if (length == 0 || length >= TB_RUN_TEXT || draft[length] != '.')
        return -EINVAL;
    snprintf(run, TB_RUN_TEXT, "%.*s", (int)length, draft);
    return 0;
}

// --- what a person wrote -------------------------------------------------------------------------------------------------------

static size_t line_of(const char *text, const char *place)
{
    size_t line = 1;
    for (const char *c = text; c < place; c++)
        line += *c == '\n';
    return line;
}

// Is there nothing but blanks and comments?
static bool says_nothing(const char *text, const char *end)
{
    while (text < end) {
        const char *closed = strncmp(text, "<!--", 4) == 0 ? strstr(text, "-->") : text;
        if (closed == text && !strchr(" \t\r\n", *text))
            return false;
        text = closed == text ? text + 1 : closed ? closed + 3 : end;
    }
    return true;
}

// A section that a person wrote, [begin, end): it says something, and it has no heading that could pass for one of the machine's.
static int section_check(const char *draft, const char *begin, const char *end, const char *name, char *why, size_t why_bytes)
{
    if (says_nothing(begin, end)) {
        snprintf(why, why_bytes, "%zu: the section \"%s\" is empty; write it, a sentence will do", line_of(draft, begin), name);
        return -EINVAL;
    }
    for (const char *line = begin; line && line < end; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line >= end || (strncmp(line, "# ", 2) && strncmp(line, "## ", 3)))
            continue;
        snprintf(why, why_bytes, "%zu: a heading of the record's own rank; begin it with ###", line_of(draft, line));
        return -EINVAL;
    }
    return 0;
}

static int altered(const char *draft, const char *fresh, char *why, size_t why_bytes)
{
    size_t same = 0, start = 0;
    for (; draft[same] && draft[same] == fresh[same]; same++)
        start = fresh[same] == '\n' ? same + 1 : start;
    snprintf(why, why_bytes, "%zu: this is not what the log says: \"%.*s\" (write a new draft and copy your two sections into it)",
             line_of(draft, draft + same), (int)strcspn(fresh + start, "\n"), fresh + start);
    return -EINVAL;
}

int tb_record_check(const struct tb_log_view *view, const char *draft, char *why, size_t why_bytes)
{
    char *fresh, reason[400];
    int rc = tb_record_draft(view, &fresh, reason, sizeof reason);
    if (rc)
        return snprintf(why, why_bytes, "1: %s", reason), rc;
    const char *begin = strstr(fresh, interpretation);
    size_t machine = (size_t)(begin - fresh) + sizeof interpretation - 1;
    rc = strncmp(draft, fresh, machine) ? altered(draft, fresh, why, why_bytes) : 0;
    free(fresh);
    if (rc)
        return rc;
    const char *first = draft + machine - 1; // its newline may be that before the next heading
    const char *second = strstr(first, next_question);
    if (!second) {
        snprintf(why, why_bytes, "%zu: the heading \"## Next question\" is missing", line_of(draft, draft + strlen(draft)));
        return -EINVAL;
    }
    const char *rest = second + sizeof next_question - 1;
    rc = section_check(draft, first + 1, second + 1, "Interpretation", why, why_bytes);
    return rc ? rc : section_check(draft, rest, draft + strlen(draft), "Next question", why, why_bytes);
}

// --- filing --------------------------------------------------------------------------------------------------------------------

int tb_record_official(const struct tb_log_view *view, char *why, size_t why_bytes)
{
    const char *kind = tb_member_text(view->header, "kind"), *run = tb_member_text(view->header, "run");
    struct tb_store filed = {0};
    char head[TB_HASH_TEXT];
    if (strcmp(kind, "official") != 0 || strncmp(view->path, "logs/", 5) != 0) {
        snprintf(why, why_bytes, "%s is %s %s run; only an official one below logs/ makes a record (`locus run %s --official`)",
                 run, *kind == 'o' ? "an" : "a", kind, tb_member_text(view->header, "experiment.id"));
        return -EINVAL;
    }
    tb_hash_text(&view->chain.entries[view->chain.count - 1].head, head);
    int rc = tb_store_add_ledgers(&filed, "logs");
    if (rc) {
        snprintf(why, why_bytes, "logs: %s (see `locus verify`)", strerror(-rc));
        return rc;
    }
    const struct tb_store_host *broken = tb_store_broken(&filed);
    if (strcmp(tb_member_text(tb_store_last(&filed, "close", "run", run, NULL), "log_head"), head) != 0) {
        rc = -EINVAL;
        if (broken)
            snprintf(why, why_bytes, "%s:%zu: %s, so nobody knows whether %s is in it (see `locus verify`)", broken->path,
                     broken->ledger.broken_line, broken->ledger.broken, view->path);
        else
            snprintf(why, why_bytes, "%s: no ledger below logs/ has an entry for it with this last hash (see `locus verify`)",
                     view->path);
    }
    tb_store_close(&filed);
    return rc;
}

// The first of NNNN-slug.md, NNNN-slug.add1.md, ... that is not taken. One with the record's own bytes counts as not taken when the
// ledger does not know it.
static int choose_path(const struct tb_log_view *view, const struct tb_ledger *ledger, const char *sha256, char *path, size_t bytes,
                       bool *there)
{
    const char *id = tb_member_text(view->header, "experiment.id"), *slug = tb_member_text(view->header, "experiment.slug");
    for (int n = 0; n < 10000; n++) {
        char suffix[16] = "", found[TB_HASH_TEXT];
        if (n > 0)
            snprintf(suffix, sizeof suffix, ".add%d", n);
        if (snprintf(path, bytes, "%s/%s-%s%s.md", folder, id, slug, suffix) >= (int)bytes)
            return -ENAMETOOLONG;
        int rc = tb_hash_file(path, found);
        *there = rc == 0;
        if (rc == -ENOENT || (rc == 0 && strcmp(found, sha256) == 0 && !tb_ledger_find(ledger, "record", "path", path)))
            return 0;
        if (rc < 0)
            return rc;
    }
    return -EEXIST;
}

static int folder_sync(void)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 && fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

static int enter(struct tb_ledger *ledger, const struct tb_log_view *view, const char *path, const char *sha256)
{
    json_t *entry = json_pack("{s:s, s:s, s:s, s:s, s:s}", "t", "record", "id", tb_member_text(view->header, "experiment.id"),
                              "run", tb_member_text(view->header, "run"), "path", path, "sha256", sha256);
    int rc = entry ? tb_ledger_append(ledger, entry) : -ENOMEM;
    json_decref(entry);
    return rc;
}

static int file(struct tb_ledger *ledger, const struct tb_log_view *view, const char *draft, char *path, size_t bytes, char *why,
                size_t why_bytes)
{
    char sha256[TB_HASH_TEXT];
    bool there = false;
    const json_t *filed = tb_ledger_find(ledger, "record", "run", tb_member_text(view->header, "run"));
    if (filed) {
        snprintf(why, why_bytes, "%s is filed already, as %s; a record is never changed", tb_member_text(filed, "run"),
                 tb_member_text(filed, "path"));
        return -EEXIST;
    }
    int rc = tb_hash_memory(draft, strlen(draft), sha256);
    if (!rc)
        rc = choose_path(view, ledger, sha256, path, bytes, &there);
    if (!rc && !there) {
        rc = tb_file_create(path, draft);
        rc = rc ? rc : folder_sync();
    }
    if (!rc) {
        rc = enter(ledger, view, path, sha256);
        if (rc)
            unlink(path);
    }
    return rc;
}

int tb_record_file(const struct tb_log_view *view, const char *draft, char *path, size_t path_bytes, char *why, size_t why_bytes)
{
    struct tb_ledger *ledger = NULL;
    char host[64];
    why[0] = path[0] = '\0';
    int rc = tb_record_official(view, why, why_bytes);
    if (rc)
        return rc;
    rc = tb_host_name(host, sizeof host);
    if (!rc)
        rc = tb_ledger_open(&ledger, "logs", host, true, why, why_bytes);
    if (!rc)
        rc = file(ledger, view, draft, path, path_bytes, why, why_bytes);
    tb_ledger_close(ledger);
    if (rc && !why[0])
        snprintf(why, why_bytes, "%s: %s", path[0] ? path : "logs", strerror(-rc));
    return rc;
}
