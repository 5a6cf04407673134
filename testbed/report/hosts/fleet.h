// SPDX-License-Identifier: Apache-2.0
//
// fleet: what all hosts say about the same predictions, side by side, from the logs of official runs. Nothing is measured for it.
//
// Of a host's runs of a postulate the newest stands that says something: it is sealed, complete and closed in the host's ledger,
// and at least one of its predictions has a verdict that rests on figures (survived, falsified, no-difference, inconclusive). Older
// such runs are counted, and so are those that say nothing: invalid, noise, crashed, damaged, unmeasurable. Where all of a host's
// runs are like that, the newest complete one of them stands, or else the newest, with its own word.
//
// Machines are alike when kind (bare metal, virtual, emulated, unknown), CPU model and topology (sockets, nodes, cores, CPUs) are;
// a host is what its newest log says that it is. Logs that are older than a member of the header are shown with gaps.
#ifndef TB_FLEET_H
#define TB_FLEET_H

#include "testbed/doc/doc.h"
#include "testbed/judge/shown.h"

struct tb_fleet_wanted {
    const char *host;               // a glob; NULL: all
    const char *const *postulates;  // "0013" or "0013/P2", NULL-terminated; none: all that were run
};

// Everything that the views below show, as one object:
//   groups [{kind, cpu|null, topology|null, hosts (how many)}]: of machines that are alike
//   hosts [{host, group (index), kind "bare metal"|"virtual"|"emulated"|"unknown", guest|null, cpu|null, topology|null,
//     kernel|null, runs (official ones), changed (older runs were made on another machine), broken|null (of its ledger)}]:
//     by group and name
//   postulates [{id, slug|null, question|null, results, survived, falsified, measured, sentence, ids (of all its predictions),
//     predictions (those wanted) [{id, text|null, about|null, arms|null, unit|null, gate (it cannot fail but by a bug),
//     results, survived, falsified, measured, sentence}]}]
//   results [{host, verdict (as in a summary, or "not run", "crashed", "not in the ledger", ...), run|null, time|null, commit|null,
//     postulate_sha256|null, why|null, estimate|null, low|null, high|null (of predictions that were measured), older [{run,
//     verdict}], unfit [{run, verdict}]}]: one for each host, in their order
//   disagree [{postulate, prediction, sentence}]: survived on one machine, and falsified on another
//   warnings, answer: sentences
// Text from logs is without control characters. The store must be sorted. 0, -ENOMEM.
int tb_fleet(const struct tb_store *store, const struct tb_fleet_wanted *wanted, json_t **out);

const json_t *tb_fleet_find(const json_t *list, const char *id); // a postulate or a prediction by its id, or NULL

// The above for programs, and for people all postulates, or those that are wanted ("0013", "0013/P2", NULL-terminated). The last
// sentences are the answer. Takes over `head`, borrows `fleet`. NULL without memory.
struct tb_doc *tb_fleet_doc(json_t *head, json_t *fleet, const char *const wanted[]);

// How a verdict is called in a cell of a table, and what it says. SPOILT: the run does not count; OPEN and those before it rest on
// figures.
struct tb_fleet_word {
    const char *verdict, *word;
    enum tb_fleet_says {
        TB_FLEET_SURVIVED,
        TB_FLEET_FALSIFIED,
        TB_FLEET_SAME,
        TB_FLEET_OPEN,
        TB_FLEET_UNMEASURABLE,
        TB_FLEET_SPOILT,
        TB_FLEET_NOT_RUN,
        TB_FLEET_SAYS
    } says;
};
const struct tb_fleet_word *tb_fleet_word(const char *verdict);

#endif
