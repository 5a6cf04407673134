// SPDX-License-Identifier: Apache-2.0
//
// packet_steps: which experiments a packet is made of, and about how long they take.
#ifndef TB_PACKET_STEPS_H
#define TB_PACKET_STEPS_H

#include "testbed/postulate/postulate.h"
#include "testbed/record/filed.h"

#define TB_PACKET_STEPS_MAX 256u

struct tb_packet_step {
    struct tb_postulate *postulate;
    const char *why;            // why it is in: "flagship", "LOCUS-EVAL", "named", "rest"
    double seconds;             // about
    bool guessed;               // from the number of processes; otherwise as long as it took on some host of the record
    bool done;                  // this host's ledger has a whole run of it; it is not repeated
};

struct tb_packet_steps {
    struct tb_packet_step step[TB_PACKET_STEPS_MAX];
    size_t count;
    double seconds;             // of those that are not done, and of the matrix
};

// The default set, all postulates (`full`), or those named (`ids`, NULL-terminated, not empty), in the order
// in which they are run. `root` and `host` say what is done already, unless `again`. 0, -EINVAL or -ENOMEM: why.
struct tb_packet_wish {
    bool full, smoke, again;
    const char *const *ids;
    const char *root, *host;
};
int tb_packet_steps_open(struct tb_packet_steps *out, const struct tb_packet_wish *wish, char *why, size_t why_bytes);
void tb_packet_steps_close(struct tb_packet_steps *steps);

// "12 s", "about 3 min".
const char *tb_packet_duration(double seconds, char *out, size_t bytes);

#endif
