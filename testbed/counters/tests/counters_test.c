// SPDX-License-Identifier: Apache-2.0
//
// Which counters a CPU has, by which codes. The codes here are those that the makers publish, written down once more: the tables
// of the program are not asked what they should hold.

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/counters/tables.h"

static void resolve(const char *cpu, struct tb_counter_set *set)
{
    struct tb_cpu_id id;
    cr_assert_eq(tb_cpu_id_parse(cpu, &id), 0, "%s", cpu);
    cr_assert_eq(tb_counters_resolve(set, &id), 0);
}

#define SPR "GenuineIntel:6:143"
#define EMR "GenuineIntel:6:0xcf"
#define GNR "GenuineIntel:6:0xad"
#define ICX "GenuineIntel:6:106"
#define SKX "GenuineIntel:6:85:4"
#define CLX "GenuineIntel:6:85:7"
#define SRF "GenuineIntel:6:0xaf"
#define CWF "GenuineIntel:6:0xdd"
#define ZEN2 "AuthenticAMD:0x17:0x31"
#define ZEN3 "AuthenticAMD:0x19:0x01"
#define ZEN4 "AuthenticAMD:0x19:0x11"
#define ZEN5 "AuthenticAMD:0x1a:0x02"
#define ZEN6 "AuthenticAMD:0x1a:0x50"

static const struct published {
    const char *cpu, *name;
    uint64_t config, config1;
} published[] = {
    {SPR, "dram_local", 0x12a, 0x104000001},
    {SPR, "dram_remote", 0x12a, 0x730000001},
    {SPR, "dram_snc", 0x12a, 0x708000001},
    {SPR, "reads_local", 0x12a, 0x104004477},
    {SPR, "reads_remote", 0x12a, 0x730004477},
    {SPR, "reads_snc", 0x12a, 0x708004477},
    {SPR, "reads_local_socket", 0x12a, 0x70c004477},
    {SPR, "reads_remote_hitm", 0x12a, 0x1030004477},
    {SPR, "dram_rfo_local", 0x12a, 0x104000002},
    {SPR, "dram_rfo_snc", 0x12a, 0x708000002},
    {SPR, "dram_rfo_all", 0x12a, 0x73c000002},
    {SPR, "nt_writes", 0x12a, 0x10800},
    {SPR, "nt_writes_miss", 0x12a, 0x94000800},
    {SPR, "nt_writes_local", 0x12a, 0x84000800},
    {SPR, "writes_estimate", 0x12a, 0xfbff80822},
    {SPR, "retired_local", 0x01d3, 0},
    {SPR, "retired_remote", 0x02d3, 0},
    {SPR, "retired_remote_hitm", 0x04d3, 0},
    {SPR, "retired_remote_fwd", 0x08d3, 0},
    {EMR, "dram_local", 0x12a, 0x104000001},
    {EMR, "dram_snc", 0x12a, 0x708000001},
    {EMR, "reads_remote", 0x12a, 0x730004477},
    {EMR, "nt_writes_local", 0x12a, 0x84000800},
    {GNR, "dram_local", 0x12a, 0x104000001},
    {GNR, "dram_remote", 0x12a, 0x730000001},
    {GNR, "dram_rfo_local", 0x12a, 0x104000002},
    {GNR, "dram_rfo_all", 0x12a, 0x73c000002},
    {GNR, "nt_writes", 0x12a, 0x10800},
    {GNR, "retired_remote", 0x02d3, 0},
    {ICX, "dram_local", 0x1b7, 0x104000001},
    {ICX, "dram_remote", 0x1b7, 0x730000001},
    {ICX, "dram_snc", 0x1b7, 0x708000001},
    {ICX, "dram_rfo_all", 0x1b7, 0x73c000002},
    {ICX, "reads_local", 0x1b7, 0x104000477},
    {ICX, "reads_remote", 0x1b7, 0x730000477},
    {ICX, "nt_writes_miss", 0x1b7, 0x94000800},
    {SKX, "dram_local", 0x1b7, 0x604000001},
    {SKX, "dram_remote", 0x1b7, 0x63b800001},
    {SKX, "dram_rfo_local", 0x1b7, 0x604000002},
    {SKX, "dram_rfo_remote", 0x1b7, 0x63b800002},
    {SKX, "retired_local", 0x01d3, 0},
    {CLX, "dram_remote", 0x1b7, 0x63b800001},
    {CLX, "retired_remote_fwd", 0x08d3, 0},
    {SRF, "dram_local", 0x1b7, 0x184000001},
    {SRF, "dram_remote", 0x1b7, 0x730000001},
    {SRF, "retired_remote", 0x02d3, 0},
    {CWF, "dram_local", 0x1b7, 0x784000001},
    {CWF, "dram_remote", 0x1b7, 0x730000001},
    {ZEN2, "dram_local", 0x0843, 0},
    {ZEN2, "dram_remote", 0x4043, 0},
    {ZEN2, "cache_far", 0x1043, 0},
    {ZEN3, "dram_local", 0x0843, 0},
    {ZEN3, "dram_remote", 0x4043, 0},
    {ZEN3, "cache_near", 0x0443, 0},
    {ZEN3, "reads_remote", 0x4044, 0},
    {ZEN4, "dram_local", 0x0843, 0},
    {ZEN4, "dram_remote", 0x4043, 0},
    {ZEN4, "cache_far", 0x1043, 0},
    {ZEN4, "alternate", 0x8043, 0},
    {ZEN4, "reads_local", 0x0844, 0},
    {ZEN4, "reads_alternate", 0x8044, 0},
    {ZEN5, "dram_local", 0x0843, 0},
    {ZEN5, "dram_remote", 0x4043, 0},
    {ZEN5, "cache_near", 0x0443, 0},
    {ZEN5, "cache_far", 0x1043, 0},
    {ZEN5, "alternate", 0x8043, 0},
    {ZEN5, "reads_cache_far", 0x1044, 0},
    {ZEN5, "llc_misses", 0xdc44, 0},
    {ZEN6, "dram_remote", 0x4043, 0},
    {"ARM:0x41:0xd0c", "remote_accesses", 0x31, 0}, // Neoverse N1, V1, V2, N3, V3
    {"ARM:0x41:0xd40", "remote_accesses", 0x31, 0},
    {"ARM:0x41:0xd4f", "remote_accesses", 0x31, 0},
    {"ARM:0x41:0xd8e", "remote_accesses", 0x31, 0},
    {"ARM:0x41:0xd84", "remote_accesses", 0x31, 0},
    {"ARM:0x41:0xd05", "remote_access_reads", 0x38, 0}, // Cortex-A55
    {"ARM:0x48:0xd01", "remote_access_reads", 0x38, 0}, // Kunpeng
    {"IBM:9:0", "dram_local", 0x2c048, 0},
    {"IBM:9:0", "dram_remote", 0x3c04a, 0},
    {"IBM:9:0", "dram_distant", 0x4c04c, 0},
    {"IBM:10:0", "dram_remote", 0x0d4040000001c040, 0},
};

Test(counters, have_the_codes_that_the_makers_publish)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const struct published *want = &published[i];
        struct tb_counter_set set;
        resolve(want->cpu, &set);
        int at = tb_counters_find(&set, want->name);
        cr_assert_geq(at, 0, "%s has no %s", want->cpu, want->name);
        const struct tb_counter *counter = &set.counter[at];
        cr_expect_eq(counter->error, 0, "%s %s: %s", want->cpu, want->name, counter->why);
        cr_expect_eq(counter->attr.type, PERF_TYPE_RAW, "%s %s has type %u", want->cpu, want->name, counter->attr.type);
        cr_expect_eq(counter->attr.config, want->config, "%s %s: 0x%llx", want->cpu, want->name,
                     (unsigned long long)counter->attr.config);
        cr_expect_eq(counter->attr.config1, want->config1, "%s %s: 0x%llx", want->cpu, want->name,
                     (unsigned long long)counter->attr.config1);
    }
}

static const char *const all_cpus[] = {
    SPR, EMR, GNR, ICX, SKX, CLX, SRF, CWF, ZEN2, ZEN3, ZEN4, ZEN5, ZEN6, "ARM:0x41:0xd0c", "ARM:0x48:0xd01", "IBM:9:0"};

// Debian's libpfm4 knows the CPUs of one architecture, its own.
static void needs_libpfm4_of_x86(void)
{
#ifndef __x86_64__
    cr_skip_test("needs a libpfm4 that knows x86 CPUs");
#endif
}

// What libpfm4 was asked is what the table says, so that a newer libpfm4 changes nothing but the source.
Test(counters, of_libpfm4_and_of_the_tables_are_the_same)
{
    needs_libpfm4_of_x86();
    unsigned compared = 0;
    for (size_t c = 0; c < sizeof all_cpus / sizeof *all_cpus; c++) {
        struct tb_counter_set set;
        resolve(all_cpus[c], &set);
        const struct tb_cpu *cpu = tb_cpu_find(&set.cpu);
        for (unsigned i = 0; i < cpu->memory->count; i++) {
            const struct tb_cpu_event *event = &cpu->memory->event[i];
            const struct tb_counter *counter = &set.counter[tb_counters_find(&set, event->name)];
            if (strcmp(counter->source, "libpfm4"))
                continue;
            compared++;
            cr_expect_eq(counter->attr.config, event->config, "%s %s", all_cpus[c], event->event);
            cr_expect_eq(counter->attr.config1, event->config1, "%s %s", all_cpus[c], event->event);
        }
    }
    cr_expect_geq(compared, 60, "only %u events had a name in libpfm4", compared); // those of 4.13: skx, clx, icx, spr, Zen 2 to 4
}

Test(counters, are_known_to_libpfm4_where_it_knows_the_cpu)
{
    needs_libpfm4_of_x86();
    static const char *const cpus[] = {ICX, SPR, ZEN2, ZEN3, ZEN4};
    for (size_t c = 0; c < sizeof cpus / sizeof *cpus; c++) {
        struct tb_counter_set set;
        resolve(cpus[c], &set);
        for (unsigned i = 0; i < set.count; i++)
            if (set.counter[i].kind == TB_COUNTER_MEMORY && set.counter[i].derived_from[0] < 0)
                cr_expect_str_eq(set.counter[i].source, "libpfm4", "%s %s", cpus[c], set.counter[i].name);
    }
}

Test(counters, take_the_code_of_the_table_where_libpfm4_lacks_the_cpu)
{
    struct tb_counter_set set;
    resolve(CWF, &set); // no libpfm4 up to 2024-10 has it
    cr_expect_str_eq(set.counter[tb_counters_find(&set, "dram_local")].source, "raw");
    cr_expect_str_eq(set.cpu_name, "Clearwater Forest");
}

Test(counters, leave_the_environment_of_libpfm4_as_it_was)
{
    struct tb_counter_set set;
    unsetenv("LIBPFM_ENCODE_INACTIVE");
    resolve(SPR, &set);
    cr_expect_null(getenv("LIBPFM_ENCODE_INACTIVE"));
    setenv("LIBPFM_ENCODE_INACTIVE", "0", 1);
    resolve(SPR, &set);
    cr_expect_str_eq(getenv("LIBPFM_ENCODE_INACTIVE"), "0");
}

// --- derivation ----------------------------------------------------------------------------------------------------------------

static void expect_part(const struct tb_counter_set *set, const struct tb_counter *counter, int part, const char *name)
{
    int at = counter->derived_from[part];
    cr_assert(name ? at >= 0 : at == -1, "part %d", part);
    if (name)
        cr_expect_str_eq(set->counter[at].name, name);
}

Test(counters, derive_stores_to_a_remote_node_from_all_local_and_snc)
{
    static const char *const with_snc[] = {SPR, EMR, ICX};
    struct tb_counter_set set;
    for (size_t i = 0; i < 3; i++) {
        resolve(with_snc[i], &set);
        const struct tb_counter *counter = &set.counter[tb_counters_find(&set, "dram_rfo_remote")];
        expect_part(&set, counter, 0, "dram_rfo_all");
        expect_part(&set, counter, 1, "dram_rfo_local");
        expect_part(&set, counter, 2, "dram_rfo_snc");
        cr_expect_str_eq(counter->source, "derived");
    }
    resolve(GNR, &set);
    const struct tb_counter *counter = &set.counter[tb_counters_find(&set, "dram_rfo_remote")];
    expect_part(&set, counter, 1, "dram_rfo_local");
    expect_part(&set, counter, 2, NULL);
}

Test(counters, of_granite_rapids_have_no_names_that_intel_took_back)
{
    struct tb_counter_set set;
    resolve(GNR, &set);
    cr_expect_lt(tb_counters_find(&set, "nt_writes_miss"), 0);
    cr_expect_lt(tb_counters_find(&set, "dram_snc"), 0);
}

// --- groups --------------------------------------------------------------------------------------------------------------------

Test(counters, stand_in_groups_that_fit_side_by_side)
{
    for (size_t c = 0; c < sizeof all_cpus / sizeof *all_cpus; c++) {
        struct tb_counter_set set;
        resolve(all_cpus[c], &set);
        for (unsigned first = 0, last; first < set.count; first = last) {
            unsigned events = 0, conditions = 0;
            bool parts = false;
            for (last = first; last < set.count && set.counter[last].group == set.counter[first].group; last++) {
                const struct tb_counter *counter = &set.counter[last];
                parts |= counter->derived_from[0] >= 0 && counter->derived_from[2] >= 0;
                events += counter->kind != TB_COUNTER_SOFTWARE && counter->derived_from[0] < 0;
                conditions += counter->attr.config1 != 0;
            }
            for (unsigned other = last; other < set.count; other++)
                cr_expect(set.counter[other].group != set.counter[first].group || set.counter[other].error,
                          "%s: group %u is in two pieces", all_cpus[c], set.counter[first].group);
            cr_expect_leq(events, 4, "%s: group %u", all_cpus[c], set.counter[first].group);
            cr_expect(conditions <= 2 || parts, "%s: group %u has %u OCR events", all_cpus[c], set.counter[first].group,
                      conditions);
        }
    }
}

Test(counters, take_turns_and_each_has_its_own)
{
    struct tb_counter_set set;
    uint64_t seen = 0, always = UINT64_MAX, all;
    resolve(SPR, &set);
    all = (UINT64_C(1) << set.count) - 1;
    for (uint32_t round = 0; round < 16; round++) {
        uint64_t on = tb_counters_on(&set, 0, round);
        seen |= on;
        always &= on;
        cr_expect_eq(on & ~all, 0);
    }
    cr_expect_eq(seen, all, "0x%llx was never on", (unsigned long long)(all & ~seen));
    for (unsigned i = 0; i < set.count; i++)
        cr_expect_eq(always >> i & 1, set.counter[i].group < TB_COUNTERS_TURNS, "%s", set.counter[i].name);
}

Test(counters, that_are_wanted_are_always_on_and_pinned)
{
    struct tb_counter_set set;
    resolve(SPR, &set);
    int remote = tb_counters_find(&set, "dram_remote"), rfo = tb_counters_find(&set, "dram_rfo_remote");
    uint64_t wanted = tb_counters_want(&set, "dram_remote") | tb_counters_want(&set, "dram_rfo_remote");
    for (uint32_t round = 0; round < 16; round++) {
        uint64_t on = tb_counters_on(&set, wanted, round);
        cr_expect(on >> remote & 1);
        cr_expect(on >> set.counter[rfo].derived_from[2] & 1, "what it is derived from");
    }
    cr_expect(set.counter[remote].attr.pinned);
    cr_expect_not(set.counter[rfo].attr.pinned);
    cr_expect_not(set.counter[tb_counters_find(&set, "dram_local")].attr.pinned);
    set.counter[remote].error = ENOENT;
    cr_expect_not(tb_counters_on(&set, wanted, 0) >> remote & 1, "what does not work is not opened");
    cr_expect_eq(tb_counters_want(&set, "no such counter"), 0);
}

// --- which CPU -----------------------------------------------------------------------------------------------------------------

Test(counters, of_an_unknown_cpu_are_the_generic_ones_and_the_others_say_why)
{
    struct tb_counter_set set;
    resolve("GenuineIntel:6:23", &set);
    cr_expect_str_eq(set.cpu_name, "unknown");
    const struct tb_counter *local = &set.counter[tb_counters_find(&set, "dram_local")];
    cr_expect_neq(local->error, 0);
    cr_expect_str_eq(local->why, "not supported: unknown CPU GenuineIntel:6:23, none of its events is known here");
    cr_expect_eq(set.counter[tb_counters_find(&set, "cycles")].error, 0);
}

Test(counters, tell_generations_apart_by_model_and_stepping)
{
    static const char *const names[][2] = {
        {SKX, "Skylake-SP"},
        {CLX, "Cascade Lake"},
        {"GenuineIntel:6:85", "Cascade Lake"},
        {ZEN2, "Zen 2"},
        {"AuthenticAMD:0x17:1", "Zen"},
        {"AuthenticAMD:0x19:0x21", "Zen 3"},
        {"AuthenticAMD:25:0x61", "Zen 4"},
        {"AuthenticAMD:26:0x44", "Zen 5"},
        {ZEN6, "Zen 6"},
        {"ARM:0x42:0xd0c", "unknown"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct tb_counter_set set;
        resolve(names[i][0], &set);
        cr_expect_str_eq(set.cpu_name, names[i][1], "%s is %s", names[i][0], set.cpu_name);
    }
}

Test(counters, refuse_what_is_no_cpu)
{
    static const char *const bad[] = {"",
                                      "x",
                                      ":6:1",
                                      "GenuineIntel",
                                      "GenuineIntel:6",
                                      "GenuineIntel:6:",
                                      "GenuineIntel:6:1x",
                                      "GenuineIntel:-6:1",
                                      "GenuineIntel:6:1:",
                                      "GenuineIntel:6:1:2:3",
                                      "GenuineIntel:6: 1",
                                      "GenuineIntel:6:4294967296",
                                      "ANameThatIsTooLong:6:1"};
    struct tb_cpu_id id;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(tb_cpu_id_parse(bad[i], &id), -EINVAL, "'%s'", bad[i]);
}
