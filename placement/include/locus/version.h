// SPDX-License-Identifier: Apache-2.0
//
// version: which liblocus this is, and what may change.
//
// While the major number is 0, a new minor number may change any interface. The shared library's soname has both
// (liblocus.so.0.10), so a program never runs with an interface that it was not built for. A new patch number changes no interface
// and no struct. Bindings are not built from the headers. For them a config struct grows only at its end, and its first field is
// the size of the caller's struct: a newer library takes the missing fields for 0, and an older one refuses fields that it does
// not know (-E2BIG) unless they are 0. A size of 0 means the size in this version's headers. So a C program may leave the field
// out: its soname says that it was built with these headers.
#ifndef LOCUS_VERSION_H
#define LOCUS_VERSION_H

#include <stdint.h>

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 10
#define LOCUS_VERSION_PATCH 0
#define LOCUS_VERSION "0.10.0"
#define LOCUS_VERSION_NUMBER (LOCUS_VERSION_MAJOR << 16 | LOCUS_VERSION_MINOR << 8 | LOCUS_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

// LOCUS_VERSION_NUMBER of the library in use, which may be later than that of the headers. Any thread.
uint32_t locus_version(void);

#ifdef __cplusplus
}
#endif

#endif
