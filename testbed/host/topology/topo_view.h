// SPDX-License-Identifier: Apache-2.0
//
// topo_view: how `locus topo` shows a machine, as text and as JSON.
#ifndef TB_TOPO_VIEW_H
#define TB_TOPO_VIEW_H

#include <jansson.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "topo/topo.h"

// What only the running kernel can tell.
struct tb_topo_host {
    struct utsname names;
    int mbind_errno;            // 0: works
    int move_pages_errno;
    int numa_balancing;         // as in /proc/sys/kernel; -1: the kernel has no such thing
    uint64_t cgroup_room_bytes; // UINT64_MAX: unlimited
};

// Both print to stdout and return an exit status. `topology` is the name of the description, NULL for this machine; `host` is NULL
// for any other machine, and then nothing is said about free memory, permissions or the kernel.
int tb_topo_print_text(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host);
int tb_topo_print_json(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host);

// The object that the latter prints: a new reference, or NULL (no memory, or a name is not UTF-8).
json_t *tb_topo_json(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host);

// Asks the running kernel, by trying; see probe.h.
void tb_topo_host_probe(const struct locus_topo *topo, struct tb_topo_host *out);

// "51.2 GiB", in 32 bytes. Whole numbers lose their ".0" when `trim` is set: a size is a fact, a level of filling is a reading.
const char *tb_topo_bytes(char *text, size_t room, uint64_t bytes, bool trim);

// The same words in both: "DRAM", "memory-only" ...; "this machine", "xml", "synthetic".
const char *tb_topo_kind_name(enum locus_node_kind kind);
const char *tb_topo_source_name(enum locus_topo_source source);

#endif
