// SPDX-License-Identifier: Apache-2.0
//
// config: takes over a caller's config struct, which may be of another version than ours (version.h). Not installed.
//
// As the kernel does it for its own extensible structs (openat2, clone3): what the caller's struct lacks is 0, and what it has
// beyond ours must be 0, because we cannot do it.
#ifndef LOCUS_CONFIG_H
#define LOCUS_CONFIG_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#define CONFIG_BYTES_MAX 4096u // a larger one is no size

// `given` begins with a size_t that says how large it is; 0 stands for as large as ours. 0, -EINVAL: it cannot be so large;
// -E2BIG: it asks for something that this version does not know.
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

// One sentence on a config_take() that answered `error`.
static inline const char *config_why(int error)
{
    return error == -E2BIG ? "the struct is of a later version of the library, and a field that this one does not know is set"
                           : "the field `size` is not the struct's size";
}

#endif
