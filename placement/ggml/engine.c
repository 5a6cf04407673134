// SPDX-License-Identifier: Apache-2.0
//
// engine: see engine.h.

#include "engine.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct lg_engine lg_engine;

struct search {
    const char *symbol;
    void *found;
};

// A handle of a library that is mapped already keeps it mapped; that is right, as we call it until the process ends.
static int look_in(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct search *search = context;
    (void)bytes;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (strncmp(slash ? slash + 1 : info->dlpi_name, "libggml", strlen("libggml")) != 0)
        return 0;
    void *library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return 0;
    search->found = dlsym(library, search->symbol);
    dlclose(library);
    return search->found != NULL;
}

void *lg_engine_symbol(const char *symbol)
{
    struct search search = {.symbol = symbol, .found = dlsym(RTLD_DEFAULT, symbol)};
    if (!search.found)
        dl_iterate_phdr(look_in, &search);
    return search.found;
}

// Through a void pointer in memory, because ISO C has no cast between it and a function pointer.
static int find_all(void *slots[], const char *const symbols[], unsigned count, void *(*look)(const char *symbol),
                    const char **missing)
{
    for (unsigned i = 0; i < count; i++) {
        void *found = look(symbols[i]);
        if (!found) {
            *missing = symbols[i];
            return -ENOENT;
        }
        memcpy(slots[i], &found, sizeof(found));
    }
    return 0;
}

int lg_engine_find(const char **missing)
{
    static const char *const symbols[] = {"ggml_log_internal", "ggml_backend_buffer_init",  "ggml_backend_dev_by_type",
                                          "ggml_nbytes",       "ggml_backend_reg_count",    "ggml_backend_reg_get",
                                          "ggml_op_name",      "ggml_backend_buft_is_host", "ggml_graph_n_nodes",
                                          "ggml_graph_node"};
    void *slots[] = {&lg_engine.log,         &lg_engine.buffer_init, &lg_engine.dev_by_type, &lg_engine.nbytes,
                     &lg_engine.reg_count,   &lg_engine.reg_get,     &lg_engine.op_name,     &lg_engine.is_host,
                     &lg_engine.graph_nodes, &lg_engine.graph_node};
    return find_all(slots, symbols, sizeof(symbols) / sizeof(symbols[0]), lg_engine_symbol, missing);
}

void lg_log_stderr(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
}

static void *find_in_cpu(const char *symbol)
{
    ggml_backend_reg_t reg = lg_engine.dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)->reg;
    return reg->iface.get_proc_address ? reg->iface.get_proc_address(reg, symbol) : NULL;
}

int lg_cpu_find(struct lg_cpu *cpu, const char **missing)
{
    static const char *const symbols[] = {"ggml_threadpool_new", "ggml_threadpool_free", "ggml_backend_cpu_set_threadpool",
                                          "ggml_backend_set_n_threads", "ggml_backend_set_abort_callback"};
    void *slots[] = {&cpu->pool_new, &cpu->pool_free, &cpu->set_pool, &cpu->set_threads, &cpu->set_abort};
    *missing = "device of type CPU";
    cpu->device = lg_engine.dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
    if (!cpu->device)
        return -ENODEV;
    return find_all(slots, symbols, sizeof(symbols) / sizeof(symbols[0]), find_in_cpu, missing);
}
