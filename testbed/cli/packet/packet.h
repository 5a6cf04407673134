// SPDX-License-Identifier: Apache-2.0
//
// cmd_packet: what the two halves of `locus packet` share. Each returns an exit status and reports by itself.
#ifndef TB_CMD_PACKET_H
#define TB_CMD_PACKET_H

#include "testbed/run/packet_steps.h"

struct tb_packet_arguments {
    const char *check, *key;    // of others' packets
    const char *root, *output, *sign;
    char host[64];
    bool dry_run, full, smoke, again, no_run, list, quiet;
    const char *ids[TB_PACKET_STEPS_MAX];
    size_t ids_count;
};

int tb_packet_make(const struct tb_packet_arguments *arguments);
int tb_packet_receive(const struct tb_packet_arguments *arguments);

#endif
