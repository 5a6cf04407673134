// SPDX-License-Identifier: Apache-2.0
//
// The configuration: the seed's own file, every refusal with its line and its remedy, and what the keys say about each other.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locus/pages_evict.h"
#include "testbed/pool/config.h"

static const char seeds[] = "memory_pool:\n"
                            "  # Page configuration\n"
                            "  page_size: \"2MB\"              # 512KB, 1MB, 2MB, 4MB\n"
                            "  total_pages: 4096\n"
                            "  alignment: 256                # Bytes\n"
                            "  allocation_strategy: \"best_fit\"\n"
                            "  thread_cache_size: 16\n"
                            "  eviction:\n"
                            "    policy: \"lru_size_aware\"\n"
                            "    hysteresis: 0.1\n"
                            "    high_watermark: 0.90\n"
                            "    low_watermark: 0.80\n"
                            "  pinning:\n"
                            "    max_pin_duration: \"30s\"\n"
                            "    pin_timeout: \"100ms\"\n"
                            "  adapters:\n"
                            "    hot_tier_budget: 100\n"
                            "    warm_tier_budget: 1000\n"
                            "    compression_threshold: \"60s\"\n"
                            "    promotion_threshold: 10\n";

static struct tb_pool_config config;
static char why[1024];

static int parse(const char *text)
{
    return tb_pool_config_parse("pool.yaml", text, strlen(text), &config, why, sizeof why);
}

static void same(const struct tb_pool_config *a, const struct tb_pool_config *b)
{
    cr_assert_eq(a->pages.page_bytes, b->pages.page_bytes);
    cr_assert_eq(a->pages.pages, b->pages.pages);
    cr_assert_eq(a->pages.first_fit, b->pages.first_fit);
    cr_assert_eq(a->pages.magazine_pages, b->pages.magazine_pages);
    cr_assert_eq(a->pages.score, b->pages.score);
    cr_assert_eq(a->pages.high_permille, b->pages.high_permille);
    cr_assert_eq(a->pages.low_permille, b->pages.low_permille);
    cr_assert_eq(a->alignment_bytes, b->alignment_bytes);
    cr_assert_eq(a->pin_overdue_ns, b->pin_overdue_ns);
    cr_assert_eq(a->pin_timeout_ns, b->pin_timeout_ns);
    cr_assert_eq(a->hot_budget, b->hot_budget);
    cr_assert_eq(a->warm_budget, b->warm_budget);
    cr_assert_eq(a->compression_ns, b->compression_ns);
    cr_assert_eq(a->promotion_uses, b->promotion_uses);
}

Test(config, the_seeds_file_gives_the_defaults)
{
    cr_assert_eq(parse(seeds), 0, "%s", why);
    same(&config, &tb_pool_config_defaults);
    cr_assert_eq(config.pages.score, &locus_score_weighted);
}

Test(config, a_file_with_no_key_gives_the_defaults)
{
    cr_assert_eq(parse("---\nmemory_pool: {}\n"), 0, "%s", why);
    same(&config, &tb_pool_config_defaults);
}

Test(config, every_key_has_an_effect)
{
    cr_assert_eq(parse(
                     "memory_pool:\n  page_size: 512kb\n  total_pages: 33\n  alignment: 4096\n  allocation_strategy: first_fit\n"
                     "  thread_cache_size: 3\n  eviction: {policy: lru, high_watermark: 0.905, low_watermark: 0.7}\n"
                     "  pinning: {max_pin_duration: 1.5m, pin_timeout: 20us}\n"
                     "  adapters: {hot_tier_budget: 7, warm_tier_budget: 0, compression_threshold: 1h, promotion_threshold: 2}\n"),
                 0, "%s", why);
    same(&config, &(struct tb_pool_config){.pages = {.page_bytes = 512 << 10,
                                                     .pages = 33,
                                                     .first_fit = true,
                                                     .magazine_pages = 3,
                                                     .score = &locus_score_lru,
                                                     .high_permille = 905,
                                                     .low_permille = 700},
                                           .alignment_bytes = 4096,
                                           .pin_overdue_ns = 90000000000,
                                           .pin_timeout_ns = 20000,
                                           .hot_budget = 7,
                                           .warm_budget = 0,
                                           .compression_ns = 3600000000000,
                                           .promotion_uses = 2});
}

Test(config, hysteresis_and_a_mark_give_the_other_mark)
{
    cr_assert_eq(parse("memory_pool: {eviction: {high_watermark: 0.95, hysteresis: 0.05}}\n"), 0, "%s", why);
    cr_assert_eq(config.pages.high_permille, 950);
    cr_assert_eq(config.pages.low_permille, 900);
    cr_assert_eq(parse("memory_pool: {eviction: {hysteresis: 0.2}}\n"), 0, "%s", why);
    cr_assert_eq(config.pages.low_permille, 700);
    cr_assert_eq(parse("memory_pool: {eviction: {high_watermark: 0, low_watermark: 0}}\n"), 0, "%s", why);
    cr_assert_eq(config.pages.high_permille, 0);
}

static const struct {
    const char *key, *value;    // in the seed's file in the place of the key's own value
    unsigned line;
    const char *says;
} bad[] = {
    {"page_size", "3MB", 3, "page_size 3MB is not a page's size: take \"512KB\", \"1MB\", \"2MB\" or \"4MB\""},
    {"page_size", "\"2 MB\"", 3, "page_size \"2 MB\" is not a page's size"},
    {"page_size", "[2MB]", 3, "page_size (a list or a map) is not a page's size"},
    {"page_size", "", 3, "page_size without a value is not a page's size"},
    {"total_pages", "0", 4, "total_pages 0 is not a whole number from 1 to 16777216, without quotes"},
    {"total_pages", "16777217", 4, "total_pages 16777217 is not a whole number"},
    {"total_pages", "1.5", 4, "total_pages 1.5 is not a whole number"},
    {"total_pages", "-1", 4, "total_pages -1 is not a whole number"},
    {"total_pages", "\"4096\"", 4, "total_pages \"4096\" is not a whole number from 1 to 16777216, without quotes"},
    {"total_pages", "many", 4, "total_pages many is not a whole number"},
    {"alignment", "100", 5, "alignment 100 is not a power of two up to 4096"},
    {"alignment", "8192", 5, "alignment 8192 is not a power of two up to 4096: pages begin on multiples of 4096 bytes"},
    {"alignment", "0", 5, "alignment 0 is not a power of two"},
    {"allocation_strategy", "worst_fit", 6, "allocation_strategy worst_fit is not a strategy: take best_fit or first_fit"},
    {"thread_cache_size", "0", 7, "thread_cache_size 0 is not a whole number from 1 to 64"},
    {"thread_cache_size", "65", 7, "thread_cache_size 65 is not a whole number from 1 to 64"},
    {"policy", "mru", 9, "policy mru is not a policy: take one of lru_size_aware, "},
    {"hysteresis", "0.2", 10, "hysteresis 0.2 is not high_watermark 0.900 less low_watermark 0.800: write 0.100, or leave it out"},
    {"high_watermark", "90", 11, "high_watermark 90 is not a share of the pages: write 0 to 1, as in 0.90"},
    {"high_watermark", "\"0.90\"", 11, "high_watermark \"0.90\" is not a share of the pages"},
    {"high_watermark", "nan", 11, "high_watermark nan is not a share of the pages"},
    {"high_watermark", "0.8", 12, "low_watermark 0.800 is not below high_watermark 0.800: lower it, or write 0 for both"},
    {"low_watermark", "0.8001", 12, "low_watermark 0.8001 is not in whole thousandths: the arena counts in these, so write 0.800"},
    {"low_watermark", "-0.1", 12, "low_watermark -0.1 is not a share of the pages"},
    {"low_watermark", "0.95", 12, "low_watermark 0.950 is not below high_watermark 0.900"},
    {"max_pin_duration", "30", 14, "max_pin_duration 30 is not a duration: write a number and its unit, such as \"30s\""},
    {"max_pin_duration", "\"30 s\"", 14, "max_pin_duration \"30 s\" is not a duration"},
    {"max_pin_duration", "0s", 14, "max_pin_duration 0s is not a duration"},
    {"max_pin_duration", "10001d", 14, "max_pin_duration 10001d is not a duration"},
    {"pin_timeout", "-100ms", 15, "pin_timeout -100ms is not a duration"},
    {"pin_timeout", "{}", 15, "pin_timeout (a list or a map) is not a duration"},
    {"hot_tier_budget", "0", 17, "hot_tier_budget 0 is not a whole number from 1"},
    {"warm_tier_budget", "x", 18, "warm_tier_budget x is not a whole number from 0"},
    {"compression_threshold", "soon", 19, "compression_threshold soon is not a duration"},
    {"promotion_threshold", "0", 20, "promotion_threshold 0 is not a whole number from 1"},
    {"eviction", "lru", 8, "not YAML"},
    {"adapters", "[1]", 16, "not YAML"},
};

// The seed's file with another value for one key.
static void with(const char *key, const char *value, char *out, size_t bytes)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "  %s:", key);
    const char *at = strstr(seeds, wanted), *end = strchr(at, '\n');
    snprintf(out, bytes, "%.*s%s %s%s", (int)(at - seeds), seeds, wanted, value, end);
}

Test(config, each_bad_value_is_refused_with_line_key_value_and_remedy)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2048], begin[64];
        with(bad[i].key, bad[i].value, text, sizeof text);
        config.alignment_bytes = 7;
        cr_assert_eq(parse(text), -EINVAL, "%s %s", bad[i].key, bad[i].value);
        cr_assert_eq(config.alignment_bytes, 7, "nothing is taken of a file that is refused");
        cr_assert(strstr(why, bad[i].says), "'%s' is not in '%s'", bad[i].says, why);
        snprintf(begin, sizeof begin, "pool.yaml:%u: ", bad[i].line);
        if (strcmp(bad[i].says, "not YAML") != 0) // where libyaml notices it
            cr_assert_eq(strncmp(why, begin, strlen(begin)), 0, "not %s: %s", begin, why);
        cr_assert_null(strchr(why, '\n'));
    }
}

static const struct {
    const char *text, *says;
} whole[] = {
    {"", "pool.yaml:1: there is nothing in it"},
    {"pool: {}\n", "pool.yaml:1: unknown key 'pool' in the file"},
    {"memory_pool: 3\n", "pool.yaml:1: 'memory_pool' is one value, and has to be a map"},
    {"- 1\n", "pool.yaml:1: 'the file' is a list, and has to be a map"},
    {"memory_pool:\n  page_sise: 2MB\n", "pool.yaml:2: unknown key 'page_sise' in memory_pool, did you mean 'page_size'?"},
    {"memory_pool:\n  eviction:\n    high: 0.9\n", "pool.yaml:3: unknown key 'high' in eviction, did you mean 'high_watermark'?"},
    {"memory_pool:\n  total_pages: 3\n  total_pages: 4\n", "pool.yaml:3: 'total_pages' is there twice (first in line 2)"},
    {"memory_pool: {}\nmemory_pool: {}\n", "pool.yaml:2: 'memory_pool' is there twice (first in line 1)"},
    {"memory_pool: &x {}\n", "pool.yaml:1: an anchor (&name)"},
    {"memory_pool:\n  page_size: \"\\x1b\"\n", "pool.yaml:2: a control character, written as an escape"},
    {"memory_pool:\n\tpage_size: 2MB\n", "pool.yaml:2: not YAML"},
    {"memory_pool: {}\n---\nmemory_pool: {}\n", "pool.yaml:2: a second document"},
    {"---\nmemory_pool:\n  alignment: 3\n", "pool.yaml:3: alignment 3 is not a power of two"},
};

Test(config, a_file_that_is_wrong_as_a_whole_is_refused_with_its_line)
{
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        cr_assert_eq(parse(whole[i].text), -EINVAL, "%s", whole[i].text);
        cr_assert_eq(strncmp(why, whole[i].says, strlen(whole[i].says)), 0, "not '%s': %s", whole[i].says, why);
    }
    cr_assert_eq(tb_pool_config_parse("pool.yaml", "a\0b", 3, &config, why, sizeof why), -EINVAL);
    cr_assert_str_eq(why, "pool.yaml:1: a NUL byte: write plain text in UTF-8");
    char *large = calloc(1, (1 << 20) + 1);
    cr_assert_eq(tb_pool_config_parse("pool.yaml", large, (1 << 20) + 1, &config, why, sizeof why), -EINVAL);
    cr_assert_str_eq(why, "pool.yaml:1: larger than 1 MiB: this is no configuration");
    free(large);
}

Test(config, a_file_that_cannot_be_read_is_named)
{
    cr_assert_eq(tb_pool_config_load("/nowhere/pool.yaml", &config, why, sizeof why), -ENOENT);
    cr_assert_str_eq(why, "/nowhere/pool.yaml: No such file or directory");
    cr_assert_eq(tb_pool_config_load("/", &config, why, sizeof why), -EISDIR);
    cr_assert_str_eq(why, "/: Is a directory");
}

Test(config, durations_have_a_unit)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"1ns", 1},           {"2.5us", 2500},       {"100ms", 100000000},   {"30s", 30000000000},
                {"2m", 120000000000}, {"1h", 3600000000000}, {"1d", 86400000000000}, {"10000d", 864000000000000000}};
    static const char *const wrong[] = {"", "s", "1", "1 s", " 1s", "1e3s", "+1s", "1s1", "0.1ns", "0h", "1S", "1min", "inf s"};
    uint64_t ns = 5;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        cr_assert(tb_pool_duration(good[i].text, &ns), "%s", good[i].text);
        cr_assert_eq(ns, good[i].ns, "%s", good[i].text);
    }
    ns = 5;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert(!tb_pool_duration(wrong[i], &ns) && ns == 5, "%s", wrong[i]);
}
