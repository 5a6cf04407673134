// SPDX-License-Identifier: Apache-2.0
//
// engine_host FILE: a process with a ggml of one form, as far as libggml-locus.so looks at it, which it then loads. NUMBER is the
// interface's; with ROWS and LISTS it has the functions by which a form is told. NONE: no backend was taken before ours.
//
// It knows the members of a buffer type from ggml's headers of that form (0.25.1 and 0.26.0), and finds our functions where they
// say. Exit status: 0 served, 1 something is wrong, 3 refused.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef void *word;
struct registry {
    int number;
    word name, count, get, address;
    word context;
};
struct device {
    word calls[15];
    struct registry *registry;
    word context;
};

#ifndef NONE
static struct registry cpu = {.number = NUMBER};
#endif
EXPORT size_t ggml_backend_reg_count(void);
EXPORT size_t ggml_backend_reg_count(void)
{
#ifdef NONE
    return 0;
#else
    return 1;
#endif
}
EXPORT word ggml_backend_reg_get(size_t index);
EXPORT word ggml_backend_reg_get(size_t index)
{
    (void)index;
#ifdef NONE
    return NULL;
#else
    return &cpu;
#endif
}
EXPORT void ggml_log_internal(int level, const char *format, ...);
EXPORT void ggml_log_internal(int level, const char *format, ...)
{
    (void)level;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

// What a buffer is made of, by value: ten functions in this form.
struct calls {
    word free_buffer, get_base, others[9];
};
struct buffer {
    struct calls calls;
    word type, context;
    size_t bytes;
};
EXPORT word ggml_backend_buffer_init(word type, struct calls calls, word context, size_t bytes);
EXPORT word ggml_backend_buffer_init(word type, struct calls calls, word context, size_t bytes)
{
    struct buffer *buffer = calloc(1, sizeof(*buffer));
    *buffer = (struct buffer){calls, type, context, bytes};
    return buffer;
}

#define HAS(name)                                                                                                                  \
    EXPORT word name(void);                                                                                                        \
    EXPORT word name(void)                                                                                                         \
    {                                                                                                                              \
        return NULL;                                                                                                               \
    }
HAS(ggml_backend_dev_by_type)
HAS(ggml_nbytes)
HAS(ggml_op_name)
HAS(ggml_backend_buft_is_host)
HAS(ggml_graph_n_nodes)
HAS(ggml_graph_node)
#ifdef ROWS
HAS(ggml_backend_tensor_set_2d)
#endif
#ifdef LISTS
HAS(ggml_backend_buft_alloc_buffer_n)
#endif
EXPORT const char *ggml_version(void);
EXPORT const char *ggml_version(void)
{
    return "0.99.9";
}

// Where a buffer type's members are, in pointers. -1 ends the list of those that must be empty.
#ifdef LISTS
enum { NAME = 0, ALLOC = 1, ALIGNMENT = 3, DEVICE = 8 };
static const int empty[] = {2, 4, 5, 6, 7, -1};
#else
enum { NAME = 0, ALLOC = 1, ALIGNMENT = 2, DEVICE = 6 };
static const int empty[] = {3, 4, 5, -1};
#endif

static void function(void *slot, word symbol)
{
    memcpy(slot, &symbol, sizeof(symbol));
}

static const char *use(struct device *device)
{
    word (*type_of)(word);
    const char *(*name)(word);
    word (*alloc)(word, size_t);
    size_t (*alignment)(word);
    void *(*base)(word);
    void (*end)(word);
    function(&type_of, device->calls[6]);
    word *type = type_of(device);
    function(&name, type[NAME]);
    function(&alloc, type[ALLOC]);
    function(&alignment, type[ALIGNMENT]);
    for (const int *at = empty; *at >= 0; at++)
        if (type[*at])
            return "a member that we do not have is set";
    if (type[DEVICE] != device)
        return "the type is another device's";
    if (strcmp(name(type), "LOCUS0") != 0 || alignment(type) != 64)
        return "the type has another name or alignment";
    struct buffer *buffer = alloc(type, 1 << 20);
    if (!buffer)
        return "no buffer";
    function(&base, buffer->calls.get_base);
    function(&end, buffer->calls.free_buffer);
    memset(base(buffer), 1, 1 << 20);
    end(buffer);
    free(buffer);
    return NULL;
}

int main(int argc, char **argv)
{
    struct registry *(*init)(void) = NULL;
    struct device *(*get)(word, size_t);
    word library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        fprintf(stderr, "engine_host: %s\n", argc == 2 ? dlerror() : "which file?");
        return 1;
    }
    function(&init, dlsym(library, "ggml_backend_init"));
    struct registry *registry = init();
    if (!registry)
        return 3;
    function(&get, registry->get);
    const char *wrong = registry->number != NUMBER ? "another number" : use(get(registry, 0));
    fprintf(stderr, "%s\n", wrong ? wrong : "served");
    return wrong ? 1 : 0;
}
