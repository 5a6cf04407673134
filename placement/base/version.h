// SPDX-License-Identifier: Apache-2.0
//
// version: which liblocus this is, and what may change.
//
// As long as the major number is 0, a new minor one may change any interface, and the shared library's soname names both
// (liblocus.so.0.3), so that a program never runs with another interface than it was built for. A new patch number changes none,
// and no struct. For bindings, which are built from no header, a config struct grows only at its end, and its first field says how
// large the caller's is: a library that knows more takes the rest for 0, and one that knows less refuses what it does not know
// (-E2BIG) unless it is 0. A size of 0 stands for that of this version's headers: a C program that leaves the field out is read
// right, as its soname says that it was built with them.
#ifndef LOCUS_VERSION_H
#define LOCUS_VERSION_H

#include <stdint.h>

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 3
#define LOCUS_VERSION_PATCH 0
#define LOCUS_VERSION "0.3.0"
#define LOCUS_VERSION_NUMBER (LOCUS_VERSION_MAJOR << 16 | LOCUS_VERSION_MINOR << 8 | LOCUS_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

// LOCUS_VERSION_NUMBER of the library that runs, which may be a later one than that of the headers. Any thread.
uint32_t locus_version(void);

#ifdef __cplusplus
}
#endif

#endif
