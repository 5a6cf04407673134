// SPDX-License-Identifier: Apache-2.0
//
// watch: how long the threads of a measured process were ready to run while something else had their CPU.
#ifndef TB_WATCH_H
#define TB_WATCH_H

#include "testbed/measure/sample.h"

struct tb_watch {
    uint64_t begun_ns, waited_ns;
    bool known;
};

// Called before and after the timed laps, never within: each reads a file for every thread. Neither allocates, because that would
// be the contender's malloc.
void tb_watch_start(struct tb_watch *watch);
void tb_watch_stop(const struct tb_watch *watch, struct tb_sample *out); // sets watched_ns and waited_ns

#endif
