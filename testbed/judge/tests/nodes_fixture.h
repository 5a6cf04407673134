// SPDX-License-Identifier: Apache-2.0
//
// nodes_fixture: dresses the run of record_fixture.h as one of two nodes, 0 and 2. A and C steer home: nothing is remote, in any
// round. B's blocks wander, a little otherwise in every round, and it asks for no placement.
#ifndef TB_NODES_FIXTURE_H
#define TB_NODES_FIXTURE_H

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { FIXTURE_STRETCHES = 16, FIXTURE_SILENT = 7 }; // in the silent stretch nothing is handed out

static inline json_int_t fixture_wandered(int stretch, int round)
{
    return (json_int_t)((1000 + stretch) * 0.48 * (1 - exp(-stretch / 5.0))) + (stretch > 0 ? 2 * ((5 * round + 3) % 8) : 0);
}

static inline json_t *fixture_drift(bool wanders, int round, json_int_t *all, json_int_t *away)
{
    json_t *drift = json_array();
    *all = *away = 0;
    for (int i = 0; i < FIXTURE_STRETCHES; i++) {
        json_int_t allocated = i == FIXTURE_SILENT ? 0 : 1000 + i;
        json_int_t wandered = wanders && allocated ? fixture_wandered(i, round) : 0;
        *all += allocated;
        *away += wandered;
        json_array_append_new(drift, json_pack("[I, I]", allocated, wandered));
    }
    return drift;
}

// Node 0 does a little more than half, and what is away is away in both directions.
static inline json_t *fixture_counts(json_int_t all, json_int_t away)
{
    json_int_t here = (all - away) / 2, there = all - away - here, out = away / 3, back = away - out;
    json_t *pairs = json_pack("[[i, i, I], [i, i, I]]", 0, 0, there, 2, 2, here);
    if (away > 0) {
        json_array_insert_new(pairs, 1, json_pack("[i, i, I]", 0, 2, out));
        json_array_insert_new(pairs, 2, json_pack("[i, i, I]", 2, 0, back));
    }
    return json_pack("{s:I, s:I, s:i, s:o}", "local", all - away, "remote", away, "unknown", 0, "pairs", pairs);
}

static inline json_t *fixture_places(json_int_t elsewhere)
{
    json_t *places = json_array();
    for (int node = 0; node <= 2; node += 2)
        json_array_append_new(places, json_pack("{s:i, s:s, s:s, s:n, s:i, s:I, s:[[i, I]], s:b}", "station", node, "requested",
                                                "bind", "granted", "bind", "why", "present", 200, "elsewhere", elsewhere, "on",
                                                node, (json_int_t)200 - elsewhere, "numa_maps", elsewhere == 0));
    return places;
}

static inline json_t *fixture_nodes(bool wanders, int round)
{
    json_int_t all, away;
    json_t *drift = fixture_drift(wanders, round, &all, &away), *frees = fixture_counts(all, away);
    json_object_set_new(frees, "abroad", json_integer(wanders ? away / 2 : 0));
    json_t *homes = json_pack("[{s:i, s:I, s:I, s:i, s:i}, {s:i, s:I, s:I, s:i, s:i}]", "node", 0, "allocated", all - all / 2,
                              "freed", all - all / 2, "pushed", 60, "drained", 60, "node", 2, "allocated", all / 2, "freed",
                              all / 2, "pushed", 50, "drained", 50);
    return json_pack("{s:[i, i], s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:{s:i, s:i, s:i}}", "os", 0, 2, "homes", homes,
                     "touches", fixture_counts(64 * all, 64 * away), "allocations", fixture_counts(all, away), "frees", frees,
                     "drift", drift, "before", wanders ? json_array() : fixture_places(0), "after",
                     wanders ? json_array() : fixture_places(0), "pages_moved", 0, "pages_repaired", 0, "balancing", "pte_updates",
                     0, "hint_faults", 0, "pages_migrated", 0);
}

static inline void fixture_share(json_t *sample, const char *member, const char *part, const char *whole)
{
    const json_t *nodes = json_object_get(sample, "nodes"), *counts = json_object_get(nodes, whole);
    double local = (double)json_integer_value(json_object_get(counts, "local"));
    double remote = (double)json_integer_value(json_object_get(counts, "remote"));
    json_object_set_new(sample, member, json_real((double)json_integer_value(json_object_get(counts, part)) / (local + remote)));
}

// For record_fixture.dress.
static inline void fixture_dress_nodes(json_t *line)
{
    json_t *item;
    size_t i;
    if (strcmp(json_string_value(json_object_get(line, "t")), "hdr") == 0) {
        json_object_set_new(json_object_get(line, "design"), "many_nodes", json_true());
        json_object_set_new(line, "emulated", json_null());
        json_array_foreach (json_object_get(line, "arms"), i, item)
            json_object_set_new(item, "cross_percent", json_integer(50));
        json_array_foreach (json_object_get(line, "cells"), i, item)
            json_object_set_new(item, "laps_counted", json_integer(40));
    }
    if (strcmp(json_string_value(json_object_get(line, "t")), "s") == 0) {
        bool wanders = strcmp(json_string_value(json_object_get(line, "arm")), "B") == 0;
        json_object_set_new(line, "nodes", fixture_nodes(wanders, (int)json_integer_value(json_object_get(line, "round"))));
        fixture_share(line, "remote_touch_ratio", "remote", "touches");
        fixture_share(line, "wandered_ratio", "remote", "allocations");
        fixture_share(line, "abroad_free_ratio", "abroad", "frees");
    }
}

// The same in the guest "n2".
static inline void fixture_dress_guest(json_t *line)
{
    fixture_dress_nodes(line);
    if (json_object_get(line, "emulated"))
        json_object_set_new(line, "emulated", json_string("n2"));
}

#endif
