// SPDX-License-Identifier: Apache-2.0
//
// peer: a malloc that `make peers` (peers.sh) has fetched from a later release than this machine's, or built from its source:
// NAME-VERSION.so in build/peers, or in the folder that LOCUS_PEERS names. A malloc that cannot be loaded with this machine's
// libraries is there as NAME-VERSION.refused. NAME-VERSION-tuned is the same library with the settings of the contender NAME-tuned.
#ifndef TB_PEER_H
#define TB_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// Is it the name of a peer, "mimalloc-3.6.0" or "mimalloc-3.6.0-tuned", whether it is here or not?
bool tb_peer_name(const char *name);

// The contender that it is run as: "mimalloc-tuned" for "mimalloc-3.6.0-tuned"; "malloc", with default settings, for all else.
const char *tb_peer_contender(const char *name);

// Its library. 0, -ENOENT (no such peer), -ENODEV (it does not load here), -ENAMETOOLONG; why: in words, except for -ENOENT.
int tb_peer_find(const char *name, char *library, size_t bytes, char *why, size_t why_bytes);

// Prints a line for each peer that loads, with name and version, or one on how to get some.
void tb_peer_list(FILE *out, int indent);

#endif
