// SPDX-License-Identifier: Apache-2.0
//
// view: a set for people and for programs.
#ifndef TB_COUNTERS_VIEW_H
#define TB_COUNTERS_VIEW_H

#include <jansson.h>
#include <stdio.h>

#include "testbed/counters/counters.h"

// {cpu "Zen 5", id "AuthenticAMD:26:2", probed, counters [{name, kind, event|null, source|null, type|null, config|null ("0x843"),
// config1|null, device|null, code|null, derived_from [names], group, user_only, why|null}]}. New reference, or NULL.
json_t *tb_counters_json(const struct tb_counter_set *set, bool probed);

// A table, and below it what is missing, equal reasons together. `probed` false: of a CPU that is not here.
void tb_counters_text(FILE *to, const struct tb_counter_set *set, bool probed);

// "1234", or where the hardware was shared "1234 (counted 40 % of the time)", or why there is none. Never scaled.
void tb_counter_value_text(const struct tb_counter_value *value, char *out, size_t bytes);

// Not all of the time that it was on did it have the hardware.
bool tb_counter_multiplexed(const struct tb_counter_value *value);

#endif
