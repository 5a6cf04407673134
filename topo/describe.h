// SPDX-License-Identifier: Apache-2.0
//
// describe (private): gets an hwloc topology from a file or a synthetic description, or says why not.
#ifndef TOPO_DESCRIBE_H
#define TOPO_DESCRIBE_H

#include <hwloc.h>
#include <stddef.h>

#include "topo.h"

// Where the one-line reason goes, if text is not NULL. It begins with the source, if that is not NULL.
struct topo_why {
    char *text;
    size_t bytes;
    const char *source;
};

// Writes the reason and returns `error`, so that a failure is one statement.
int topo_why(const struct topo_why *why, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

enum locus_topo_source topo_describe_kind(const char *source);

// Does the environment ask hwloc to show another machine as this one? 0, or -EINVAL with the variable in the reason.
int topo_describe_environment(const struct topo_why *why);

// `source` is not NULL. On success *out belongs to the caller until hwloc_topology_destroy(). Errors as locus_topo_open().
int topo_describe(hwloc_topology_t *out, const char *source, const struct topo_why *why);

// Version of the hwloc library in use, "2.9.0". hwloc stores it only in a topology that it discovered or synthesised.
void topo_describe_version(char *text, size_t bytes);

#endif
