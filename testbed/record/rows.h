// SPDX-License-Identifier: Apache-2.0
//
// rows: a sample as an array of its values, and back (log.h has the lines).
//
//     {"t":"s","round":3,"valid":true,"counters":{"cycles":{"value":7,"why":null}}}
//     of   ["round",["valid",true],"counters.cycles.value",["counters.cycles.why",null]]       the shape, common to many samples
//     row  [K,3,7]                                                                             K is the shape's number
//
// An entry of `of` is the path of a member whose value is in the row; or [PATH, VALUE] of one that has this value in all its rows;
// or [PATH, "=", OTHER] of one that is equal to a member before it, whose value is in the row: counters have the same times.
// Objects are flattened, so that a path leads to each of their members; an array is one value, and so is an object without
// members, with a member whose name is empty or has a dot in it, or below TB_ROW_DEPTH others.
//
// Nothing is lost: what comes back is equal to the sample. Whole numbers stay whole and the others stay reals, to the bit.
// Functions are pure: any thread.
#ifndef TB_ROWS_H
#define TB_ROWS_H

#include <jansson.h>
#include <stdbool.h>

#define TB_ROW_DEPTH 8

// `sample`'s shape as a new reference, and its row's values as text, ",3,7" (malloc'd). `fixed`: null, true, false, {} and [] are
// values of the shape, and equal times are told once; otherwise the row has all. 0, -ENOMEM, -EINVAL (no sample, or no path leads
// to one of its members).
int tb_row_make(const json_t *sample, bool fixed, json_t **of, char **values);

// The shape for reading rows.
struct tb_shape;
int tb_shape_make(struct tb_shape **out, const json_t *of);     // 0, -ENOMEM, -EINVAL: `of` is none
void tb_shape_free(struct tb_shape *shape);                     // NULL is allowed

// The sample of the row [K, value, ...]; it shares the row's values. 0, -ENOMEM, -EINVAL: a row of another length.
int tb_shape_sample(const struct tb_shape *shape, const json_t *row, json_t **sample);

#endif
