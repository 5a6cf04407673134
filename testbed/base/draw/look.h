// SPDX-License-Identifier: Apache-2.0
//
// look: the colour and the shape of a contender, the same in every drawing of every campaign.
//
// The colours are Okabe and Ito's, which stay apart for colour-blind readers; the shapes do it without colour.
#ifndef TB_LOOK_H
#define TB_LOOK_H

#include <stddef.h>
#include <stdint.h>

struct tb_look {
    const char *name, *colour;
    int shape; // gnuplot's pointtype: 1 plus, 2 cross, 3 both, 4 square, 6 circle, 8 triangle, 10 triangle down, 12 diamond,
               // 14 pentagon; one more: filled
};

// The look of a contender, called without "#2" and "@fault". Who is not in the table gets one by turns: `otherwise` should be the
// index of its first arm, so that its twin looks like it.
const struct tb_look *tb_look(const char *name, uint32_t otherwise);

#endif
