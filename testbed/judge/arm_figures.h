// SPDX-License-Identifier: Apache-2.0
//
// arm_figures: what the samples of one arm in one cell of a log come to. The medians are those of the log's summary; what the
// summary does not hold is worked out from the samples. Deterministic: the same log gives the same figures.
#ifndef TB_ARM_FIGURES_H
#define TB_ARM_FIGURES_H

#include "testbed/record/log.h"
#include "testbed/stats/stats.h"

struct tb_arm_figures {
    const char *key, *name;     // of the arm; they point into the view
    const json_t *summary;      // the summary's entry: n, median, low, high, mad, min, ...; NULL where it has none
    char version[64];           // of the allocator that was really there, or ""
    char invalid[256];          // the first sample that is not valid, in words; "" when all are, and only then is anything ranked
    double outstanding, distinct; // the worst round's blocks over the theoretical peak; NAN without a valid sample
    double remote_touch, wandered, abroad_free; // the worst round's ratio; NAN unless this was a run of many nodes
    bool has_ratio;             // not for the first arm, nor where a sample of either is not valid, nor of an emulated machine
    struct tb_ratio ratio;      // this arm's time over the first arm's, round by round
};

size_t tb_cells_count(const struct tb_log_view *view);
size_t tb_arms_count(const struct tb_log_view *view);

// "churn-touch/full". Returns out.
const char *tb_cell_label(const struct tb_log_view *view, size_t cell, char *out, size_t bytes);

// The summary's entry of an arm, by its key; NULL: it has none.
const json_t *tb_summary_arm(const struct tb_log_view *view, size_t cell, const char *arm);

// 0 or -errno.
int tb_arm_figures(const struct tb_log_view *view, size_t cell, size_t arm, struct tb_arm_figures *out);

#endif
