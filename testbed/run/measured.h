// SPDX-License-Identifier: Apache-2.0
//
// measured: a measurement without a postulate (eval, replay, bench, advise), written into a log like that of a run (record/log.h)
// and read back. So whatever is shown of it is worked out from log lines, and a log that was kept can be shown again.
//
// The log's kind is the command. In its header postulate and experiment are null, and `measured` has
//   head       what the JSON of the command begins with (host/head.h)
//   about      what was measured, in words, or null
//   unfit      what the doctor has against this host, in a line, or null
//   here       of `locus serve --here`: the clock that was measured before (report/serve/here.h); of `locus engine`: over how many
//              devices a model is divided here; or null
//   advise     of `locus advise`, which shows its log otherwise: the machine and what it could not run (report/advise/advise.h)
#ifndef TB_MEASURED_H
#define TB_MEASURED_H

#include "testbed/measure/rounds.h"
#include "testbed/record/log.h"

struct tb_doctor;

struct tb_measured_config {
    struct tb_rounds *rounds;   // samples: room for all; each arm gets a key
    struct tb_arm *arms;        // the measurement's
    const char *command;
    const char *about, *unfit;  // or NULL
    json_t *advise, *here;      // borrowed; or NULL
    const char *log;            // where the log is kept, which must not exist yet; NULL: nowhere
    const struct tb_doctor *doctor; // who looked before; NULL: he could not
    bool quiet;                 // no progress
};

// 0, or -errno with one sentence in `why`. What was measured before it failed stays in config->log.
int tb_measured(const struct tb_measured_config *config, struct tb_log_view *out, char *why, size_t why_bytes);

#endif
