// SPDX-License-Identifier: Apache-2.0
//
// device: one of ggml's devices for each node. Everything is set up once, when the engine loads the file, and stays.
#ifndef LG_DEVICE_H
#define LG_DEVICE_H

#include "buffer.h"

struct lg_device {
    struct ggml_backend_device base;
    struct lg_type buffers;
    struct lg_memory memory;
    const struct lg_place *place;
    const char *name;
    char description[96];
};

extern struct lg_settings lg_settings;

// The device that one of ggml's handles stands for.
static inline struct lg_device *lg_device_of(ggml_backend_dev_t device)
{
    return device->context;
}

#endif
