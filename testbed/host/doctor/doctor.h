// SPDX-License-Identifier: Apache-2.0
//
// doctor: is this host fit to measure? Facts about it, each with what it is now, why it matters, and how to change and restore it.
//
// A finding is a fact of this host, read from its files; a thing that the host has not is a fact as well ("ABSENT"), and one that
// cannot be read is UNKNOWN, never fit. `change` and `restore` are lines for a root shell (POSIX sh, no sudo): the first brings
// about what measuring wants, the second exactly what was there when the doctor looked, so both carry the values of this very
// host. They come in pairs: both are "" where nothing can be changed, and `remedy` says in words what would help then (a machine, a
// batch system, the firmware). Of what is fit both write what is there, so that whatever somebody changes later can be restored.
// A file that a command writes is a knob, so that a program can do it itself: read, write, read back.
//
// `now` names no device, process, user or cgroup: it goes into public logs. The commands do, and stay on the host.
#ifndef TB_DOCTOR_H
#define TB_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum tb_finding_state {
    TB_FINDING_FIT,             // as measuring wants it
    TB_FINDING_NOTE,            // worth knowing; does not spoil a comparison within rounds
    TB_FINDING_UNFIT,           // it can make figures wrong or unstable
    TB_FINDING_UNKNOWN,         // not to be read here, with the reason in `now`
};

#define TB_FINDINGS_MAX 64u
#define TB_KNOB_BYTES 48u

// A file with one value. `pattern` with `number` in place of its '%' is the path; without a '%' it is the path itself.
struct tb_knob {
    char pattern[112];
    unsigned number;
    char now[TB_KNOB_BYTES];
    char wanted[TB_KNOB_BYTES]; // "": nothing is wanted, but changing another knob changes this one, so it is restored as well
};

struct tb_finding {
    char id[24];                // "numa-balancing": stable, for programs
    enum tb_finding_state state;
    bool decides;               // it can be UNFIT; where it is UNKNOWN the host is not known to be fit
    char now[192];              // "1 (on)"
    char wanted[64];            // "0 (off)", "" where there is no such value
    char why[256];              // what it does to a figure
    char remedy[256];
    char *change, *restore;     // several lines each; never NULL
    struct tb_knob *knobs;      // also those that are as wanted
    size_t knobs_count;
};

struct tb_doctor {
    struct tb_finding finding[TB_FINDINGS_MAX]; // in the order in which changes are made; restoring goes backwards
    unsigned count;
    unsigned states[4];         // how many of each state
    bool fit;                   // nothing that decides is UNFIT or UNKNOWN
};

// Looks at the host under `root`: "" on a real machine, where it takes a tenth of a second (that long it watches what others do);
// or a copy of another one's /proc and /sys, where the limits of this process mean nothing and are left out, and time passes only
// if there is a second reading of /proc/stat, /proc/stat.later. Changes nothing. 0, and then it has to be closed, or -errno.
int tb_doctor_look(const char *root, struct tb_doctor *out);
void tb_doctor_close(struct tb_doctor *doctor);

const char *tb_finding_state_name(enum tb_finding_state state); // "fit", "note", "unfit", "unknown"

// The finding of this name, or NULL.
struct tb_finding *tb_doctor_find(struct tb_doctor *doctor, const char *id);

// Keeps the first `count` findings and forgets the others.
void tb_doctor_keep(struct tb_doctor *doctor, unsigned count);

#define TB_DOCTOR_ANSWER 2200u // bytes

// The answer in a line: "2 things can spoil a figure: load, pressure." or "Fit to measure."
void tb_doctor_answer(const struct tb_doctor *doctor, char *out, size_t bytes);

// For people what is not fit, the worst first, and the answer last; `full`: each finding with its commands. For programs all of it.
// `head` as for tb_doc_open(), taken over. NULL without memory.
struct tb_doc; // testbed/doc/doc.h
struct tb_doc *tb_doctor_doc(json_t *head, const struct tb_doctor *doctor, bool full);

// A script for a root shell: all changes, or all that brings back what is there now, last thing first. It goes on where a line
// fails, names what failed at its end, and exits with 1 then.
int tb_doctor_script(FILE *stream, const struct tb_doctor *doctor, bool restore);

json_t *tb_doctor_header(const struct tb_doctor *doctor); // for a log's header: fit, and by id {state, now}; NULL: no memory
json_t *tb_doctor_brief(const struct tb_doctor *doctor);  // for the head of a JSON: fit, and the ids that stand against it; NULL

// The kind of machine by what its finding `machine` says now, as a packet tells it: "hardware", "virtual", "emulated", "unknown".
const char *tb_machine_kind(const char *now);

// Does firmware of this product name (DMI) make it a virtual machine?
bool tb_machine_virtual(const char *product);

// What such a header says, in words: "fit", or "3 findings: governor, thp, load", or "not known to be fit: ..."; "" where there is
// none (a log of before). True when it is fit.
bool tb_doctor_header_says(const json_t *header, char *out, size_t bytes);

#endif
