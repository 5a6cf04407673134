// SPDX-License-Identifier: Apache-2.0
//
// parts (private to the counters): small files and folders read without malloc, because the process whose malloc is measured opens
// its counters itself; uncore devices; and reasons in words.
#ifndef TB_COUNTERS_PARTS_H
#define TB_COUNTERS_PARTS_H

#include <sys/types.h>

#include "testbed/counters/counters.h"

// A small file without its last newline. 0, or -errno and "".
int tb_small_file(const char *path, char *out, size_t bytes);

// Calls `each` with every name but those that begin with a dot, until it returns other than 0, which is the result. -errno: the
// folder cannot be read.
typedef int tb_folder_fn(void *context, const char *name);
int tb_folder_each(const char *path, tb_folder_fn *each, void *context);

// An uncore event on every device of its kind under `root`/sys/bus/event_source/devices, and there on every CPU of the device's
// cpumask: that is where the kernel takes it. Until `each` returns other than 0, which is the result. -ENOENT: no such device;
// -EINVAL: it has no such field.
typedef int tb_uncore_fn(void *context, const struct perf_event_attr *attr, int cpu);
int tb_uncore_each(const char *root, const struct tb_counter *counter, tb_uncore_fn *each, void *context);

// perf_event_open: `thread` 0 is the caller, -1 all (then `cpu` is not -1). The file, or -errno.
int tb_perf_open(const struct perf_event_attr *attr, pid_t thread, int cpu, int group);

// What a reason depends on besides the errno.
struct tb_counter_host {
    int paranoid;               // kernel.perf_event_paranoid; INT_MIN: this kernel has no such thing
    bool hypervisor;            // the CPU says that it is virtual
    unsigned long files_max;    // ulimit -n
};
void tb_counter_host_read(const char *root, struct tb_counter_host *out);

// "not supported: ..." for what perf_event_open answered.
void tb_counter_say(const struct tb_counter *counter, int error, const struct tb_counter_host *host, char *out, size_t bytes);

#endif
