// SPDX-License-Identifier: Apache-2.0
//
// postulate: the file, its front matter by tables, and what its parts say about each other; see postulate.h.
//
// A file is taken as a whole or not at all. It is first held to be clean text (so that lines are what an editor shows, and
// nothing in it can play with a terminal), then cut at the two lines `---`, and only what is between them is YAML. The tables are
// read in their order, not in the file's: arms and cells before the predictions that name them.
#include "testbed/postulate/postulate.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/file.h"
#include "testbed/engine/model.h"
#include "testbed/measure/cell.h"
#include "testbed/measure/sample.h"
#include "testbed/postulate/known.h"
#include "testbed/postulate/postulate_parts.h"
#include "testbed/record/names.h"
#include "testbed/workload/batch.h"
#include "testbed/workload/known_trace.h"
#include "testbed/workload/scenarios/scenario.h"
#include "testbed/workload/workload.h"

#define FILE_BYTES_MAX (1u << 20) // arbitrary; prose has room, and a slip (a log for a postulate) is noticed
#define PRIOR_BYTES_MAX 8192u     // arbitrary

// --- readers of single keys ---

static int id_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(yaml, value, field->key, YAML_SCALAR_NODE);
    if (rc)
        return rc;
    const char *text = tb_yaml_raw(value);
    if (value->data.scalar.style == YAML_PLAIN_SCALAR_STYLE || !tb_yaml_matches(text, "[0-9]{4}"))
        return tb_yaml_refuse(yaml, value, "'%s' has to be four digits in quotes, such as \"0002\", not %s", field->key,
                              text[0] ? tb_yaml_shown(text, shown) : "nothing");
    memcpy((char *)object + field->offset, text, 5);
    return 0;
}

static bool need_known(const char *text)
{
    uint64_t least;
    return tb_need_name(text, &least) != NULL;
}

static bool cell_known(const char *text)
{
    char workload[TB_WORKLOAD_NAME];
    struct tb_cell cell;
    if (tb_cell_parse(text, workload, &cell))
        return false;
    struct tb_batch batch;
    struct tb_why why;
    if (tb_known_trace(workload))
        return true;
    return tb_touch_serves(cell.touch)     ? tb_scenario_find(workload) != NULL
           : cell.touch == TB_TOUCH_PINS   ? tb_pins_popularity(workload, &(bool){false})
           : cell.touch == TB_TOUCH_ENGINE ? tb_model_complete(workload, &(struct tb_model){0}, why.text, sizeof why.text) == 0
           : cell.touch == TB_TOUCH_DECODE ? tb_batch_read(workload, &batch, &why) == 0
                                           : tb_workload_known(workload);
}

// A list of words that are known.
struct words {
    size_t count;               // offset of its member
    bool (*known)(const char *text);
    const char *one, *are;      // what one is called, and what there are
};

static const struct words needs = {offsetof(struct tb_postulate, needs_count), need_known, "need", TB_NEEDS};
static const struct words gates = {offsetof(struct tb_postulate, gates_count), tb_gate_known, "gate", TB_GATES};
static const struct words cells = {
    offsetof(struct tb_postulate, cells_count), cell_known, "cell",
    "WORKLOAD/TOUCH: steady-decode, burst-storm, long-tail, churn-touch, batch-SEQUENCESxCONTEXT or a recorded trace (sample, "
    "azure-conv, azure-code, mooncake), then /none, /byte or /full, or /line (many nodes); then what is otherwise than in "
    "'design', such as /4w, /64KiB or /futex; or such a batch or a recorded trace, then /decode and its settings, such as "
    "/Llama-3-8B/128t; or a recorded trace or a scenario, then /serve, where arms are strategies, /keep, where they are "
    "policies, /adapters, where they are batchers, /residency, where they are policies of residency, or /pages, where they are "
    "scores; or zipf or even, then /pins and its settings, such as zipf/pins/4t/64r, where they are ways to hold a range; or a "
    "model, then /engine and its settings, such as tiny/engine/56p/8b"};

static int words_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    const struct words *words = field->words;
    char(*out)[64] = (char(*)[64])((char *)object + field->offset);
    uint32_t *count = (uint32_t *)((char *)object + words->count);
    int rc = tb_yaml_want(yaml, value, field->key, YAML_SEQUENCE_NODE);
    size_t given = rc ? 0 : tb_yaml_count(value);
    if (given > TB_LIST_MAX)
        return tb_yaml_refuse(yaml, value, "'%s' has %zu entries, and at most %d fit", field->key, given, TB_LIST_MAX);
    for (size_t i = 0; !rc && i < given; i++) {
        const yaml_node_t *item = tb_yaml_at(yaml, value, i);
        rc = tb_yaml_text(yaml, item, field->key, out[i], sizeof out[i]);
        for (size_t j = 0; !rc && j < i; j++)
            if (strcmp(out[i], out[j]) == 0)
                rc = tb_yaml_refuse(yaml, item, "'%s' has '%s' twice", field->key, out[i]);
        if (!rc && !words->known(out[i]))
            rc = tb_yaml_refuse(yaml, item, "%s '%s' is not %s", words->one, out[i], words->are);
        *count += !rc;
    }
    return rc;
}

static int cells_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    int rc = words_read(yaml, value, field, object);
    if (!rc && ((struct tb_postulate *)object)->cells_count == 0)
        rc = tb_yaml_refuse(yaml, value, "no cell: such as [churn-touch/full]");
    return rc;
}

static int arms_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_postulate *out = object;
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(yaml, value, field->key, YAML_MAPPING_NODE);
    size_t count = rc ? 0 : tb_yaml_count(value);
    if (!rc && (count == 0 || count > TB_LIST_MAX))
        rc = tb_yaml_refuse(yaml, value, "%zu arms, and there have to be 1 to %d", count, TB_LIST_MAX);
    for (size_t i = 0; !rc && i < count; i++) {
        const yaml_node_t *key = tb_yaml_key_at(yaml, value, i);
        if (!tb_yaml_matches(tb_yaml_raw(key), "[A-Z0-9_]{1,7}"))
            return tb_yaml_refuse(yaml, key, "arm '%s': a key is one to seven letters and digits, such as A",
                                  tb_yaml_shown(tb_yaml_raw(key), shown));
        snprintf(out->arms[i].key, sizeof out->arms[i].key, "%s", tb_yaml_raw(key));
        rc = tb_yaml_text(yaml, tb_yaml_at(yaml, value, i), tb_yaml_raw(key), out->arms[i].name, sizeof out->arms[i].name);
        out->arms_count += !rc;
    }
    return rc;
}

#define MEMBER(name) offsetof(struct tb_postulate, name), sizeof((struct tb_postulate *)0)->name

static int rounds_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_postulate *out = object;
    bool until_decided = value->type == YAML_SEQUENCE_NODE;
    struct tb_yaml_field one = *field;
    int rc = 0;
    if (until_decided && tb_yaml_count(value) != 2)
        return tb_yaml_refuse(yaml, value, "'rounds' is a number, or [first, last]: rounds until decided");
    rc = tb_yaml_field_count(yaml, until_decided ? tb_yaml_at(yaml, value, 0) : value, &one, object);
    out->rounds_max = out->rounds;
    one.offset = offsetof(struct tb_postulate, rounds_max);
    if (!rc && until_decided)
        rc = tb_yaml_field_count(yaml, tb_yaml_at(yaml, value, 1), &one, object);
    if (!rc && until_decided && out->rounds_max <= out->rounds)
        rc = tb_yaml_refuse(yaml, value, "'rounds' is [first, last], the first below the last");
    return rc;
}

static int pairing_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    static const char *const pairings[] = {"rounds", "laps", NULL};
    char word[8];
    const struct tb_yaml_field known = {field->key, NULL, 0, sizeof word, 0, 0, pairings, true};
    int rc = tb_yaml_field_word(yaml, value, &known, word);
    if (!rc)
        ((struct tb_postulate *)object)->pair_laps = strcmp(word, "laps") == 0;
    return rc;
}

// A share of 1, or a distance from it: above 0, below 1.
static int share_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    double *out = (double *)((char *)object + field->offset);
    int rc = tb_yaml_number(yaml, value, field->key, out);
    if (!rc && !(*out > 0 && *out < 1))
        rc = tb_yaml_refuse(yaml, value, "'%s' has to be above 0 and below 1", field->key);
    return rc;
}

static int design_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    static const char *const units[] = {"process", NULL}, *const orders[] = {"random", NULL};
    static const char *const dispatches[] = {"inline", "spin", "futex", NULL};
    static const struct tb_yaml_field fields[] = {
        {"unit", tb_yaml_field_word, MEMBER(unit), 0, 0, units, false},
        {"rounds", rounds_read, MEMBER(rounds), 1, 10000, NULL, false},
        {"pairing", pairing_read, 0, 0, 0, 0, NULL, true},
        {"order", tb_yaml_field_word, MEMBER(order), 0, 0, orders, false},
        {"dispatch", tb_yaml_field_word, MEMBER(dispatch), 0, 0, dispatches, false},
        {"workers", tb_yaml_field_count, MEMBER(workers), 1, TB_WORKERS_MAX, NULL, false},
        {"block_bytes", tb_yaml_field_count, MEMBER(block_bytes), 64, 1u << 30, NULL, false},
        {"laps", tb_yaml_field_count, MEMBER(laps), 1, TB_LAPS_MAX, NULL, false},
        {"laps_counted", tb_yaml_field_count, MEMBER(laps_counted), 1, TB_LAPS_MAX, NULL, true},
        {"seed", tb_yaml_field_count, MEMBER(seed), 0, INT64_MAX, NULL, false}, // JSON's whole numbers end here
        {"aa_band", share_read, MEMBER(aa_band), 0, 0, NULL, true},
        {"repeat_lost", share_read, MEMBER(repeat_lost), 0, 0, NULL, true},
        {"repeat_times", tb_yaml_field_count, MEMBER(repeat_times), 1, 10, NULL, true},
        {NULL, NULL, 0, 0, 0, 0, NULL, false},
    };
    struct tb_postulate *out = object;
    int rc = tb_yaml_fields(yaml, value, field->key, fields, object);
    if (!rc && (out->repeat_lost > 0) != (out->repeat_times > 0))
        rc = tb_yaml_refuse(yaml, value, "'repeat_lost' and 'repeat_times' go together");
    bool newer = out->rounds_max > out->rounds || out->pair_laps || out->repeat_times || out->aa_band > 0;
    if (!rc && newer && out->rules < 2)
        rc = tb_yaml_refuse(yaml, value, "rounds until decided, pairing by laps, repeats and aa_band need the key rules: 2");
    return rc;
}

// 'none', or what was tried. Another seed is the least that tells a pilot from the run.
static int pilot_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    static const struct words tried = {offsetof(struct tb_postulate, pilot.cells_count), cell_known, "cell", "a cell"};
    static const struct tb_yaml_field fields[] = {
        {"host", tb_yaml_field_text, MEMBER(pilot.host), 0, 0, NULL, false},
        {"seed", tb_yaml_field_count, MEMBER(pilot.seed), 0, INT64_MAX, NULL, false},
        {"cells", words_read, MEMBER(pilot.cells), 0, 0, &tried, false},
        {NULL, NULL, 0, 0, 0, 0, NULL, false},
    };
    struct tb_postulate *out = object;
    if (value->type == YAML_SCALAR_NODE && strcmp(tb_yaml_raw(value), "none") == 0)
        return 0;
    if (value->type == YAML_SCALAR_NODE)
        return tb_yaml_refuse(yaml, value, "'pilot' is none, or has host, seed and cells of what was tried");
    int rc = tb_yaml_fields(yaml, value, field->key, fields, object);
    out->pilot.tried = !rc;
    if (!rc && out->pilot.seed == out->seed)
        rc = tb_yaml_refuse(yaml, value, "the pilot's seed is the run's: take another for what is filed");
    return rc;
}

static int predictions_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    int rc = tb_yaml_want(yaml, value, field->key, YAML_SEQUENCE_NODE);
    size_t count = rc ? 0 : tb_yaml_count(value);
    if (!rc && (count == 0 || count > TB_PREDICTIONS_MAX))
        rc = tb_yaml_refuse(yaml, value, "%zu predictions, and there have to be 1 to %d", count, TB_PREDICTIONS_MAX);
    for (size_t i = 0; !rc && i < count; i++)
        rc = tb_prediction_read(yaml, tb_yaml_at(yaml, value, i), object);
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

static int gates_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    const struct tb_postulate *out = object;
    int rc = words_read(yaml, value, field, object);
    for (size_t i = 0; !rc && i < out->gates_count; i++)
        if (strncmp(out->gates[i], "aa_ratio_ci", strlen("aa_ratio_ci")) == 0 && !has_twins(out))
            rc =
                tb_yaml_refuse(yaml, tb_yaml_at(yaml, value, i), "gate '%s' needs two arms with the same contender", out->gates[i]);
        else if (strcmp(out->gates[i], "aa_equivalent") == 0 && !(has_twins(out) && out->aa_band > 0))
            rc = tb_yaml_refuse(yaml, tb_yaml_at(yaml, value, i),
                                "gate 'aa_equivalent' needs two arms with the same contender, and aa_band in 'design'");
    return rc;
}

static int prior_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct tb_postulate *out = object;
    int rc = tb_yaml_want(yaml, value, field->key, YAML_SCALAR_NODE);
    if (rc)
        return rc;
    const char *text = tb_yaml_raw(value);
    if (text[strspn(text, " \t\n")] == '\0' || strlen(text) > PRIOR_BYTES_MAX)
        return tb_yaml_refuse(yaml, value, "'prior' has to say what was already known (or that nothing was) in at most %u bytes",
                              PRIOR_BYTES_MAX);
    out->prior = strdup(text);
    return out->prior ? 0 : -ENOMEM;
}

static const struct tb_yaml_field fields[] = {
    {"id", id_read, MEMBER(id), 0, 0, NULL, false},
    {"title", tb_yaml_field_text, MEMBER(title), 0, 0, NULL, false},
    {"question", tb_yaml_field_text, MEMBER(question), 0, 0, NULL, true},
    {"reproduces", id_read, MEMBER(reproduces), 0, 0, NULL, true},
    {"supersedes", id_read, MEMBER(supersedes), 0, 0, NULL, true},
    {"suite", tb_yaml_field_count, MEMBER(suite), 1, 2, NULL, true},
    {"rules", tb_yaml_field_count, MEMBER(rules), 2, 2, NULL, true},
    {"requires", words_read, MEMBER(needs), 0, 0, &needs, false},
    {"arms", arms_read, MEMBER(arms), 0, 0, NULL, false},
    {"cells", cells_read, MEMBER(cells), 0, 0, &cells, false},
    {"design", design_read, 0, 0, 0, 0, NULL, false},
    {"pilot", pilot_read, 0, 0, 0, 0, NULL, true},
    {"predictions", predictions_read, MEMBER(predictions), 0, 0, NULL, false},
    {"gates", gates_read, MEMBER(gates), 0, 0, &gates, false},
    {"prior", prior_read, MEMBER(prior), 0, 0, NULL, false},
    {NULL, NULL, 0, 0, 0, 0, NULL, false},
};

// --- the file ---

// The length of the line at text[0], and *next after it; a CR before the newline is not part of it.
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
static int split(const struct tb_yaml *yaml, const char *text, size_t bytes, size_t *begin, size_t *end, size_t *body)
{
    size_t next;
    if (!is_fence(text, line_bytes(text, bytes, &next)))
        return tb_yaml_bad(yaml, 1, "the first line has to be '---': front matter, then prose (see: locus postulate new)");
    *begin = next;
    for (size_t at = next; at < bytes; at += next) {
        if (is_fence(text + at, line_bytes(text + at, bytes - at, &next))) {
            *end = at;
            *body = at + next;
            return 0;
        }
    }
    return tb_yaml_bad(yaml, 1, "the front matter is not closed by a second line '---'");
}

// By rules 2 it says what was tried, and only by these.
static int pilot_check(struct tb_yaml *yaml, const yaml_node_t *root, uint64_t rules)
{
    bool there = false;
    for (size_t i = 0; i < tb_yaml_count(root); i++)
        there |= strcmp(tb_yaml_raw(tb_yaml_key_at(yaml, root, i)), "pilot") == 0;
    if (there == (rules > 1))
        return 0;
    return tb_yaml_refuse(yaml, root,
                          there ? "'pilot' needs the key rules: 2"
                                : "the front matter has no key 'pilot': what was tried before, or none");
}

static int front_read(struct tb_yaml *yaml, const char *text, size_t bytes, struct tb_postulate *out)
{
    char number[8];
    int rc = tb_yaml_open(yaml, text, bytes);
    if (rc)
        return rc;
    yaml_node_t *root = yaml_document_get_root_node(&yaml->document);
    memcpy(number, out->id, sizeof number);
    out->rules = 1;
    tb_postulate_early(out);
    rc = tb_yaml_fields(yaml, root, "the front matter", fields, out);
    if (!rc && strcmp(number, out->id) != 0)
        rc = tb_yaml_refuse(yaml, root, "the id is \"%s\", and the file's name says %s", out->id, number);
    if (!rc && out->supersedes[0] && strcmp(out->supersedes, out->id) >= 0)
        rc = tb_yaml_refuse(yaml, root, "it cannot supersede \"%s\": only an earlier number", out->supersedes);
    if (!rc)
        rc = pilot_check(yaml, root, out->rules);
    if (!rc && !out->question[0])
        snprintf(out->question, sizeof out->question, "%s", out->title);
    tb_yaml_close(yaml);
    return rc;
}

static int read_all(struct tb_yaml *yaml, const char *text, size_t bytes, struct tb_postulate *out)
{
    const char *slash = strrchr(yaml->path, '/'), *unclean;
    size_t begin = 0, end = 0, body = 0;
    if (!tb_postulate_name(slash ? slash + 1 : yaml->path, out->id, out->slug))
        return tb_yaml_bad(yaml, 1, "the file's name is not NNNN-slug.md with small letters, digits and '-'");
    if ((size_t)snprintf(out->path, sizeof out->path, "%s", yaml->path) >= sizeof out->path)
        return -ENAMETOOLONG;
    if (bytes > FILE_BYTES_MAX)
        return tb_yaml_bad(yaml, 1, "larger than 1 MiB: this is no postulate");
    unsigned line = tb_yaml_unclean(text, bytes, &unclean);
    if (line)
        return tb_yaml_bad(yaml, line, "%s", unclean);
    int rc = split(yaml, text, bytes, &begin, &end, &body);
    if (!rc)
        rc = front_read(yaml, text + begin, end - begin, out);
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
    struct tb_yaml yaml = {.path = path, .why = why->text, .why_bytes = sizeof why->text, .line = 2};
    struct tb_postulate *postulate = calloc(1, sizeof *postulate);
    why->text[0] = '\0';
    *out = NULL;
    int rc = postulate ? read_all(&yaml, text, bytes, postulate) : -ENOMEM;
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
    why->text[0] = '\0';
    int rc = tb_file_read(path, &text, &bytes);
    if (!rc)
        rc = tb_postulate_parse(path, text, bytes, out, why);
    if (rc && !why->text[0])
        snprintf(why->text, sizeof why->text, "%s: %s", path, text || rc != -EINVAL ? strerror(-rc) : "not a file");
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

// --- the folder ---

int tb_postulate_open(const char *number, struct tb_postulate **out, struct tb_postulate_why *why)
{
    char path[4096], id[8];
    *out = NULL;
    if (tb_postulate_id(number, id)) {
        snprintf(why->text, sizeof why->text, "'%.64s' is not the number of a postulate, such as 0002 (see: locus postulate list)",
                 number);
        return -ENOENT;
    }
    int rc = tb_postulate_find(TB_POSTULATES, id, path, sizeof path);
    if (rc == -ENOENT)
        snprintf(why->text, sizeof why->text,
                 TB_POSTULATES
                 "/%s-*.md: there is no such postulate here (see: locus postulate list, at the root of the repository)",
                 id);
    else if (rc)
        snprintf(why->text, sizeof why->text, TB_POSTULATES "/%s-*.md: %s", id,
                 rc == -ENOTUNIQ ? "two files have this number" : strerror(-rc));
    return rc ? rc : tb_postulate_load(path, out, why);
}

static int is_postulate(const struct dirent *entry)
{
    return fnmatch("*.md", entry->d_name, FNM_PERIOD) == 0 && strcmp(entry->d_name, "README.md") != 0;
}

int tb_postulates_load(struct tb_postulates *out)
{
    struct dirent **entries = NULL;
    char path[4096];
    int count = scandir(TB_POSTULATES, &entries, is_postulate, alphasort), rc = count < 0 ? -errno : 0;
    *out = (struct tb_postulates){.files = calloc(count > 0 ? (size_t)count : 1, sizeof *out->files)};
    if (!rc && !out->files)
        rc = -ENOMEM;
    for (int i = 0; i < count; i++) {
        struct tb_postulate_file *file = &out->files[out->count];
        snprintf(path, sizeof path, TB_POSTULATES "/%s", entries[i]->d_name);
        if (!rc && !(file->path = strdup(path)))
            rc = -ENOMEM;
        if (!rc) {
            tb_postulate_load(path, &file->postulate, &file->why);
            out->count++;
        }
        free(entries[i]);
    }
    free(entries);
    if (rc)
        tb_postulates_close(out);
    return rc;
}

void tb_postulates_close(struct tb_postulates *postulates)
{
    for (size_t i = 0; i < postulates->count; i++) {
        tb_postulate_close(postulates->files[i].postulate);
        free(postulates->files[i].path);
    }
    free(postulates->files);
    *postulates = (struct tb_postulates){0};
}
