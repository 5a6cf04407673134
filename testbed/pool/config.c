// SPDX-License-Identifier: Apache-2.0
//
// config: tables of keys with a reader each (base/yaml/yaml.h), and what the keys say about each other.
//
// The watermarks are thousandths in the arena, so a value in between is refused instead of being rounded. The seed's hysteresis is
// what lies between its two watermarks, said a third time: of three numbers that must agree, one that does not is refused.
#include "testbed/pool/config.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/pages_evict.h"
#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/yaml/yaml.h"

#define FILE_BYTES_MAX (1u << 20) // arbitrary; a slip (a log for a configuration) is noticed
#define DURATION_MAX_NS 864000000000000000.0 // 10,000 days: fits 63 bits
#define COUNT_MAX 100000000u      // of adapters and uses; arbitrary

const struct tb_pool_config tb_pool_config_defaults = {
    .pages =
        {
            .page_bytes = 2u << 20,
            .pages = 4096,
            .page = LOCUS_PAGE_THP,
            .policy = LOCUS_POLICY_FIRST_TOUCH,
            .magazine_pages = 16,
            .score = &locus_score_weighted,
            .high_permille = 900,
            .low_permille = 800,
        },
    .alignment_bytes = 256,
    .pin_overdue_ns = 30000000000,
    .pin_timeout_ns = 100000000,
    .hot_budget = 100,
    .warm_budget = 1000,
    .compression_ns = 60000000000,
    .promotion_uses = 10,
};

// What is read, and where: the watermarks are compared with each other when all are known.
enum mark { MARK_HIGH, MARK_LOW, MARK_HYSTERESIS, MARKS };
struct reading {
    struct tb_pool_config config;
    const yaml_node_t *mark_node[MARKS]; // NULL: it was not given
    int mark[MARKS];            // permille
};

// "FILE:LINE: KEY VALUE is not WHAT".
static int refuse(struct tb_yaml *yaml, const yaml_node_t *value, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int refuse(struct tb_yaml *yaml, const yaml_node_t *value, const char *key, const char *format, ...)
{
    char what[400], shown[TB_YAML_SHOWN];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const char *text = value->type == YAML_SCALAR_NODE ? tb_yaml_raw(value) : "(a list or a map)";
    const char *quote = value->type == YAML_SCALAR_NODE && value->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ? "\"" : "";
    return tb_yaml_refuse(yaml, value, "%s %s%s%s is not %s", key, quote,
                          *text || *quote ? tb_yaml_shown(text, shown) : "without a value", quote, what);
}

// Of a scalar, plain or in quotes; "" otherwise, which no reader takes.
static const char *text_of(const yaml_node_t *value)
{
    return value->type == YAML_SCALAR_NODE ? tb_yaml_raw(value) : "";
}

static bool is_plain(const yaml_node_t *value)
{
    return value->type == YAML_SCALAR_NODE && value->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

#define PLACE(type, object, field) ((type *)((char *)(object) + (field)->offset))

// --- readers of single keys ----------------------------------------------------------------------------------------------------

static int page_size_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    static const struct {
        const char *name;
        uint64_t bytes;
    } sizes[] = {{"512KB", 512u << 10},  {"1MB", 1u << 20},  {"2MB", 2u << 20},  {"4MB", 4u << 20},
                 {"512KiB", 512u << 10}, {"1MiB", 1u << 20}, {"2MiB", 2u << 20}, {"4MiB", 4u << 20}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcasecmp(text_of(value), sizes[i].name) == 0) {
            *PLACE(uint64_t, object, field) = sizes[i].bytes;
            return 0;
        }
    return refuse(yaml, value, field->key, "a page's size: take \"512KB\", \"1MB\", \"2MB\" or \"4MB\"");
}

static int count_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    uint64_t count;
    if (!is_plain(value) || !tb_cli_u64(text_of(value), field->min, field->max, &count))
        return refuse(yaml, value, field->key, "a whole number from %llu to %llu, without quotes", (unsigned long long)field->min,
                      (unsigned long long)field->max);
    if (field->bytes == sizeof(uint32_t))
        *PLACE(uint32_t, object, field) = (uint32_t)count;
    else
        *PLACE(uint64_t, object, field) = count;
    return 0;
}

static int alignment_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    uint64_t bytes;
    if (!is_plain(value) || !tb_cli_u64(text_of(value), 1, 4096, &bytes) || (bytes & (bytes - 1)))
        return refuse(yaml, value, field->key,
                      "a power of two up to 4096: pages begin on multiples of 4096 bytes, and no more is "
                      "promised");
    *PLACE(uint64_t, object, field) = bytes;
    return 0;
}

static int strategy_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    bool first = strcmp(text_of(value), "first_fit") == 0;
    if (!first && strcmp(text_of(value), "best_fit") != 0)
        return refuse(yaml, value, field->key, "a strategy: take best_fit or first_fit");
    *PLACE(bool, object, field) = first;
    return 0;
}

static int score_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    char known[320] = "lru_size_aware";
    bool seeds = strcmp(text_of(value), known) == 0;
    const struct locus_score_ops *score = seeds ? &locus_score_weighted : locus_score_find(text_of(value));
    if (!score) {
        for (uint32_t i = 0; locus_score_at(i); i++)
            snprintf(known + strlen(known), sizeof known - strlen(known), ", %s", locus_score_at(i)->name);
        return refuse(yaml, value, field->key, "a policy: take one of %s", known);
    }
    *PLACE(const struct locus_score_ops *, object, field) = score;
    return 0;
}

static int duration_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    if (!tb_pool_duration(text_of(value), PLACE(uint64_t, object, field)))
        return refuse(yaml, value, field->key, "a duration: write a number and its unit, such as \"30s\", \"100ms\" or \"2m\"");
    return 0;
}

// `min` is the enum mark.
static int mark_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    struct reading *reading = object;
    double share = NAN;
    if (is_plain(value) && tb_yaml_number(yaml, value, field->key, &share))
        share = NAN;
    if (!(share >= 0 && share <= 1))
        return refuse(yaml, value, field->key, "a share of the pages: write 0 to 1, as in 0.90, without quotes");
    double permille = round(share * 1000);
    if (fabs(share * 1000 - permille) > 1e-6)
        return refuse(yaml, value, field->key, "in whole thousandths: the arena counts in these, so write %.3f", permille / 1000);
    reading->mark[field->min] = (int)permille;
    reading->mark_node[field->min] = value;
    return 0;
}

static int map_read(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    return tb_yaml_fields(yaml, value, field->key, field->words, object);
}

// --- the tables ----------------------------------------------------------------------------------------------------------------

#define MEMBER(name) offsetof(struct reading, config.name), sizeof((struct reading *)0)->config.name
#define COUNT(key, member, min, max)                                                                                               \
    {                                                                                                                              \
        key, count_read, MEMBER(member), min, max, NULL, true                                                                      \
    }
#define TIME(key, member)                                                                                                          \
    {                                                                                                                              \
        key, duration_read, MEMBER(member), 0, 0, NULL, true                                                                       \
    }
#define MARK(key, mark)                                                                                                            \
    {                                                                                                                              \
        key, mark_read, 0, 0, mark, 0, NULL, true                                                                                  \
    }

static const struct tb_yaml_field eviction_fields[] = {
    {"policy", score_read, MEMBER(pages.score), 0, 0, NULL, true},
    MARK("hysteresis", MARK_HYSTERESIS),
    MARK("high_watermark", MARK_HIGH),
    MARK("low_watermark", MARK_LOW),
    {0},
};

static const struct tb_yaml_field pinning_fields[] = {
    TIME("max_pin_duration", pin_overdue_ns),
    TIME("pin_timeout", pin_timeout_ns),
    {0},
};

static const struct tb_yaml_field adapters_fields[] = {
    COUNT("hot_tier_budget", hot_budget, 1, COUNT_MAX),
    COUNT("warm_tier_budget", warm_budget, 0, COUNT_MAX),
    TIME("compression_threshold", compression_ns),
    COUNT("promotion_threshold", promotion_uses, 1, COUNT_MAX),
    {0},
};

static const struct tb_yaml_field pool_fields[] = {
    {"page_size", page_size_read, MEMBER(pages.page_bytes), 0, 0, NULL, true},
    COUNT("total_pages", pages.pages, 1, LOCUS_PAGES_MAX),
    {"alignment", alignment_read, MEMBER(alignment_bytes), 0, 0, NULL, true},
    {"allocation_strategy", strategy_read, MEMBER(pages.first_fit), 0, 0, NULL, true},
    COUNT("thread_cache_size", pages.magazine_pages, 1, LOCUS_MAGAZINE_MAX),
    {"eviction", map_read, 0, 0, 0, 0, eviction_fields, true},
    {"pinning", map_read, 0, 0, 0, 0, pinning_fields, true},
    {"adapters", map_read, 0, 0, 0, 0, adapters_fields, true},
    {0},
};

static const struct tb_yaml_field file_fields[] = {
    {"memory_pool", map_read, 0, 0, 0, 0, pool_fields, false},
    {0},
};

// --- what the keys say about each other ----------------------------------------------------------------------------------------

static int marks_check(struct tb_yaml *yaml, struct reading *reading)
{
    const yaml_node_t *const *node = reading->mark_node;
    int *mark = reading->mark;
    if (!node[MARK_HIGH] && !node[MARK_LOW] && !node[MARK_HYSTERESIS])
        return 0;
    if (!node[MARK_HIGH])
        mark[MARK_HIGH] = (int)reading->config.pages.high_permille;
    if (!node[MARK_LOW]) // of hysteresis and the high one; without hysteresis the default
        mark[MARK_LOW] = node[MARK_HYSTERESIS] ? mark[MARK_HIGH] - mark[MARK_HYSTERESIS] : (int)reading->config.pages.low_permille;
    double high = mark[MARK_HIGH] / 1000.0, low = mark[MARK_LOW] / 1000.0;
    const yaml_node_t *at = node[MARK_LOW] ? node[MARK_LOW] : node[MARK_HIGH] ? node[MARK_HIGH] : node[MARK_HYSTERESIS];
    bool off = mark[MARK_HIGH] == 0 && mark[MARK_LOW] == 0;
    if (!off && (mark[MARK_LOW] < 0 || mark[MARK_LOW] >= mark[MARK_HIGH]))
        return tb_yaml_refuse(yaml, at,
                              "low_watermark %.3f is not below high_watermark %.3f: lower it, or write 0 for both, and "
                              "ranges leave only for want of room",
                              low, high);
    if (node[MARK_HYSTERESIS] && mark[MARK_HYSTERESIS] != mark[MARK_HIGH] - mark[MARK_LOW])
        return refuse(yaml, node[MARK_HYSTERESIS], "hysteresis",
                      "high_watermark %.3f less low_watermark %.3f: write %.3f, or leave it out", high, low, high - low);
    reading->config.pages.high_permille = (uint32_t)mark[MARK_HIGH];
    reading->config.pages.low_permille = (uint32_t)mark[MARK_LOW];
    return 0;
}

// Many begin a YAML file with this line. tb_yaml_open() takes one document without marks.
static void begin_skip(struct tb_yaml *yaml, const char **text, size_t *bytes)
{
    static const char begin[] = "---\n";
    if (*bytes >= sizeof begin - 1 && memcmp(*text, begin, sizeof begin - 1) == 0) {
        *text += sizeof begin - 1;
        *bytes -= sizeof begin - 1;
        yaml->line++;
    }
}

static int file_read(struct tb_yaml *yaml, const char *text, size_t bytes, struct reading *reading)
{
    const char *unclean;
    if (bytes > FILE_BYTES_MAX)
        return tb_yaml_bad(yaml, 1, "larger than 1 MiB: this is no configuration");
    unsigned line = tb_yaml_unclean(text, bytes, &unclean);
    if (line)
        return tb_yaml_bad(yaml, line, "%s: write plain text in UTF-8", unclean);
    begin_skip(yaml, &text, &bytes);
    int rc = tb_yaml_open(yaml, text, bytes);
    if (rc)
        return rc;
    rc = tb_yaml_fields(yaml, yaml_document_get_root_node(&yaml->document), "the file", file_fields, reading);
    if (!rc)
        rc = marks_check(yaml, reading);
    tb_yaml_close(yaml);
    return rc;
}

int tb_pool_config_parse(const char *path, const char *text, size_t bytes, struct tb_pool_config *out, char *why, size_t why_bytes)
{
    struct tb_yaml yaml = {.path = path, .why = why, .why_bytes = why_bytes, .line = 1};
    struct reading reading = {.config = tb_pool_config_defaults};
    why[0] = '\0';
    int rc = file_read(&yaml, text, bytes, &reading);
    if (!rc)
        *out = reading.config;
    else if (!why[0])
        snprintf(why, why_bytes, "%s: %s", path, strerror(-rc));
    return rc;
}

int tb_pool_config_load(const char *path, struct tb_pool_config *out, char *why, size_t why_bytes)
{
    char *text = NULL;
    size_t bytes = 0;
    int rc = tb_file_read(path, &text, &bytes);
    if (rc)
        snprintf(why, why_bytes, "%s: %s", path, rc == -EINVAL ? "not a file" : strerror(-rc));
    else
        rc = tb_pool_config_parse(path, text, bytes, out, why, why_bytes);
    free(text);
    return rc;
}

bool tb_pool_duration(const char *text, uint64_t *out_ns)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    char *end;
    if (!tb_yaml_matches(text, "[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h|d)"))
        return false;
    double number = strtod(text, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double ns = round(number * units[i].ns);
        if (strcmp(end, units[i].name) == 0 && ns >= 1 && ns <= DURATION_MAX_NS) {
            *out_ns = (uint64_t)ns;
            return true;
        }
    }
    return false;
}
