// SPDX-License-Identifier: Apache-2.0
//
// serve_settings: options of `locus serve` that are words of a cell. One that is refused is refused for one named cause.
#ifndef TB_SERVE_SETTINGS_H
#define TB_SERVE_SETTINGS_H

#include <argp.h>
#include <stdbool.h>

#include "testbed/serving/plan.h"

#define TB_SERVE_SAID_MAX 32u

typedef bool tb_serve_read_fn(struct tb_serving_settings *settings, const char *word);

struct tb_serve_said {          // what the options said so far
    struct {
        const char *option;
        char word[64];
        tb_serve_read_fn *read;
    } one[TB_SERVE_SAID_MAX];
    unsigned count;
};

// Takes `word` with its argument and unit, "far" "7000" "b", by `read`. 0, or an error after a report that says which it is: no
// value of this option, and which there are; given twice; or what does not go with another option, and with which.
error_t tb_serve_setting(struct argp_state *state, struct tb_serve_said *said, struct tb_serving_settings *settings,
                         const char *option, const char *word, const char *argument, const char *unit, tb_serve_read_fn *read);

#endif
