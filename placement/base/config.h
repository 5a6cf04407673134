// SPDX-License-Identifier: Apache-2.0
//
// config: copies a caller's config struct, which may come from another version of the library (version.h). Not installed.
//
// The rule is the kernel's for its extensible structs (openat2, clone3): fields that the caller's struct lacks are 0, and fields
// that ours lacks must be 0, because this version cannot act on them.
#ifndef LOCUS_CONFIG_H
#define LOCUS_CONFIG_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define CONFIG_BYTES_MAX 4096u // arbitrary; a larger value cannot be a size

// `given` begins with its own size as a size_t; 0 means the size of ours. Returns 0; -EINVAL: not a possible size; -E2BIG: a
// field is set that this version does not know.
static inline int config_take(void *own, size_t own_bytes, const void *given)
{
    size_t bytes;
    memcpy(&bytes, given, sizeof bytes);
    if (bytes == 0)
        bytes = own_bytes;
    if (bytes < sizeof bytes || bytes > CONFIG_BYTES_MAX)
        return -EINVAL;
    for (size_t i = own_bytes; i < bytes; i++)
        if (((const unsigned char *)given)[i])
            return -E2BIG;
    memset(own, 0, own_bytes);
    memcpy(own, given, bytes < own_bytes ? bytes : own_bytes);
    memcpy(own, &own_bytes, sizeof own_bytes);
    return 0;
}

// One sentence on why config_take() returned `error`.
static inline const char *config_why(int error)
{
    return error == -E2BIG ? "the struct is of a later version of the library, and a field that this one does not know is set"
                           : "the field `size` is not the struct's size";
}

#endif
