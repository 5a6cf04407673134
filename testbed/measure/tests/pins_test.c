// SPDX-License-Identifier: Apache-2.0
//
// pins: the words of a cell; that every way does the same work and gives all back; and that one which does not is named.
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/measure/cell.h"
#include "testbed/measure/contender.h"
#include "testbed/measure/pins/process.h"
#include "testbed/workload/adapters/popularity.h"

// --- cells ---------------------------------------------------------------------------------------------------------------------

Test(pins, words_of_a_cell_come_in_any_order_and_the_rest_is_usual)
{
    char workload[TB_WORKLOAD_NAME];
    struct tb_cell cell;
    static const char *const texts[] = {"zipf/pins/4t/64r/seed3", "zipf/pins/seed3/64r/4t"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(tb_cell_parse(texts[i], workload, &cell), 0);
        cr_expect_str_eq(workload, "zipf");
        cr_expect_eq(cell.touch, TB_TOUCH_PINS);
        cr_expect(cell.pins.threads == 4 && cell.pins.ranges == 64 && cell.pins.seed == 3 && cell.workers == 0);
    }
    cr_assert_eq(tb_cell_parse("even/pins", workload, &cell), 0);
    cr_expect(cell.pins.threads == 1 && cell.pins.ranges == 1024 && cell.pins.seed == 1);
    cr_expect(tb_touch_has_own_arms(cell.touch) && !tb_touch_serves(cell.touch));
}

Test(pins, what_is_no_word_of_it_is_refused_by_name)
{
    static const char *const texts[] = {"even/pins/0t",   "even/pins/65t",   "even/pins/0r",         "even/pins/65537r",
                                        "even/pins/4w",   "even/pins/2t/4t", "even/pins/8r/9r",      "even/pins/futex",
                                        "even/pins/4KiB", "even/pins/seed0", "even/pins/mark900-800"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char workload[TB_WORKLOAD_NAME], why[400];
        struct tb_cell cell;
        cr_expect_eq(tb_cell_parse(texts[i], workload, &cell), -EINVAL, "%s", texts[i]);
        tb_cell_why(texts[i], why, sizeof why);
        cr_expect(strstr(why, strrchr(texts[i], '/') + 1), "%s", why);
    }
}

static struct tb_schedule *planned(const char *popularity, struct tb_pins_settings settings)
{
    struct tb_schedule *schedule = NULL;
    char why[200] = "";
    tb_pins_settings_fill(&settings);
    cr_assert_eq(tb_pins_open(popularity, &settings, &schedule, why, sizeof why), 0, "%s", why);
    return schedule;
}

Test(pins, a_popularity_that_there_is_not_or_that_takes_more_ranges_is_refused)
{
    struct tb_pins_settings few = {.threads = 1, .ranges = TB_POPULAR_LEAST - 1, .seed = 1};
    struct tb_schedule *schedule = NULL;
    char why[200];
    cr_expect_eq(tb_pins_open("zipf", &few, &schedule, why, sizeof why), -EINVAL);
    cr_expect(!schedule && strstr(why, "'100r' are too few for zipf"), "%s", why);
    cr_expect_eq(tb_pins_open("steady-decode", &few, &schedule, why, sizeof why), -EINVAL);
    cr_expect(strstr(why, "'steady-decode' is no popularity"), "%s", why);
    free(planned("even", few));
    few.ranges++;
    free(planned("zipf", few));
}

Test(pins, its_arms_are_ways_and_a_wrong_name_is_answered_with_the_nearest)
{
    struct tb_arm arms[TB_ARMS_MAX];
    uint32_t count = 0;
    char why[400];
    for (size_t i = 0; tb_pins_way_at(i); i++)
        cr_assert_eq(tb_arms_add_for(TB_TOUCH_PINS, arms, &count, tb_pins_way_at(i)->name, why, sizeof why), 0, "%s", why);
    cr_assert_eq(count, 4);
    cr_assert_eq(tb_arms_add_for(TB_TOUCH_PINS, arms, &count, "pages", why, sizeof why), 0);
    cr_expect_str_eq(arms[4].label, "pages#2");
    cr_expect(tb_arm_of_its_own(&arms[4]) && arms[4].way == tb_pins_way_find("pages"));
    cr_expect_eq(tb_arms_add_for(TB_TOUCH_PINS, arms, &count, "rwlok", why, sizeof why), -ENOENT);
    cr_expect(strstr(why, "unknown way to hold ranges 'rwlok', did you mean 'rwlock'"), "%s", why);
    cr_expect_eq(tb_arms_add_for(TB_TOUCH_PINS, arms, &count, "locus", why, sizeof why), -ENOENT);
}

// --- a process -----------------------------------------------------------------------------------------------------------------

static struct tb_job job;

static struct tb_sample run(const struct tb_pins_way *way, const char *popularity, struct tb_pins_settings settings, uint32_t laps)
{
    struct tb_schedule *schedule = planned(popularity, settings);
    job = (struct tb_job){.touch = TB_TOUCH_PINS, .laps = laps, .laps_warmup = 1};
    cr_assert_eq(tb_pins_run(&job, way, schedule), 0);
    free(schedule);
    cr_assert(job.sample.ran);
    return job.sample;
}

// In every way, with more threads than most machines of a test have CPUs, too.
Test(pins, all_that_was_held_is_given_back_and_every_word_was_read)
{
    static const struct tb_pins_settings settings[] = {{.threads = 1, .ranges = 1}, {.threads = 3, .ranges = 2}, {.threads = 2}};
    for (size_t way = 0; tb_pins_way_at(way); way++)
        for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
            struct tb_sample sample = run(tb_pins_way_at(way), i == 2 ? "zipf" : "even", settings[i], 2);
            const char *name = tb_pins_way_at(way)->name;
            cr_assert(sample.valid, "%s: %s", name, sample.invalid);
            uint64_t pairs = UINT64_C(4) * TB_PINS_PAIRS * settings[i].threads; // warm-up, two laps, and the timed calls
            cr_expect_eq(sample.touched_bytes, pairs * 8, "%s", name);
            cr_expect_eq(sample.touched_bytes_expected, pairs * 8, "%s", name);
            cr_expect_eq(sample.pinned.pins_refused, 0, "%s", name);
        }
}

Test(pins, its_times_are_those_of_its_laps)
{
    struct tb_sample sample = run(tb_pins_way_find("count"), "even", (struct tb_pins_settings){.threads = 2}, 3);
    const struct tb_pinned *out = &sample.pinned;
    cr_assert(sample.valid, "%s", sample.invalid);
    cr_expect(0 < sample.lap_ns_min && sample.lap_ns_min <= sample.lap_ns && sample.lap_ns <= sample.lap_ns_p90);
    cr_expect_float_eq(out->pairs_per_s * sample.lap_ns, 2.0 * TB_PINS_PAIRS * 1e9, 1e3);
    cr_expect(0 < out->pair_ns && out->pair_ns * TB_PINS_PAIRS <= sample.lap_ns_mean, "%g", out->pair_ns); // a lap has all threads
    cr_expect(0 <= out->pin_p50_ns && out->pin_p50_ns <= out->pin_p99_ns && isfinite(out->pin_p99_ns));
    cr_expect(0 <= out->unpin_p50_ns && out->unpin_p50_ns <= out->unpin_p99_ns && isfinite(out->unpin_p99_ns));
    cr_expect_eq(job.lap_ns[0] > 0 && job.lap_ns[1] > 0 && job.lap_ns[2] > 0, 1);
}

// --- broken ways ---------------------------------------------------------------------------------------------------------------

static _Atomic uint32_t calls;

static int counted_pin(struct tb_pins_world *world, uint32_t range)
{
    atomic_fetch_add(&world->slot[range].count, 1);
    return 0;
}

static int counted_unpin(struct tb_pins_world *world, uint32_t range)
{
    atomic_fetch_sub(&world->slot[range].count, 1);
    return 0;
}

// Once, in the middle of a lap.
static int forgetful_unpin(struct tb_pins_world *world, uint32_t range)
{
    return atomic_fetch_add(&calls, 1) == TB_PINS_PAIRS + 100 ? 0 : counted_unpin(world, range);
}

static int failing_unpin(struct tb_pins_world *world, uint32_t range)
{
    return counted_unpin(world, range) || atomic_fetch_add(&calls, 1) == TB_PINS_PAIRS + 100 ? -EPERM : 0;
}

static int absent_pin(struct tb_pins_world *world, uint32_t range)
{
    (void)world, (void)range;
    return 0;
}

static int refusing_pin(struct tb_pins_world *world, uint32_t range)
{
    uint32_t call = atomic_fetch_add(&calls, 1);
    return call > TB_PINS_PAIRS && call <= TB_PINS_PAIRS + 100 ? -EBUSY : counted_pin(world, range);
}

// As if it had taken the word before it held the range.
static int another_pin(struct tb_pins_world *world, uint32_t range)
{
    if (atomic_fetch_add(&calls, 1) == TB_PINS_PAIRS + 100)
        world->word[range] = world->word[(range + 1) % world->ranges];
    return counted_pin(world, range);
}

#define counted_not_pin absent_pin
#define counted_not_unpin absent_pin
#define forgetful_pin counted_pin
#define failing_pin counted_pin
#define refusing_unpin counted_unpin
#define another_unpin counted_unpin
TB_PINS_LAPS(counted_not)
TB_PINS_LAPS(forgetful)
TB_PINS_LAPS(failing)
TB_PINS_LAPS(refusing)
TB_PINS_LAPS(another)

static struct tb_sample broken(tb_pins_call *pin, tb_pins_call *unpin, void (*lap)(struct tb_pins_hand *hand),
                               void (*lap_timed)(struct tb_pins_hand *hand))
{
    struct tb_pins_way way = *tb_pins_way_find("count"); // and its books
    way.pin = pin;
    way.unpin = unpin;
    way.lap = lap;
    way.lap_timed = lap_timed;
    calls = 0;
    return run(&way, "even", (struct tb_pins_settings){.threads = 2, .ranges = 64}, 2);
}

Test(pins, one_pin_that_is_not_given_back_makes_the_sample_invalid)
{
    struct tb_sample sample = broken(forgetful_pin, forgetful_unpin, forgetful_lap, forgetful_lap_timed);
    cr_expect_not(sample.valid);
    cr_expect_str_eq(sample.invalid, "ranges held after all laps: 1, not 0");
}

Test(pins, an_unpin_that_fails_makes_the_sample_invalid)
{
    struct tb_sample sample = broken(failing_pin, failing_unpin, failing_lap, failing_lap_timed);
    cr_expect_not(sample.valid);
    cr_expect_str_eq(sample.invalid, "pins that could not be given back: 1, not 0");
}

Test(pins, a_way_that_holds_nothing_is_found_before_any_lap)
{
    struct tb_sample sample = broken(counted_not_pin, counted_not_unpin, counted_not_lap, counted_not_lap_timed);
    cr_expect_not(sample.valid);
    cr_expect_str_eq(sample.invalid, "ranges held with each pinned once: 0, not 64");
    cr_expect_eq(sample.lap_ns, 0);
}

Test(pins, refused_pins_are_counted_and_touch_nothing)
{
    struct tb_sample sample = broken(refusing_pin, refusing_unpin, refusing_lap, refusing_lap_timed);
    cr_expect(sample.valid, "%s", sample.invalid);
    cr_expect_eq(sample.pinned.pins_refused, 100);
    cr_expect_eq(sample.touched_bytes_expected - sample.touched_bytes, 100 * 8);
}

Test(pins, a_thread_that_reads_another_word_makes_the_sample_invalid)
{
    struct tb_sample sample = broken(another_pin, another_unpin, another_lap, another_lap_timed);
    cr_expect_not(sample.valid);
    cr_expect(strstr(sample.invalid, "sum of the words that a thread read: "), "%s", sample.invalid);
}
