// SPDX-License-Identifier: Apache-2.0
//
// probe: a strict bind of a page that nobody touches, for which the kernel checks permission and node and allocates nothing; and
// move_pages without a list of nodes, which only reports where pages are and tells of one never touched in its status.

#include "testbed/host/probe.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "testbed/host/environment.h"
#include "testbed/host/host.h"

#define NODES_MAX 1024u
#define WORD_BITS (8 * sizeof(unsigned long))

static int first_allowed(const struct locus_topo *topo)
{
    for (unsigned n = 0; n < locus_topo_info(topo)->nodes_count; n++)
        if (locus_topo_nodes(topo)[n].allowed)
            return locus_topo_nodes(topo)[n].os_index;
    return -1;
}

int tb_probe_mbind(const struct locus_topo *topo)
{
    unsigned long mask[NODES_MAX / WORD_BITS] = {0};
    int node = first_allowed(topo);
    if (node < 0 || (unsigned)node >= NODES_MAX)
        return node < 0 ? ENODEV : EINVAL;
    mask[(unsigned)node / WORD_BITS] = 1ul << ((unsigned)node % WORD_BITS);
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    int error = syscall(SYS_mbind, page, bytes, MPOL_BIND, mask, NODES_MAX + 1ul, 0u) ? errno : 0;
    munmap(page, bytes);
    return error;
}

int tb_probe_move_pages(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return errno;
    void *pages[1] = {page};
    int status[1] = {0};
    int error = syscall(SYS_move_pages, 0, 1ul, pages, NULL, status, 0) ? errno : 0;
    munmap(page, bytes);
    return error;
}

const char *tb_probe_why(int error)
{
    switch (error) {
    case 0: return NULL;
    case EPERM: return "EPERM, forbidden by seccomp as in a container: give it CAP_SYS_NICE";
    case ENOSYS: return "ENOSYS, the kernel has no NUMA, or a sandbox hides the call";
    default: return strerror(error);
    }
}

int tb_numa_balancing(void)
{
    const struct tb_host host = {.root = ""};
    json_t *value = tb_host_file(&host, TB_FIELD_NUMBER, "%s", tb_fact_path("numa.balancing"));
    int balancing = json_is_integer(value) ? (int)json_integer_value(value) : TB_BALANCING_UNKNOWN;
    const char *word = json_string_value(value);
    if (word && strcmp(word, tb_host_word(-ENOENT)) == 0 && access("/proc/sys/kernel", X_OK) == 0)
        balancing = TB_BALANCING_NONE;
    json_decref(value);
    return balancing;
}
