// SPDX-License-Identifier: Apache-2.0
//
// engine: the functions of ggml that we call, found in the process that has loaded us.
//
// We are not linked with ggml. Its libraries have another file name in each distribution, a second copy beside the engine's would
// have a state of its own, and an engine that was itself loaded with dlopen() does not offer its symbols to others. So they are
// looked up by name among the libraries that are mapped already. ggml's headers give their types.
#ifndef LG_ENGINE_H
#define LG_ENGINE_H

#include "ggml-backend-impl.h"
#include "ggml-cpu.h"

// Of libggml-base and libggml. Set by lg_engine_find(), constant afterwards.
struct lg_engine {
    ggml_backend_buffer_t (*buffer_init)(ggml_backend_buffer_type_t type, struct ggml_backend_buffer_i calls, void *context,
                                         size_t bytes);
    ggml_backend_dev_t (*dev_by_type)(enum ggml_backend_dev_type type);
    size_t (*nbytes)(const struct ggml_tensor *tensor);
    size_t (*reg_count)(void);
    ggml_backend_reg_t (*reg_get)(size_t index);
    bool (*is_host)(ggml_backend_buffer_type_t type); // of any backend's type, in whichever form (layout.h)
    int (*graph_nodes)(struct ggml_cgraph *graph);
    struct ggml_tensor *(*graph_node)(struct ggml_cgraph *graph, int index);
    const char *(*op_name)(enum ggml_op op); // an operation's number changes between versions of ggml, its name does not
    void (*log)(enum ggml_log_level level, const char *format, ...);
};
extern struct lg_engine lg_engine;

// 0; -ENOENT: no library here has *missing.
int lg_engine_find(const char **missing);

// A function that only some versions have; NULL: no library here has it.
void *lg_engine_symbol(const char *symbol);

// One line to the engine's log, and to stderr if there is none.
#define lg_log(level, ...) (lg_engine.log ? lg_engine.log((level), "locus: " __VA_ARGS__) : lg_log_stderr("locus: " __VA_ARGS__))
void lg_log_stderr(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The stock CPU backend, which computes. Another file may load it after us, so it is looked for when it is first needed.
struct lg_cpu {
    ggml_backend_dev_t device;
    struct ggml_threadpool *(*pool_new)(struct ggml_threadpool_params *params);
    void (*pool_free)(struct ggml_threadpool *pool);
    void (*set_pool)(ggml_backend_t backend, struct ggml_threadpool *pool);
    void (*set_threads)(ggml_backend_t backend, int threads);
    void (*set_abort)(ggml_backend_t backend, ggml_abort_callback callback, void *data);
};

// 0; -ENODEV: no CPU backend is loaded; -ENOENT: it has no *missing.
int lg_cpu_find(struct lg_cpu *cpu, const char **missing);

#endif
