// SPDX-License-Identifier: Apache-2.0
//
// layout: see layout.h.
//
// The engine's number is that of any backend that it has taken before us, which is its CPU backend as a rule. Where there is none,
// the functions alone decide; if they mislead us, the engine compares the numbers itself, and refuses.

#include "layout.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NEWEST 3

// What the headers of this build say must be what is written down in layout.h.
#if GGML_BACKEND_API_VERSION == 2
typedef struct lg_type_2 type_of_headers;
#elif GGML_BACKEND_API_VERSION == 3
typedef struct lg_type_3 type_of_headers;
#else
#error "these headers have another interface than 2 and 3: it needs a form of its own in layout.h"
#endif
#define SAME_PLACE(ours, theirs)                                                                                                   \
    _Static_assert(offsetof(type_of_headers, ours) == offsetof(struct ggml_backend_buffer_type, theirs), #ours)
SAME_PLACE(get_name, iface.get_name);
SAME_PLACE(alloc_buffer, iface.alloc_buffer);
SAME_PLACE(get_alignment, iface.get_alignment);
SAME_PLACE(is_host, iface.is_host);
SAME_PLACE(device, device);
SAME_PLACE(context, context);
_Static_assert(sizeof(type_of_headers) == sizeof(struct ggml_backend_buffer_type), "a buffer type");

static const char *version(void)
{
    const char *(*ask)(void) = NULL;
    void *symbol = lg_engine_symbol("ggml_version");
    memcpy(&ask, &symbol, sizeof(symbol));
    return ask ? ask() : "of an unknown version";
}

static bool has_rows(void)
{
    return lg_engine_symbol("ggml_backend_tensor_set_2d") != NULL;
}

static bool has_lists(void)
{
    return lg_engine_symbol("ggml_backend_buft_alloc_buffer_n") != NULL;
}

int lg_layout_find(int *number, char *why, size_t why_bytes)
{
    *number = lg_engine.reg_count() > 0 ? lg_engine.reg_get(0)->api_version : has_lists() ? NEWEST : 2;
    bool known = *number == 2 ? has_rows() && !has_lists() : *number == NEWEST && has_lists();
    if (known)
        return 0;
    bool old = *number < 2 || (*number == 2 && !has_rows());
    snprintf(why, why_bytes,
             "this engine's ggml is %s, with plug-in interface %d%s; this file serves 2 in its later form (ggml 0.17 to 0.25) and "
             "3 (from 0.26): %s",
             version(), *number,
             old                ? " in an older form"
             : *number > NEWEST ? ""
                                : " in another form",
             old ? "take a newer engine, such as llama.cpp b10068 or node-llama-cpp 3.19"
                 : "take a libggml-locus.so that was made for this engine");
    return -ENOTSUP;
}

static void set_second(struct lg_type *type, const struct lg_type_calls *calls, ggml_backend_dev_t device)
{
    type->form.second = (struct lg_type_2){.get_name = calls->get_name,
                                           .alloc_buffer = calls->alloc_buffer,
                                           .get_alignment = calls->get_alignment,
                                           .is_host = calls->is_host,
                                           .device = device};
}

static void set_third(struct lg_type *type, const struct lg_type_calls *calls, ggml_backend_dev_t device)
{
    type->form.third = (struct lg_type_3){.get_name = calls->get_name,
                                          .alloc_buffer = calls->alloc_buffer,
                                          .get_alignment = calls->get_alignment,
                                          .is_host = calls->is_host,
                                          .device = device};
}

void lg_type_set(struct lg_type *type, int number, const struct lg_type_calls *calls, const struct lg_memory *memory,
                 ggml_backend_dev_t device)
{
    type->memory = memory;
    if (number == 2)
        set_second(type, calls, device);
    else
        set_third(type, calls, device);
}
