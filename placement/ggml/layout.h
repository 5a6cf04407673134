// SPDX-License-Identifier: Apache-2.0
//
// layout: which form of ggml's plug-in interface the engine has, and a buffer type in that form.
//
// ggml numbers its interface, and an engine refuses a backend that names another number than its own. But the number does not say
// how the structures are laid out: 2 stood for two forms. So the form is told by functions that came with it, and this file serves
// those forms that it knows, each under the engine's own number. Between them only the buffer type differs.
//
//     number  ggml          form
//     2       up to 0.9     a buffer has no set_tensor_2d, get_tensor_2d: refused
//     2       up to 0.25    a buffer has them
//     3       from 0.26     a buffer type has alloc_buffer_n and get_alloc_size_n as well, in its middle
//
// The members' order is part of that interface; both forms are written down here, so that one file serves them, whichever headers
// it is built with.
//
// Threads: everything is called once, before anything else of this room.
#ifndef LG_LAYOUT_H
#define LG_LAYOUT_H

#include "engine.h"

struct lg_memory;

typedef const char *lg_type_name_fn(ggml_backend_buffer_type_t type);
typedef ggml_backend_buffer_t lg_type_alloc_fn(ggml_backend_buffer_type_t type, size_t bytes);
typedef size_t lg_type_size_fn(ggml_backend_buffer_type_t type);
typedef bool lg_type_is_host_fn(ggml_backend_buffer_type_t type);
typedef void lg_type_unused_fn(void); // optional, and never set

// What we give a buffer type to do.
struct lg_type_calls {
    lg_type_name_fn *get_name;
    lg_type_alloc_fn *alloc_buffer;
    lg_type_size_fn *get_alignment;
    lg_type_is_host_fn *is_host; // NULL: it is not
};

struct lg_type_2 {
    lg_type_name_fn *get_name;
    lg_type_alloc_fn *alloc_buffer;
    lg_type_size_fn *get_alignment;
    lg_type_unused_fn *get_max_size, *get_alloc_size;
    lg_type_is_host_fn *is_host;
    ggml_backend_dev_t device;
    void *context;
};

struct lg_type_3 {
    lg_type_name_fn *get_name;
    lg_type_alloc_fn *alloc_buffer;
    lg_type_unused_fn *alloc_buffer_n;
    lg_type_size_fn *get_alignment;
    lg_type_unused_fn *get_max_size, *get_alloc_size, *get_alloc_size_n;
    lg_type_is_host_fn *is_host;
    ggml_backend_dev_t device;
    void *context;
};

// A buffer type of ours. ggml's handle of it is its address.
struct lg_type {
    union {
        struct lg_type_2 second;
        struct lg_type_3 third;
    } form;
    const struct lg_memory *memory;
};

// 0, and the engine's number in *number; -ENOTSUP: a form that is none of ours. `why` says what was found, what is needed, and the
// remedy. After lg_engine_find().
int lg_layout_find(int *number, char *why, size_t why_bytes);

// *type is a type in the form of that number.
void lg_type_set(struct lg_type *type, int number, const struct lg_type_calls *calls, const struct lg_memory *memory,
                 ggml_backend_dev_t device);

static inline ggml_backend_buffer_type_t lg_type_handle(struct lg_type *type)
{
    return (ggml_backend_buffer_type_t)type;
}

static inline const struct lg_memory *lg_type_memory(ggml_backend_buffer_type_t handle)
{
    return ((const struct lg_type *)handle)->memory;
}

#endif
