// SPDX-License-Identifier: Apache-2.0
//
// cpulist (private): the two formats in which sysfs and procfs have sets: lists, "0-3,8,10-11", and masks, "00000000,00000d0f".
#ifndef TOPO_CPULIST_H
#define TOPO_CPULIST_H

#include <stddef.h>

#include "idset.h"

// Reads `bytes` bytes of text (no terminator needed; one newline at the end is allowed). Empty text is the empty set, as the
// kernel writes the CPUs of a memory-only node. On failure *out is unspecified.
// -EINVAL: anything but ascending ranges and numbers between single commas; -ERANGE: a number of TOPO_ID_MAX or more.
int topo_cpulist_parse(const char *text, size_t bytes, struct topo_idset *out);

// The same for a mask: words of at most eight hexadecimal digits between single commas, the highest first, all full but that one.
int topo_cpumap_parse(const char *text, size_t bytes, struct topo_idset *out);

#endif
