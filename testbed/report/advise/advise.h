// SPDX-License-Identifier: Apache-2.0
//
// advise: which placement a machine's KV cache should use, and how much that is worth, from a finished measurement of many nodes.
//
// Times say something on hardware only. In an emulated machine nothing is worked out from them: counts are all there is.
//
// A *choice* is a placement that one may choose. The one to use is, of those that no other choice is visibly faster than, the
// one with the fewest remote touches, and of equal ones the first in the table of plans. Against it all others are held.
#ifndef TB_ADVISE_H
#define TB_ADVISE_H

#include "locus/policy.h"
#include "testbed/doc/doc.h"
#include "testbed/judge/board.h"
#include "testbed/record/log.h"
#include "topo/topo.h"

struct tb_advise_plan {
    const char *arm;            // the contender
    const char *words;          // what one does, in a sentence without a stop
    enum locus_policy policy;
    bool populate, among, first; // as an engine would set them: fault in beforehand, over all nodes with memory, on the first one
    const char *numactl;        // '*': the nodes with memory; '#': the node, for a process on each (`first`: on that one)
    bool repaired;              // and looked after between steps
};

struct tb_advise_machine {
    const char *emulated;       // by what or as what, in a word; NULL: hardware; borrowed
    struct locus_nodes homes;   // memory and CPUs that this process may use: a scheduler runs here
    struct locus_nodes bare;    // memory that it may use, without CPUs
    struct locus_nodes barred;  // there are some, but not for this process, or their CPUs are not
    unsigned cpus_least;        // of a home, for this process: with 2 a worker can spin beside the scheduler
    bool equally_near;          // no node is farther than another, as the firmware has it
    int balancing;              // kernel.numa_balancing; negative: none, or unknown
};

// What a topology says of it. In a described machine nobody is kept away from anything, and `balancing` is not known.
void tb_advise_machine_of(const struct locus_topo *topo, struct tb_advise_machine *out);

// Looks at this machine. 0, or -errno after a report.
int tb_advise_machine_look(struct tb_advise_machine *out);

struct tb_advise_refusal {
    char arm[96], why[320];
};

struct tb_advise {
    struct tb_advise_machine machine;
    const struct tb_rounds *rounds; // one cell; NULL: nothing was run
    const char *workload;       // what was run, in a line
    uint32_t cross_percent;     // of the requests end on another node than they began on
    uint32_t pool_blocks;       // of one node
    uint64_t block_bytes;
    struct tb_advise_refusal refusals[TB_ARMS_MAX];
    uint32_t refusals_count;
};

enum tb_advise_role {
    TB_ADVISE_CHOICE,
    TB_ADVISE_OTHER,            // the worst case, a malloc, a fault: there to be compared with
    TB_ADVISE_CONTROL,          // the twin of an arm
};

enum tb_advise_cost {
    TB_ADVISE_UNKNOWN,          // no times, or not valid
    TB_ADVISE_USED,             // this is what the others are held against
    TB_ADVISE_SLOWER,
    TB_ADVISE_FASTER,
    TB_ADVISE_SAME,             // the whole interval lies within the resolution
    TB_ADVISE_UNTOLD,           // neither: this run cannot tell
    TB_ADVISE_UNBOUNDED,        // too few rounds for an interval
};

// Over the counted laps of all rounds. A touch is a cache line that was written; of touch `decode` a byte of K or V that was read,
// and `written` are those that were appended.
struct tb_advise_counts {
    uint64_t touches, remote, unknown, frees, abroad;
    bool abroad_known;          // a malloc does not say
    uint64_t written, written_remote; // of touch `decode`
    double lap_bytes, lap_bytes_remote; // of all nodes in one lap
};

struct tb_advise_row {
    uint32_t arm;
    enum tb_advise_role role;
    const struct tb_advise_plan *plan; // NULL: not a choice
    struct tb_row row;
    enum tb_advise_cost cost;
    struct tb_ratio ratio;      // this arm's time over that of the one to use
    struct tb_advise_counts counts;
};

struct tb_advise_result {
    uint32_t count;             // of rows: choices, others, controls, then what is not valid; on hardware each by time
    struct tb_advise_row rows[TB_ARMS_MAX];
    const struct tb_advise_row *use; // NULL: emulated, or nothing valid to choose
    double resolution;          // as tb_rounds_resolution(), negative: not known
};

bool tb_advise_decodes(const struct tb_advise *advise); // its cell is of touch `decode`, and the answer in tokens

// pre: advise->rounds has one cell.
void tb_advise_work_out(const struct tb_advise *advise, struct tb_advise_result *out);

// What a time against that of the one to use comes to. `resolution` as in the result.
enum tb_advise_cost tb_advise_cost_of(const struct tb_ratio *ratio, double resolution);

// Can the machine run these arms, each home with a pool of `pool_bytes`? Moves those that it cannot from the list to the refusals.
void tb_advise_refuse(uint64_t pool_bytes, struct tb_arm arms[], uint32_t *count, struct tb_advise *advise);

json_t *tb_advise_machine_json(const struct tb_advise_machine *machine);

// What a log's header says of it besides (run/measured.h): {machine {...}, refusals [{name, why}]}. And what such a log comes to,
// which borrows view and rounds.
json_t *tb_advise_json(const struct tb_advise *advise);
void tb_advise_load(const struct tb_log_view *view, const struct tb_rounds *rounds, struct tb_advise *out);

// Is there room for a pool on each home? 0, or -ENOMEM after a report.
int tb_advise_room(const struct tb_advise *advise);

// The answer first. `head` is tb_head()'s, or NULL.
struct tb_doc *tb_advise_doc(json_t *head, const struct tb_advise *advise);

// What would be compared on it, each with the lines that set it, by the table of plans. `described` names a described machine.
struct tb_doc *tb_advise_plan_doc(json_t *head, const struct tb_advise_machine *machine, const char *described);
const struct tb_advise_plan *tb_advise_plans(size_t *count); // all that there are, best guaranteed first

#endif
