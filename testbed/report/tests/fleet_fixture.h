// SPDX-License-Identifier: Apache-2.0
//
// fleet_fixture: hosts that never were, of which it is known what they are and what they say. 0002's P1 claims that glibc takes
// 1.25 times as long at least: by a factor of 1 it takes 1.4 times, by one of 0.8 1.12 times.
#ifndef TB_FLEET_FIXTURE_H
#define TB_FLEET_FIXTURE_H

#include "testbed/report/hosts/fleet.h"
#include "testbed/report/tests/html_tags.h"

static json_t *fleet;

static inline void leave_fleet(void)
{
    json_decref(fleet);
    leave_folder();
}

// --- machines ---

static inline bool is_header(const json_t *line)
{
    return strcmp(tb_member_text(line, "t"), "hdr") == 0;
}

static inline void dress(json_t *line, const char *cpu, const char *machine, const char *guest)
{
    static const char xml[] = "<object type=\"Package\"/><object type=\"Core\"/><object type=\"Core\"/><object type=\"Package\"/>"
                              "<object type=\"Core\"/><object type=\"Core\"/>";
    if (!is_header(line))
        return;
    json_t *env = json_pack("{s:{s:s}, s:{s:s, s:s}, s:{s:s}, s:{s:s}, s:{s:{s:s}, s:{s:s}, s:{s:s}}}", "kernel", "release",
                            "6.1.0", "cpu", "model", cpu, "online", "0-7", "hwloc", "xml", xml, "build", "commit", FIXTURE_COMMIT,
                            "nodes", "0", "cpus", "0-3", "1", "cpus", "4-7", "2", "cpus", "");
    json_object_set_new(line, "env", env);
    json_object_set_new(line, "doctor", json_pack("{s:b, s:{s:{s:s}}}", "fit", 1, "findings", "machine", "now", machine));
    json_object_set_new(line, "emulated", guest ? json_string(guest) : json_null());
}

static inline void as_hardware(json_t *line)
{
    dress(line, "Big Iron 9000", "bare metal (Rack 1)", NULL);
}

static inline void as_virtual(json_t *line)
{
    dress(line, "Big Iron 9000", "virtual (KVM)", NULL);
}

static inline void as_guest(json_t *line)
{
    dress(line, "QEMU TCG", "emulated (n2): counts are exact, times mean nothing", "n2");
}

// --- hosts ---

static unsigned seconds; // each run is a second younger than the one before

static inline struct record_fixture run_on(const char *host, double factor, void (*as)(json_t *line))
{
    static char runs[64][32];
    struct record_fixture run = usual;
    char *id = runs[seconds % 64];
    snprintf(id, sizeof runs[0], "0002-20261121T10%02u%02uZ-%06x", seconds / 60 % 60, seconds % 60, seconds % 0xffffff);
    seconds++;
    run.run = id;
    run.host = host;
    run.factor = factor;
    run.dress = as;
    run.seed = seconds;
    return run;
}

static inline void runs(const char *host, double factor, void (*as)(json_t *line))
{
    make_run(run_on(host, factor, as));
}

static inline void crashes(const char *host, void (*as)(json_t *line))
{
    struct record_fixture run = run_on(host, 1, as);
    run.no_seal = true;
    make_run(run);
}

static inline void fails_a_gate(const char *host, void (*as)(json_t *line))
{
    struct record_fixture run = run_on(host, 1, as);
    run.invalid_round = 3;
    make_run(run);
}

static inline void look(const char *host, const char *const *postulates)
{
    cr_assert_eq(tb_store_add(&store, "logs"), 0);
    cr_assert_eq(tb_fleet(&store, &(struct tb_fleet_wanted){host, postulates}, &fleet), 0);
}

static inline const json_t *host_of(const char *name)
{
    const json_t *host;
    size_t i;
    json_array_foreach (tb_member(fleet, "hosts"), i, host)
        if (strcmp(tb_member_text(host, "host"), name) == 0)
            return host;
    cr_assert_fail("no host %s", name);
    return NULL;
}

static inline const json_t *prediction_of(const char *id)
{
    const json_t *prediction = tb_fleet_find(tb_member(tb_fleet_find(tb_member(fleet, "postulates"), "0002"), "predictions"), id);
    cr_assert(prediction, "no %s", id);
    return prediction;
}

// Of one prediction, or ("") of the run.
static inline const json_t *result_of(const char *host, const char *id)
{
    const json_t *from = *id ? prediction_of(id) : tb_fleet_find(tb_member(fleet, "postulates"), "0002"), *result;
    size_t i;
    json_array_foreach (tb_member(from, "results"), i, result)
        if (strcmp(tb_member_text(result, "host"), host) == 0)
            return result;
    cr_assert_fail("no result of %s", host);
    return NULL;
}

#define TELLS(object, member, expected) cr_assert_str_eq(tb_member_text(object, member), expected)
#define HAS(object, list, expected) cr_assert_eq(json_array_size(tb_member(object, list)), expected)

#endif
