// SPDX-License-Identifier: Apache-2.0
//
// scenario: who asks for what and when, for a scheduler that decides itself (testbed/serving). To add one, add one file to this
// folder.
//
// A schedule (schedule.h) is worked out in advance; a scenario only says what each request wants. Everything that a request does,
// which beam lives on and how many drafts are accepted, is a function of the scenario's seed, the request and its step. So it is
// the same under every strategy, however late the request is admitted and however often it is thrown out.
#ifndef TB_SCENARIO_H
#define TB_SCENARIO_H

#include "testbed/workload/trace.h"

struct tb_request {
    uint64_t arrival_ns;        // never decreasing
    uint32_t prompt_tokens, output_tokens; // at least one of each
    uint32_t line;              // of the trace's file; 0: not from a file
    uint32_t ids_first, ids_count; // of the scenario's ids
    uint16_t width;             // beams, 1 or more: they share the prompt
    uint16_t drafts;            // tokens drafted in each step beyond the one that is decoded
};

struct tb_scenario {
    char name[48];
    char file[256];             // for messages: the trace's, else the name
    struct tb_request *requests;
    size_t count, room;
    uint64_t *ids;              // chained: one for each id_tokens of a prompt, the last one for the rest
    size_t ids_count, ids_room;
    uint32_t id_tokens;         // 0: no ids
    uint32_t id_tokens_least, id_tokens_most; // of a recorded trace: which sizes fit, as in trace.h; else 0
    char about[TB_UNDERSTOOD + TB_LEFT_OUT]; // the same: tb_trace_understood(), and tb_trace_left_out(); else ""
    uint32_t accept_percent;    // chance of each draft to be accepted, given that those before it were
    uint64_t seed;
    uint32_t median_tokens, most_tokens; // prompt + output of the median request and of the longest; set by tb_scenario_seal()
};

#define TB_WIDTH_MAX 8u

struct tb_trace_said {          // what a user says of a trace that does not say it itself
    uint32_t id_tokens;         // that an id stands for (tb_trace_settle_ids()); 0: nothing
    const struct tb_trace_format *format; // of a map; NULL: nothing
};

// By name: one of the list below, or a recorded trace (known_trace.h); or a trace by its path, or - for standard input. The first
// `requests`; 0: all. `said` NULL: nothing. 0; -ENOENT: there is no such name or file; -EINVAL, -ENOMEM; why has a sentence.
int tb_scenario_open(const char *name, size_t requests, const struct tb_trace_said *said, struct tb_scenario **out,
                     struct tb_why *why);
void tb_scenario_close(struct tb_scenario *scenario); // NULL is allowed

// The requests of a trace, the first `requests` of them (0: all), those without a prompt or an output left out. pre: its ids are
// settled. 0, -ENOMEM, or -EINVAL: none is left.
int tb_scenario_of_trace(const struct tb_trace *trace, size_t requests, struct tb_scenario **out);

// --- the list of those that are made, not recorded ---

struct tb_scenario_kind {
    const char *name;           // "beam"
    const char *summary;        // one line
    int (*make)(struct tb_scenario *scenario); // adds requests, from a seed of its own; 0 or -errno
};

// As TB_CONTENDER: the linker keeps the list.
#define TB_SCENARIO(variable)                                                                                                      \
    static const struct tb_scenario_kind *const variable##_entry __attribute__((used, retain, section("tb_scenarios"))) =          \
        &(variable)

const struct tb_scenario_kind *tb_scenario_at(size_t i); // by name; NULL after the last
const struct tb_scenario_kind *tb_scenario_find(const char *name); // NULL: there is none

int tb_scenario_add(struct tb_scenario *scenario, const struct tb_request *request); // 0 or -ENOMEM
int tb_scenario_add_id(struct tb_scenario *scenario, uint64_t id); // to the last request's ids

// When all requests are there. 0, -ENOMEM, or -EINVAL: there is none.
int tb_scenario_seal(struct tb_scenario *scenario);

// --- what a request does: the same for every strategy ---

// How many of the drafts of `step` are accepted.
uint32_t tb_scenario_accepted(const struct tb_scenario *scenario, uint32_t request, uint32_t step);

// The beam that beam `b` continues in `step`: most often itself.
uint32_t tb_scenario_parent(const struct tb_scenario *scenario, uint32_t request, uint32_t step, uint32_t b);

#endif
