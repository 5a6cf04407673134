// SPDX-License-Identifier: Apache-2.0
//
// postulate: the file, its front matter by tables, and what its parts say about each other; see postulate.h.
//
// A file is taken as a whole or not at all. It is first held to be clean text (so that lines are what an editor shows, and
// nothing in it can play with a terminal), then cut at the two lines `---`, and only what is between them is YAML. The tables are
// read in their order, not in the file's: arms and cells before the predictions that name them.
#include "testbed/postulate/postulate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/file.h"
#include "testbed/measure/cell.h"
#include "testbed/measure/job.h"
#include "testbed/postulate/known.h"
#include "testbed/postulate/postulate_prediction.h"
#include "testbed/record/names.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/workload.h"

#define FILE_BYTES_MAX (1u << 20) // arbitrary; prose has room, and a slip (a log for a postulate) is noticed
#define PRIOR_BYTES_MAX 8192u     // arbitrary

// --- readers of single keys ---

static int id_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                   void *object)
{
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, value, field->key, TB_YAML_SCALAR);
    if (rc)
        return rc;
    if (value->plain || strlen(value->text) != 4 || strspn(value->text, "0123456789") != 4)
        return tb_yaml_bad(source, value->line, "'%s' has to be four digits in quotes, such as \"0002\", not %s", field->key,
                           value->text[0] ? tb_yaml_shown(value->text, shown) : "nothing");
    memcpy((char *)object + field->offset, value->text, 5);
    return 0;
}

static int text_list_read(const struct tb_yaml_source *source, const struct tb_yaml *list, const char *what, char out[][64],
                          uint32_t *count)
{
    int rc = tb_yaml_want(source, list, what, TB_YAML_LIST);
    if (!rc && list->count > TB_LIST_MAX)
        rc = tb_yaml_bad(source, list->line, "'%s' has %zu entries, and at most %d fit", what, list->count, TB_LIST_MAX);
    for (size_t i = 0; !rc && i < list->count; i++) {
        rc = tb_yaml_text(source, &list->items[i], what, out[i], sizeof out[i]);
        for (size_t j = 0; !rc && j < i; j++)
            if (strcmp(out[i], out[j]) == 0)
                rc = tb_yaml_bad(source, list->items[i].line, "'%s' has '%s' twice", what, out[i]);
        *count += !rc;
    }
    return rc;
}

static int requires_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                         void *object)
{
    struct tb_postulate *out = object;
    uint64_t least;
    int rc = text_list_read(source, value, field->key, out->requires_, &out->requires_count);
    for (size_t i = 0; !rc && i < out->requires_count; i++)
        if (!tb_need_name(out->requires_[i], &least))
            rc = tb_yaml_bad(source, value->items[i].line, "need '%s' is not " TB_NEEDS, out->requires_[i]);
    return rc;
}

static bool arm_key_good(const char *key)
{
    size_t length = strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && key[length] == '\0' && length < sizeof((struct tb_postulate_arm *)0)->key;
}

static int arms_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                     void *object)
{
    struct tb_postulate *out = object;
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, value, field->key, TB_YAML_MAP);
    if (!rc && (value->count == 0 || value->count > TB_LIST_MAX))
        rc = tb_yaml_bad(source, value->line, "%zu arms, and there have to be 1 to %d", value->count, TB_LIST_MAX);
    for (size_t i = 0; !rc && i < value->count; i++) {
        const struct tb_yaml *item = &value->items[i];
        if (!arm_key_good(item->key))
            return tb_yaml_bad(source, item->key_line, "arm '%s': a key is one to seven letters and digits, such as A",
                               tb_yaml_shown(item->key, shown));
        snprintf(out->arms[i].key, sizeof out->arms[i].key, "%s", item->key);
        rc = tb_yaml_text(source, item, item->key, out->arms[i].name, sizeof out->arms[i].name);
        out->arms_count += !rc;
    }
    return rc;
}

static bool cell_known(const char *text)
{
    char workload[TB_WORKLOAD_NAME];
    struct tb_cell cell;
    return tb_cell_parse(text, workload, &cell) == 0 && (tb_workload_find(workload) || tb_known_trace(workload));
}

static int cells_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                      void *object)
{
    struct tb_postulate *out = object;
    int rc = text_list_read(source, value, field->key, out->cells, &out->cells_count);
    if (!rc && out->cells_count == 0)
        rc = tb_yaml_bad(source, value->line, "no cell: such as [churn-touch/full]");
    for (size_t i = 0; !rc && i < out->cells_count; i++)
        if (!cell_known(out->cells[i]))
            rc = tb_yaml_bad(
                source, value->items[i].line,
                "cell '%s' is not WORKLOAD/TOUCH: steady-decode, burst-storm, long-tail, churn-touch or a recorded trace "
                "(sample, azure-conv, azure-code, mooncake), then /none, /byte or /full, or /line (many nodes); then what is "
                "otherwise than in 'design', such as /4w, /64KiB or /futex",
                out->cells[i]);
    return rc;
}

#define MEMBER(name) offsetof(struct tb_postulate, name), sizeof((struct tb_postulate *)0)->name

static int design_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                       void *object)
{
    static const char *const units[] = {"process", NULL}, *const orders[] = {"random", NULL};
    static const char *const dispatches[] = {"inline", "spin", "futex", NULL};
    static const struct tb_yaml_field fields[] = {
        {"unit", tb_yaml_field_word, MEMBER(unit), 0, 0, units, false},
        {"rounds", tb_yaml_field_count, MEMBER(rounds), 1, 10000, NULL, false},
        {"order", tb_yaml_field_word, MEMBER(order), 0, 0, orders, false},
        {"dispatch", tb_yaml_field_word, MEMBER(dispatch), 0, 0, dispatches, false},
        {"workers", tb_yaml_field_count, MEMBER(workers), 1, TB_WORKERS_MAX, NULL, false},
        {"block_bytes", tb_yaml_field_count, MEMBER(block_bytes), 64, 1u << 30, NULL, false},
        {"laps", tb_yaml_field_count, MEMBER(laps), 1, TB_LAPS_MAX, NULL, false},
        {"seed", tb_yaml_field_count, MEMBER(seed), 0, INT64_MAX, NULL, false}, // JSON's whole numbers end here
        {NULL, NULL, 0, 0, 0, 0, NULL, false},
    };
    return tb_yaml_fields(source, value, field->key, fields, object);
}

static int predictions_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                            void *object)
{
    int rc = tb_yaml_want(source, value, field->key, TB_YAML_LIST);
    if (!rc && (value->count == 0 || value->count > TB_PREDICTIONS_MAX))
        rc = tb_yaml_bad(source, value->line, "%zu predictions, and there have to be 1 to %d", value->count, TB_PREDICTIONS_MAX);
    for (size_t i = 0; !rc && i < value->count; i++)
        rc = tb_prediction_read(source, &value->items[i], object);
    return rc;
}

static bool has_twins(const struct tb_postulate *postulate)
{
    for (uint32_t i = 0; i < postulate->arms_count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(postulate->arms[i].name, postulate->arms[j].name) == 0)
                return true;
    return false;
}

static int gates_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                      void *object)
{
    struct tb_postulate *out = object;
    int rc = text_list_read(source, value, field->key, out->gates, &out->gates_count);
    for (size_t i = 0; !rc && i < out->gates_count; i++) {
        bool twins = strncmp(out->gates[i], "aa_ratio_ci", strlen("aa_ratio_ci")) == 0;
        if (!tb_gate_known(out->gates[i]))
            rc = tb_yaml_bad(source, value->items[i].line,
                             "gate '%s' is not allocated == freed, pushed == drained, touched == expected, handles home, "
                             "paired_spread, throttle == 0, host_fit, aa_ratio_ci contains 1 or aa_ratio_ci inside band",
                             out->gates[i]);
        else if (twins && !has_twins(out))
            rc = tb_yaml_bad(source, value->items[i].line, "gate '%s' needs two arms with the same contender", out->gates[i]);
    }
    return rc;
}

static int prior_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                      void *object)
{
    struct tb_postulate *out = object;
    int rc = tb_yaml_want(source, value, field->key, TB_YAML_SCALAR);
    if (rc)
        return rc;
    size_t length = strlen(value->text);
    if (value->text[strspn(value->text, " \t\n")] == '\0' || length > PRIOR_BYTES_MAX)
        return tb_yaml_bad(source, value->line,
                           "'prior' has to say what was already known (or that nothing was) in at most %u bytes", PRIOR_BYTES_MAX);
    out->prior = strdup(value->text);
    return out->prior ? 0 : -ENOMEM;
}

static const struct tb_yaml_field fields[] = {
    {"id", id_read, MEMBER(id), 0, 0, NULL, false},
    {"title", tb_yaml_field_text, MEMBER(title), 0, 0, NULL, false},
    {"reproduces", id_read, MEMBER(reproduces), 0, 0, NULL, true},
    {"supersedes", id_read, MEMBER(supersedes), 0, 0, NULL, true},
    {"requires", requires_read, MEMBER(requires_), 0, 0, NULL, false},
    {"arms", arms_read, MEMBER(arms), 0, 0, NULL, false},
    {"cells", cells_read, MEMBER(cells), 0, 0, NULL, false},
    {"design", design_read, 0, 0, 0, 0, NULL, false},
    {"predictions", predictions_read, MEMBER(predictions), 0, 0, NULL, false},
    {"gates", gates_read, MEMBER(gates), 0, 0, NULL, false},
    {"prior", prior_read, MEMBER(prior), 0, 0, NULL, false},
    {NULL, NULL, 0, 0, 0, 0, NULL, false},
};

// --- the file ---

// The length of the line at text[0], and *next behind it; a CR before the newline is not part of it.
static size_t line_bytes(const char *text, size_t bytes, size_t *next)
{
    const char *newline = bytes ? memchr(text, '\n', bytes) : NULL;
    size_t length = newline ? (size_t)(newline - text) : bytes;
    *next = newline ? length + 1 : length;
    return length > 0 && newline && text[length - 1] == '\r' ? length - 1 : length;
}

static bool is_fence(const char *line, size_t length)
{
    return length == 3 && memcmp(line, "---", 3) == 0;
}

// Where the front matter begins and ends, and the prose begins.
static int split(const struct tb_yaml_source *source, const char *text, size_t bytes, size_t *begin, size_t *end, size_t *body)
{
    size_t next;
    if (!is_fence(text, line_bytes(text, bytes, &next)))
        return tb_yaml_bad(source, 1, "the first line has to be '---': front matter, then prose (see: locus postulate new)");
    *begin = next;
    for (size_t at = next; at < bytes; at += next) {
        if (is_fence(text + at, line_bytes(text + at, bytes - at, &next))) {
            *end = at;
            *body = at + next;
            return 0;
        }
    }
    return tb_yaml_bad(source, 1, "the front matter is not closed by a second line '---'");
}

static int front_read(const struct tb_yaml_source *source, const char *text, size_t bytes, struct tb_postulate *out)
{
    struct tb_yaml *root = NULL;
    int rc = tb_yaml_parse(source, 2, text, bytes, &root);
    if (rc)
        return rc;
    char number[8];
    memcpy(number, out->id, sizeof number);
    rc = tb_yaml_fields(source, root, "the front matter", fields, out);
    if (!rc && strcmp(number, out->id) != 0)
        rc = tb_yaml_bad(source, root->line, "the id is \"%s\", and the file's name says %s", out->id, number);
    if (!rc && out->supersedes[0] && strcmp(out->supersedes, out->id) >= 0)
        rc = tb_yaml_bad(source, root->line, "it cannot supersede \"%s\": only an earlier number", out->supersedes);
    tb_yaml_close(root);
    return rc;
}

static int read_all(const struct tb_yaml_source *source, const char *text, size_t bytes, struct tb_postulate *out)
{
    const char *slash = strrchr(source->path, '/'), *unclean;
    size_t begin = 0, end = 0, body = 0;
    if (!tb_postulate_name(slash ? slash + 1 : source->path, out->id, out->slug))
        return tb_yaml_bad(source, 1, "the file's name is not NNNN-slug.md with small letters, digits and '-'");
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", source->path) >= sizeof out->path)
        return -ENAMETOOLONG;
    if (bytes > FILE_BYTES_MAX)
        return tb_yaml_bad(source, 1, "larger than 1 MiB: this is no postulate");
    unsigned line = tb_yaml_unclean(text, bytes, &unclean);
    if (line)
        return tb_yaml_bad(source, line, "%s", unclean);
    int rc = split(source, text, bytes, &begin, &end, &body);
    if (!rc)
        rc = front_read(source, text + begin, end - begin, out);
    if (!rc)
        rc = tb_hash_memory(text, bytes, out->sha256);
    if (!rc) {
        out->body = strndup(text + body, bytes - body);
        rc = out->body ? 0 : -ENOMEM;
    }
    return rc;
}

int tb_postulate_parse(const char *path, const char *text, size_t bytes, struct tb_postulate **out, struct tb_postulate_why *why)
{
    const struct tb_yaml_source source = {path, why};
    struct tb_postulate *postulate = calloc(1, sizeof *postulate);
    why->text[0] = '\0';
    *out = NULL;
    int rc = postulate ? read_all(&source, text, bytes, postulate) : -ENOMEM;
    if (rc)
        tb_postulate_close(postulate);
    else
        *out = postulate;
    return rc;
}

int tb_postulate_load(const char *path, struct tb_postulate **out, struct tb_postulate_why *why)
{
    char *text = NULL;
    size_t bytes = 0;
    *out = NULL;
    int rc = tb_file_read(path, &text, &bytes);
    if (rc)
        snprintf(why->text, sizeof why->text, "%s: %s", path, rc == -EINVAL ? "not a file" : strerror(-rc));
    else
        rc = tb_postulate_parse(path, text, bytes, out, why);
    if (rc && !why->text[0])
        snprintf(why->text, sizeof why->text, "%s: %s", path, strerror(-rc));
    free(text);
    return rc;
}

void tb_postulate_close(struct tb_postulate *postulate)
{
    if (!postulate)
        return;
    free(postulate->prior);
    free(postulate->body);
    free(postulate);
}

// --- by number ---
