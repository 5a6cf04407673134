// SPDX-License-Identifier: Apache-2.0
//
// locus-lap: the measured process. It is a program of its own, so that the libraries with which `locus` reads and reports are not
// mapped where times are taken. Users do not start it: tb_rounds_run() does, with the schedule at file descriptor 3 and its jobs at
// 4, one for each arm, and reads the results from them. The Makefile links it with the contenders and what they may use, but with
// no library for JSON, YAML or hashes: code that calls one does not link.

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "testbed/base/cli.h"
#include "testbed/base/cpus/cpus.h"
#include "testbed/measure/engine.h"
#include "testbed/measure/engines/process.h"
#include "testbed/measure/nodes/engine.h"
#include "testbed/measure/pins/process.h"
#include "testbed/measure/serve.h"
#include "testbed/serving/keep.h"

enum { SCHEDULE_FD = 3, JOB_FD = 4 };

// Requested is not granted: the loader ignores a preload that it cannot use, with only a message on stderr.
static bool malloc_granted(struct tb_job *job)
{
    Dl_info info;
    char *granted = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "malloc");
    if (job->library[0] == '\0')
        return true;
    if (symbol && dladdr(symbol, &info))
        granted = realpath(info.dli_fname, NULL);
    char *requested = realpath(job->library, NULL);
    bool same = granted && requested && strcmp(granted, requested) == 0;
    if (!same)
        snprintf(job->sample.invalid, sizeof job->sample.invalid, "requested the malloc of %.80s, got %.80s", job->library,
                 granted ? granted : "another");
    free(granted);
    free(requested);
    return same;
}

// Arms that are no contenders, whose jobs have no company. True: it was one.
static bool job_served(struct tb_job *job, const struct tb_schedule *schedule, int *error)
{
    const char *name = job->contender;
    const struct tb_strategy *strategy = job->touch == TB_TOUCH_SERVE ? tb_strategy_find(name) : NULL;
    const struct locus_evict_ops *policy = job->touch == TB_TOUCH_KEEP ? tb_policy_find(name) : NULL;
    const struct tb_batcher *batcher = job->touch == TB_TOUCH_ADAPTERS ? tb_batcher_find(name) : NULL;
    const struct locus_adapter_policy *resident = job->touch == TB_TOUCH_RESIDENCY ? tb_resident_find(name) : NULL;
    const struct locus_score_ops *score = job->touch == TB_TOUCH_PAGES ? locus_score_find(name) : NULL;
    const struct tb_pins_way *way = job->touch == TB_TOUCH_PINS ? tb_pins_way_find(name) : NULL;
    if (strategy)
        *error = tb_serve_run(job, strategy, schedule);
    if (policy)
        *error = tb_keep_run(job, policy, schedule);
    if (batcher)
        *error = tb_batches_run(job, batcher, schedule);
    if (resident)
        *error = tb_residency_run(job, resident, schedule);
    if (score)
        *error = tb_arena_run(job, score, schedule);
    if (way)
        *error = tb_pins_run(job, way, schedule);
    return strategy || policy || batcher || resident || score || way;
}

// One contender for each job.
static int jobs_run(struct tb_job jobs[], const struct tb_schedule *schedule)
{
    const struct tb_contender *contenders[TB_PROCESS_ARMS];
    int error = 0;
    if (jobs->touch == TB_TOUCH_ENGINE)
        return tb_engines_run(jobs, tb_engine_arm_find(jobs->contender), schedule);
    if (job_served(jobs, schedule, &error))
        return error;
    for (uint32_t i = 0; i < TB_PROCESS_ARMS && (i == 0 || i < jobs->arms); i++) {
        contenders[i] = tb_contender_find(jobs[i].contender);
        if (!contenders[i])
            return -ENOENT;
    }
    return jobs->many_nodes ? tb_nodes_engine_run(jobs, contenders[0], schedule) : tb_engine_run_all(jobs, contenders, schedule);
}

int main(void)
{
    struct stat schedule_stat, job_stat;
    char why[300];
    prctl(PR_SET_PDEATHSIG, SIGKILL); // an interrupted measurement leaves nothing behind
    if (fstat(SCHEDULE_FD, &schedule_stat) || fstat(JOB_FD, &job_stat) ||
        schedule_stat.st_size < (off_t)sizeof(struct tb_schedule)) {
        tb_error("locus-lap is internal: it is started by `locus eval`, `locus replay` and `locus bench`");
        return TB_EXIT_USAGE;
    }
    const size_t jobs_bytes = (size_t)job_stat.st_size;
    if (jobs_bytes != sizeof(struct tb_job) && jobs_bytes != TB_PROCESS_ARMS * sizeof(struct tb_job)) {
        tb_error("locus and locus-lap are from different builds: make or install both");
        return TB_EXIT_USAGE;
    }
    const struct tb_schedule *schedule =
        mmap(NULL, (size_t)schedule_stat.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, SCHEDULE_FD, 0);
    struct tb_job *job = mmap(NULL, jobs_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, JOB_FD, 0);
    if (schedule == MAP_FAILED || job == MAP_FAILED) {
        tb_error("cannot map the job: %s", strerror(errno));
        return TB_EXIT_FAILED;
    }
    if (tb_cpus_ask(NULL, false, why, sizeof why)) {
        tb_error("%s", why);
        return TB_EXIT_FAILED;
    }
    if (!malloc_granted(job)) {
        job->sample.ran = true;
        return TB_EXIT_OK;
    }
    int error = jobs_run(job, schedule);
    if (error)
        tb_error("%s: %s", job->contender, strerror(-error));
    return error ? TB_EXIT_FAILED : TB_EXIT_OK;
}
