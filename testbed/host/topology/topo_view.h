// SPDX-License-Identifier: Apache-2.0
//
// topo_view: a machine as a document: what `locus topo` shows, and the member `machine` of other JSON.
#ifndef TB_TOPO_VIEW_H
#define TB_TOPO_VIEW_H

#include <jansson.h>
#include <stdint.h>
#include <sys/utsname.h>

#include "testbed/doc/doc.h"
#include "topo/topo.h"

// What only the running kernel can tell.
struct tb_topo_host {
    struct utsname names;
    int mbind_errno;            // 0: works
    int move_pages_errno;
    int numa_balancing;         // as tb_numa_balancing() (probe.h)
    uint64_t cgroup_room_bytes; // UINT64_MAX: unlimited
};

// Asks the running kernel, by trying; see probe.h.
void tb_topo_host_probe(const struct locus_topo *topo, struct tb_topo_host *out);

// `topology` is the name of the description, NULL for this machine; `host` is NULL for any other machine, and then nothing is said
// about free memory, permissions or the kernel. `head` as for tb_doc_open(), taken over. NULL without memory.
struct tb_doc *tb_topo_doc(json_t *head, const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host);

// The same for programs, without a head: a new reference, or NULL (no memory, or a name is not UTF-8).
json_t *tb_topo_json(const struct locus_topo *topo, const char *topology, const struct tb_topo_host *host);

// "51.2 GiB", in 32 bytes. Whole numbers lose their ".0" when `trim` is set: a size is a fact, a level of filling is a reading.
const char *tb_topo_bytes(char *text, size_t room, uint64_t bytes, bool trim);

#endif
