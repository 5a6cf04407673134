// SPDX-License-Identifier: Apache-2.0
//
// arena: the model of pages against counts made apart from it: who continues whom, a list in the order of use, sums of what is
// alive; what arithmetic says of watermarks; words of cells.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "testbed/serving/arena/arena.h"
#include "testbed/serving/arena/turns.h"
#include "testbed/serving/adapters/settings.h"
#include "placement/base/tests/sanitized.h"

static struct tb_scenario *scenario_open(const char *name, size_t requests)
{
    struct tb_scenario *scenario = NULL;
    struct tb_why why;
    cr_assert_eq(tb_scenario_open(name, requests, NULL, &scenario, &why), 0, "%s", why.text);
    return scenario;
}

// "65536p/nomark", filled in.
static struct tb_arena_settings settings_of(const char *words)
{
    struct tb_arena_settings settings = {0};
    char copy[160], *rest = NULL;
    uint32_t requests = 0;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, "/", &rest); word; word = strtok_r(NULL, "/", &rest))
        cr_assert(tb_arena_setting(&settings, word, &requests), "%s", word);
    tb_arena_settings_fill(&settings);
    return settings;
}

static struct tb_arena run(const struct tb_scenario *scenario, const char *words, const char *score)
{
    struct tb_arena out;
    struct tb_why why = {""};
    struct tb_arena_settings settings = settings_of(words);
    cr_assert_eq(tb_arena_settings_check(scenario, "x", &settings, &why), 0, "%s", why.text);
    int error = tb_arena(scenario, &settings, locus_score_find(score), &out, &why);
    if (error == -ENOMEM)
        cr_skip_test("this machine gives an arena of this size no address space");
    cr_assert_eq(error, 0, "%s", why.text);
    cr_expect_eq(out.admitted + out.turned_away, scenario->count);
    return out;
}

// --- turns ---------------------------------------------------------------------------------------------------------------------

// Looks at all earlier requests, id by id.
static void turns_are(const struct tb_scenario *scenario, const struct tb_turn turns[])
{
    bool *continued = calloc(scenario->count, sizeof *continued);
    for (uint32_t r = 0; r < scenario->count; r++) {
        const struct tb_request *later = &scenario->requests[r];
        uint32_t best = TB_TURN_NONE, most = 0;
        for (uint32_t q = 0; q < r; q++) {
            const struct tb_request *earlier = &scenario->requests[q];
            uint32_t blocks = earlier->prompt_tokens / scenario->id_tokens;
            bool begins = blocks > 0 && blocks <= later->prompt_tokens / scenario->id_tokens &&
                          memcmp(scenario->ids + earlier->ids_first, scenario->ids + later->ids_first, blocks * 8) == 0;
            bool later_twin = false; // the latest with the same prompt stands for all of them
            for (uint32_t p = q + 1; p < r && begins; p++)
                later_twin |=
                    scenario->requests[p].prompt_tokens / scenario->id_tokens == blocks &&
                    memcmp(scenario->ids + earlier->ids_first, scenario->ids + scenario->requests[p].ids_first, blocks * 8) == 0;
            if (begins && !continued[q] && !later_twin && blocks * scenario->id_tokens > most) {
                best = q;
                most = blocks * scenario->id_tokens;
            }
        }
        cr_assert_eq(turns[r].before, best, "%u: %u and not %u", r, turns[r].before, best);
        cr_assert_eq(turns[r].tokens, most);
        cr_assert_eq(turns[r].conversation, best == TB_TURN_NONE ? r : turns[best].conversation);
        if (best != TB_TURN_NONE)
            continued[best] = true;
    }
    free(continued);
}

Test(arena, a_turn_continues_the_one_whose_whole_prompt_begins_its_own)
{
    static const char *const names[] = {"turns", "few-shot"};
    for (size_t i = 0; i < 2; i++) {
        struct tb_scenario *scenario = scenario_open(names[i], 600);
        struct tb_turn *turns;
        cr_assert_eq(tb_turns(scenario, &turns), 0);
        turns_are(scenario, turns);
        free(turns);
        tb_scenario_close(scenario);
    }
}

// Two questions after one beginning: the first takes it on, the second finds the first's only as far as it is whole.
Test(arena, nobody_is_continued_twice)
{
    uint64_t ids[] = {1, 2, 1, 2, 3, 1, 2, 4, 1, 2, 3, 5};
    struct tb_request requests[] = {
        {.prompt_tokens = 32, .output_tokens = 1, .ids_first = 0, .ids_count = 2},
        {.prompt_tokens = 48, .output_tokens = 1, .ids_first = 2, .ids_count = 3},
        {.prompt_tokens = 48, .output_tokens = 1, .ids_first = 5, .ids_count = 3},
        {.prompt_tokens = 49, .output_tokens = 1, .ids_first = 8, .ids_count = 4},
    };
    const struct tb_scenario fork = {.requests = requests, .count = 4, .ids = ids, .ids_count = 12, .id_tokens = 16};
    struct tb_turn *turns;
    cr_assert_eq(tb_turns(&fork, &turns), 0);
    turns_are(&fork, turns);
    cr_expect(turns[1].before == 0 && turns[2].before == TB_TURN_NONE && turns[3].before == 1 && turns[3].tokens == 48);
    cr_expect(turns[2].conversation == 2 && turns[3].conversation == 0);
    free(turns);
}

Test(arena, without_ids_nobody_continues_anybody)
{
    struct tb_scenario *poisson = scenario_open("poisson", 50);
    struct tb_turn *turns;
    cr_assert_eq(tb_turns(poisson, &turns), 0);
    for (uint32_t i = 0; i < 50; i++)
        cr_expect(turns[i].before == TB_TURN_NONE && turns[i].conversation == i && turns[i].tokens == 0);
    free(turns);
    tb_scenario_close(poisson);
}

// --- counted apart from the model ----------------------------------------------------------------------------------------------

static uint64_t end_ns(const struct tb_request *request)
{
    return request->arrival_ns + request->prompt_tokens * UINT64_C(100000) + request->output_tokens * UINT64_C(20000000);
}

// A place for so many adapters; who was unpinned longest ago leaves.
struct counts {
    uint32_t found, thrash, reloaded;
};

static struct counts list_counts(const struct tb_scenario *scenario, const struct tb_adapter_use uses[], uint32_t adapters,
                                 uint32_t places)
{
    struct counts counts = {0};
    uint64_t *ends = calloc(adapters, sizeof *ends), *left = calloc(adapters, sizeof *left);
    bool *held = calloc(adapters, sizeof *held), *known = calloc(adapters, sizeof *known);
    uint32_t count = 0;
    for (uint32_t i = 0; i < scenario->count; i++) {
        const struct tb_request *request = &scenario->requests[i];
        uint32_t adapter = uses[i].adapter, victim = UINT32_MAX;
        counts.found += held[adapter];
        counts.reloaded += known[adapter] && !held[adapter];
        counts.thrash += known[adapter] && !held[adapter] && request->arrival_ns - left[adapter] <= 1000000000;
        for (uint32_t a = 0; a < adapters && !held[adapter] && count == places; a++)
            if (held[a] && ends[a] <= request->arrival_ns && (victim == UINT32_MAX || ends[a] < ends[victim]))
                victim = a;
        if (victim != UINT32_MAX) {
            held[victim] = false;
            left[victim] = request->arrival_ns;
            count--;
        }
        count += !held[adapter];
        held[adapter] = known[adapter] = true;
        cr_assert_leq(count, places, "all are pinned");
        ends[adapter] = end_ns(request) > ends[adapter] ? end_ns(request) : ends[adapter];
    }
    free(ends), free(left), free(held), free(known);
    return counts;
}

// Each kind in a zone of its own, and room for KV without end: 7 pages hold an adapter of rank 8, and nothing else is evicted.
Test(arena, lru_finds_what_a_list_in_the_order_of_use_finds)
{
    struct tb_scenario *poisson = scenario_open("poisson", 4000);
    struct tb_adapter_settings draws = {.adapters = 500, .again_percent = 30, .seed = 5};
    struct tb_adapter_use *uses;
    uint32_t count;
    tb_adapter_settings_fill(&draws);
    cr_assert_eq(tb_adapter_uses(poisson, &draws, &uses, &count), 0);
    for (uint32_t percent = 7; percent <= 21; percent += 7) {
        char words[96];
        snprintf(words, sizeof words, "1000p/nomark/zones70-%u/500a/again30/seed5/noscratch", percent);
        struct tb_arena out = run(poisson, words, "lru");
        struct counts counts = list_counts(poisson, uses, 500, 10 * percent / 7);
        cr_expect_eq(out.turned_away, 0);
        cr_expect_eq(lround(out.adapter_hit_ratio * 4000), counts.found, "%u%%", percent);
        cr_expect_eq(out.adapter_thrash, counts.thrash);
        cr_expect_eq(out.adapter_reloaded_bytes, counts.reloaded * UINT64_C(13631488));
        cr_expect_eq(out.both_reloaded_pages, counts.reloaded * 7);
        cr_expect_float_eq(out.byte_hit_ratio, (double)counts.found / (counts.found + counts.reloaded), 1e-12);
        cr_expect_float_eq(out.lost_mean_ns, counts.reloaded * 4543829.0 / 4000, 1e-3);
        cr_expect_eq(out.left_by_mark, 0);
        cr_expect(counts.found > 0 && counts.reloaded > 0 && (percent > 7 || counts.thrash > 0), "%u %u %u", counts.found,
                  counts.reloaded, counts.thrash);
    }
    free(uses);
    tb_scenario_close(poisson);
}

// Without anything else in a large arena, the pages of those that run.
Test(arena, pages_in_use_are_those_of_the_requests_that_run)
{
    struct tb_scenario *sizes = scenario_open("poisson", 2000);
    struct tb_arena out = run(sizes, "4000p/noadapters/noscratch", "lru");
    double sum = 0, last = (double)sizes->requests[1999].arrival_ns;
    uint32_t most = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        const struct tb_request *request = &sizes->requests[i];
        uint32_t pages = (request->prompt_tokens + request->output_tokens + 15) / 16, alive = 0; // 16 tokens of 128 KiB are a page
        sum += pages * (fmin((double)end_ns(request), last) - (double)request->arrival_ns);
        for (uint32_t j = 0; j <= i; j++)
            alive += end_ns(&sizes->requests[j]) > request->arrival_ns ? pages : 0;
        most = alive > most ? alive : most;
    }
    cr_expect_float_eq(out.used_mean, sum / last / 4000, 1e-9);
    cr_expect_float_eq(out.pinned_mean, out.used_mean, 1e-12);
    cr_expect_eq(out.used_peak, most / 4000.0);
    cr_expect(isnan(out.used_full_mean) && isnan(out.stretch_least) && out.full_ratio == 0);
    cr_expect(isnan(out.adapter_hit_ratio) && isnan(out.kv_hit_ratio));
    tb_scenario_close(sizes);
}

// KV of a turn that was found is freed, once nobody pins it, or the arena would fill.
Test(arena, with_room_for_all_each_turn_is_found_and_one_range_of_a_conversation_stays)
{
    struct tb_scenario *talk = scenario_open("turns", 1500);
    struct tb_arena out = run(talk, "16000p/nomark/Llama-3.2-1B/noadapters/noscratch", "lru");
    struct tb_turn *turns;
    uint64_t tokens = 0, turns_count = 0, pages = 0;
    cr_assert_eq(tb_turns(talk, &turns), 0);
    bool *ended = calloc(1500, sizeof *ended);
    for (uint32_t i = 0; i < 1500; i++) {
        turns_count += turns[i].before != TB_TURN_NONE;
        tokens += turns[i].tokens;
        if (turns[i].before != TB_TURN_NONE)
            ended[turns[i].before] = true;
    }
    for (uint32_t i = 0; i < 1500; i++)
        pages += ended[i] ? 0 : (talk->requests[i].prompt_tokens + talk->requests[i].output_tokens + 63) / 64;
    cr_expect_eq(out.turns, turns_count);
    cr_expect_eq(out.turns_found, turns_count);
    cr_expect_eq(out.copied_bytes, tokens * 32768);
    cr_expect_eq(out.kv_hit_ratio, 1);
    cr_expect_eq(out.left_for_room + out.kv_reloaded_bytes + out.both_thrash, 0);
    cr_expect_geq(out.used_peak * 16000, (double)pages);
    cr_expect_leq(out.used_peak * 16000, (double)pages * 1.1, "%g of %g", out.used_peak * 16000, (double)pages);
    free(ended);
    free(turns);
    tb_scenario_close(talk);
}

// --- what must be, whatever the arena does ------------------------------------------------------------------------------------

static double scored(const char *name, uint32_t pages, uint64_t idle_ns, uint64_t cost_ns)
{
    struct locus_score_view view = {LOCUS_PAGES_KV, pages, 1000, 7, idle_ns, cost_ns};
    return locus_score_find(name)->score(&view);
}

Test(arena, scores_are_as_their_files_say)
{
    cr_expect_float_eq(scored("lru-size", 9, 50, 1), -450, 1e-9);
    cr_expect_float_eq(scored("cost", 10, 50, 1000), 2, 1e-9);
    cr_expect_float_eq(scored("cost", 10, 0, 1000), 100, 1e-9);
    uint32_t count = 0;
    while (locus_score_at(count))
        count++;
    cr_expect_eq(count, 4, "a file's score is missing from the list");
}

// Only adapters of one size may leave, so the order in which they were used is the order of each of these scores.
Test(arena, of_ranges_of_one_kind_and_size_each_score_is_lru)
{
    struct tb_scenario *poisson = scenario_open("poisson", 3000);
    static const char *const scores[] = {"lru-size", "cost", "weighted"};
    struct tb_arena lru = run(poisson, "600p/noscratch", "lru");
    cr_expect_gt(lru.left_by_mark, 100);
    for (size_t i = 0; i < 3; i++) {
        struct tb_arena other = run(poisson, "600p/noscratch", scores[i]);
        cr_expect_eq(memcmp(&other.admitted, &lru.admitted, offsetof(struct tb_arena, kv_hit_ratio)), 0, "%s", scores[i]);
        cr_expect_eq(other.adapter_hit_ratio, lru.adapter_hit_ratio, "%s", scores[i]);
        cr_expect_eq(other.stretch_mean, lru.stretch_mean, "%s", scores[i]);
    }
    struct tb_arena mixed = run(poisson, "600p/noscratch/rankmix", "lru"),
                    by_size = run(poisson, "600p/noscratch/rankmix", "lru-size");
    cr_expect_neq(mixed.adapter_hit_ratio, by_size.adapter_hit_ratio);
    tb_scenario_close(poisson);
}

// A range that crosses the mark is there before others leave, and the last that leaves may be larger than what was left to go.
Test(arena, the_watermarks_hold_but_for_one_range_on_either_side)
{
    struct tb_scenario *talk = scenario_open("turns", 4000);
    double largest = ceil(talk->most_tokens / 64.0) / 1000;
    struct tb_arena out = run(talk, "1000p/Llama-3.2-1B/mark900-800/noscratch/noadapters", "lru");
    cr_expect_gt(out.left_by_mark, 200);
    cr_expect(out.used_peak >= 0.9 && out.used_peak < 0.9 + largest, "%g", out.used_peak);
    cr_expect(out.used_full_mean > 0.8 && out.used_full_mean < 0.87, "%g", out.used_full_mean); // a sawtooth
    cr_expect_leq(0.8 * out.stretch_good_ratio, out.stretch_mean);
    cr_expect_float_eq(out.lost_mean_ns, (double)out.kv_reloaded_bytes / 32768 * 100000 / (double)out.admitted, 1e-3);
    cr_expect_eq(out.above_95_ratio, 0);
    struct tb_arena narrow = run(talk, "1000p/Llama-3.2-1B/mark900-890/noscratch/noadapters", "lru");
    cr_expect_gt(narrow.used_full_mean, out.used_full_mean + 0.02, "%g", narrow.used_full_mean);
    struct tb_arena high = run(talk, "1000p/Llama-3.2-1B/mark990-980/noscratch/noadapters", "lru");
    struct tb_arena none = run(talk, "1000p/Llama-3.2-1B/nomark/noscratch/noadapters", "lru");
    cr_expect_eq(none.left_by_mark, 0);
    cr_expect(high.used_full_mean > out.used_full_mean && high.used_peak > 0.95, "%g", high.used_full_mean);
    cr_expect(none.used_peak > 0.95 && none.left_for_room > 100, "%g", none.used_peak); // pages in the wrong places stay free
    tb_scenario_close(talk);
}

Test(arena, a_run_says_the_same_twice_and_another_seed_something_else)
{
    struct tb_scenario *talk = scenario_open("turns", 800);
    static const char *const rows[] = {"500p", "500p/ends", "500p/firstfit", "500p/zones60-30", "500p/rankmix/rate20/nomark"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char other[96];
        snprintf(other, sizeof other, "%s/seed2", rows[i]);
        struct tb_arena a = run(talk, rows[i], "cost"), b = run(talk, rows[i], "cost"), c = run(talk, other, "cost");
        cr_expect_eq(memcmp(&a, &b, offsetof(struct tb_arena, room_p50_ns)), 0, "%s", rows[i]); // behind these are times
        cr_expect_neq(a.stretch_mean, c.stretch_mean, "%s", rows[i]);
        cr_expect(a.failed_ranges >= a.turned_away && a.turned_away >= a.too_large);
    }
    tb_scenario_close(talk);
}

// A clock that is coarse may show a quick call as 0.
static void times_are_in_order(const struct tb_arena *out)
{
    cr_expect(0 <= out->room_p50_ns && out->room_p50_ns <= out->room_p99_ns && out->room_p99_ns <= out->room_p999_ns);
    cr_expect(0 <= out->pin_p50_ns && out->pin_p50_ns <= out->pin_p99_ns && out->pin_p50_ns <= out->room_p50_ns);
    cr_expect(0 <= out->unpin_p50_ns && out->unpin_p50_ns <= out->unpin_p99_ns);
}

Test(arena, its_calls_have_real_times_where_there_are_such_calls)
{
    struct tb_scenario *talk = scenario_open("turns", 2000);
    struct tb_arena out = run(talk, "500p", "lru"), wide = run(talk, "65536p/nomark", "lru");
    times_are_in_order(&out);
    times_are_in_order(&wide);
    cr_expect(0 < out.evict_p50_ns && out.evict_p50_ns <= out.evict_p99_ns);
    cr_expect_geq(out.evict_p50_ns, out.room_p50_ns);
    cr_expect_leq(out.evict_p50_ns, out.room_p999_ns * 1.02, "%g of all allocations", out.room_p999_ns); // more than one in 1000
    double left = (double)(out.left_by_mark + out.left_for_room);
    cr_expect_gt(left, 200);
    cr_expect_geq(out.evict_range_ns * left * 1.02, out.evict_p99_ns, "all of them take longer than one");
    cr_expect_eq(wide.left_by_mark + wide.left_for_room, 0);
    cr_expect(isnan(wide.evict_p50_ns) && isnan(wide.evict_p99_ns) && isnan(wide.evict_range_ns), "nobody left");
    tb_scenario_close(talk);
}

// --- cells ---------------------------------------------------------------------------------------------------------------------

Test(arena, a_cell_says_its_words_once)
{
    static const struct {
        const char *words, *text;
    } rows[] = {
        {"4096p", "pages/4096p/mark900-800/rank8/10000a/scratch20/Llama-3-8B/seed1"},
        {"64p/mark950-900/ends/rank64/200a/again60/scratch5/rate2.5/Llama-3.2-1B/seed7/firstfit",
         "pages/64p/mark950-900/ends/firstfit/rank64/200a/again60/scratch5/rate2.5/Llama-3.2-1B/seed7"},
        {"nomark/zones/noadapters/noscratch", "pages/4096p/nomark/zones70-20/noadapters/noscratch/Llama-3-8B/seed1"},
        {"zones50-40/rankmix", "pages/4096p/mark900-800/zones50-40/rankmix/10000a/scratch20/Llama-3-8B/seed1"},
    };
    static const char *const wrong[] = {"p",          "0p",        "4096",    "mark900",    "mark900-900", "mark80-90",
                                        "mark1001-1", "zones99-1", "zones50", "rank0",      "again100",    "rate0",
                                        "16t",        "end",       "seed",    "noscratch1", "hot"};
    static const char *const twice[] = {"64p/64p",           "nomark/mark900-800", "mark900-800/nomark", "mark9-8/mark9-8",
                                        "ends/zones",        "zones50-40/ends",    "rank8/rankmix",      "rankmix/rank8",
                                        "noadapters/rank8",  "rank8/noadapters",   "noscratch/scratch5", "scratch5/noscratch",
                                        "firstfit/firstfit", "seed1/seed2"};
    char text[200];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tb_arena_settings settings = settings_of(rows[i].words), again;
        tb_arena_settings_text(&settings, 0, text, sizeof text);
        cr_expect_str_eq(text, rows[i].text);
        again = settings_of(text + strlen("pages/"));
        cr_expect_eq(memcmp(&again, &settings, sizeof again), 0, "%s", text);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tb_arena_settings settings = {0};
        uint32_t requests = 0;
        cr_expect_not(tb_arena_setting(&settings, wrong[i], &requests), "%s", wrong[i]);
    }
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        struct tb_arena_settings settings = {0};
        uint32_t requests = 0;
        char copy[64], *second;
        snprintf(copy, sizeof copy, "%s", twice[i]);
        second = strchr(copy, '/');
        *second++ = '\0';
        cr_expect(tb_arena_setting(&settings, copy, &requests), "%s", twice[i]);
        cr_expect_not(tb_arena_setting(&settings, second, &requests), "%s", twice[i]);
    }
}

Test(arena, sizes_are_those_of_the_shape)
{
    static const struct {
        const char *words;
        uint32_t adapter, kv;
    } rows[] = {{"rank8", 7, 63}, {"rank16", 13, 63}, {"rank64", 52, 63}, {"rank8/Llama-3.2-1B", 2, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tb_arena_settings settings = settings_of(rows[i].words);
        cr_expect_eq(tb_arena_pages_of(tb_arena_adapter_bytes(&settings, 3)), rows[i].adapter, "%s", rows[i].words);
        cr_expect_eq(tb_arena_kv_pages(&settings, 1000), rows[i].kv, "%s", rows[i].words);
    }
    struct tb_arena_settings mix = settings_of("rankmix");
    uint32_t of[3] = {0};
    for (uint32_t i = 0; i < 9000; i++) {
        uint64_t rank = tb_arena_adapter_bytes(&mix, i) / (2 * 851968);
        cr_assert(rank == 8 || rank == 16 || rank == 64);
        of[rank / 16 < 2 ? rank / 16 : 2]++;
    }
    for (int i = 0; i < 3; i++)
        cr_expect(of[i] > 2850 && of[i] < 3150, "%u", of[i]);
    for (uint32_t pages = 16; pages < 200; pages++) {
        struct tb_arena_settings zones = settings_of("zones97-1");
        uint32_t out[4];
        zones.pages = pages;
        tb_arena_zones(&zones, out);
        cr_expect(out[0] && out[1] && out[2] && out[3] && out[0] + out[1] + out[2] + out[3] == pages, "%u", pages);
    }
}

Test(arena, what_cannot_be_is_named)
{
    static const struct {
        const char *words, *says;
        size_t requests;
    } rows[] = {{"4096p", "all requests arrive at once", 1},
                {"100a", "100 adapters have no 101st", 10},
                {"15p", "fewer than 16", 10}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tb_scenario *poisson = scenario_open("poisson", rows[i].requests);
        struct tb_arena_settings settings = settings_of(rows[i].words);
        struct tb_why why = {""};
        cr_expect_eq(tb_arena_settings_check(poisson, "x", &settings, &why), -EINVAL);
        cr_expect(strstr(why.text, rows[i].says), "%s", why.text);
        tb_scenario_close(poisson);
    }
}

// KV that is larger than the arena is refused, and what else the request had goes back.
Test(arena, a_request_without_room_leaves_nothing_behind)
{
    struct tb_scenario *poisson = scenario_open("poisson", 300);
    struct tb_arena out = run(poisson, "19p/noscratch", "lru"); // its KV has 20 pages
    cr_expect_eq(out.turned_away, 300);
    cr_expect_eq(out.too_large, 300);
    cr_expect_eq(out.pinned_mean + out.used_mean, 0);
    struct tb_arena tight = run(poisson, "40p/nomark", "lru"); // an adapter of 7, and 20 for one at a time
    cr_expect(tight.admitted > 50 && tight.turned_away > 50 && tight.too_large == 0);
    tb_scenario_close(poisson);
}

#ifndef SANITIZED // its own memory does not fit below the limit
Test(arena, without_address_space_it_says_so)
{
    struct tb_scenario *poisson = scenario_open("poisson", 30);
    struct tb_arena_settings settings = settings_of("65536p"); // 32 GiB
    struct rlimit limit = {UINT64_C(8) << 30, UINT64_C(8) << 30};
    struct tb_arena out;
    struct tb_why why = {""};
    cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
    cr_expect_eq(tb_arena(poisson, &settings, locus_score_find("lru"), &out, &why), -ENOMEM);
    cr_expect_neq(why.text[0], '\0');
    tb_scenario_close(poisson);
}
#endif
