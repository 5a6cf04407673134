// SPDX-License-Identifier: Apache-2.0
//
// doctor: is this host fit to measure? Facts about it, each with what it is now, why it matters, and how to change and restore it.
//
// A finding is a fact of this host, read from its files; a file that is not there is a finding too ("ABSENT"). `change` and
// `restore` are lines for a root shell (POSIX sh, no sudo): the first brings about what measuring wants, the second
// exactly what was there when the doctor looked, so both carry the values of this very host. Either is "" where nothing can be or
// need be changed, and `remedy` says in words what would help then (a machine, a batch system, the firmware).
#ifndef TB_DOCTOR_H
#define TB_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "testbed/report.h"

enum tb_finding_state {
    TB_FINDING_FIT,             // as measuring wants it
    TB_FINDING_NOTE,            // worth knowing; does not spoil a comparison within rounds
    TB_FINDING_UNFIT,           // it can make figures wrong or unstable
    TB_FINDING_UNKNOWN,         // not to be read here, with the reason
};

#define TB_FINDINGS_MAX 64u

struct tb_finding {
    char id[32];                // "numa-balancing": stable, for programs
    enum tb_finding_state state;
    char now[160];              // "1 (on)"
    char wanted[96];            // "0 (off)", "" where there is no such value
    char why[280];              // what it does to a figure
    char change[480], restore[480], remedy[200];
};

struct tb_doctor {
    struct tb_finding finding[TB_FINDINGS_MAX];
    unsigned count;
    unsigned states[4];         // how many of each state
    bool fit;                   // none is UNFIT
};

// Looks at the host under `root` ("" on a real machine). A few milliseconds; changes nothing. 0 or -errno.
int tb_doctor_look(const char *root, struct tb_doctor *out);

int tb_doctor_text(FILE *stream, const struct tb_doctor *doctor, struct tb_report_style style);
json_t *tb_doctor_json(const struct tb_doctor *doctor); // all of it, for `locus doctor --json`; NULL: no memory
json_t *tb_doctor_header(const struct tb_doctor *doctor); // short, for a log's header: fit, and each id's state and value

#endif
