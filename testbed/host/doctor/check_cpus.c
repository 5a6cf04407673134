// SPDX-License-Identifier: Apache-2.0
//
// check_cpus: how fast the CPUs run, how deep they sleep, what they share: governor, boost, idle states, SMT.

#include "testbed/host/doctor/exam.h"
#include "testbed/host/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define POLICIES TB_CPU "/cpufreq"
#define POLICY POLICIES "/policy%"

// A sleep from which waking up costs more than this is deep: a freed block wakes its scheduler in a few microseconds, and the
// latency of memory is a tenth of one. Shallow states (C1, C1E, haltpoll) stay at or below.
#define IDLE_LATENCY_US_MAX 10

static const char elsewhere[] = "no such control here: the firmware or a hypervisor decides";

// --- frequency -----------------------------------------------------------------------------------------------------------------

// Reads one knob of a policy or CPU. 0, or a negative errno after the finding was made UNKNOWN.
static int knob_read(struct tb_exam *exam, struct tb_finding *finding, const char *pattern, unsigned number, char *out)
{
    struct tb_knob knob = {.number = number};
    char path[160];
    snprintf(knob.pattern, sizeof knob.pattern, "%s", pattern);
    tb_knob_path(&knob, path, sizeof path);
    int error = tb_exam_read(exam, path, out);
    if (!error && !out[0])
        error = -ENODATA;
    if (error)
        tb_finding_unknown(finding, path, error);
    return error;
}

// The energy preference follows the governor on some drivers, and "userspace" has a speed: neither is wanted, both are restored.
static void restore_only(struct tb_exam *exam, struct tb_finding *finding, const char *pattern, unsigned number)
{
    char value[TB_VALUE_BYTES];
    struct tb_finding ignored;
    if (knob_read(exam, &ignored, pattern, number, value) == 0 && value[0] != '<') // "<unsupported>"
        tb_knob_add(exam, finding, pattern, number, value, "");
}

static bool governor_offered(struct tb_exam *exam, unsigned number)
{
    char governors[TB_VALUE_BYTES];
    struct tb_finding ignored;
    int error = knob_read(exam, &ignored, POLICY "/scaling_available_governors", number, governors);
    return error || tb_words_have(governors, "performance");
}

static void governors_judge(struct tb_exam *exam, struct tb_finding *finding, const struct tb_names *policies, bool offered)
{
    char told[128];
    bool fit = true;
    size_t count = finding->knobs_count;
    for (size_t i = 0; i < count; i++)
        fit = fit && strcmp(finding->knobs[i].now, "performance") == 0;
    tb_knobs_tell(finding, POLICY "/scaling_governor", told, sizeof told);
    tb_finding_set(finding, fit ? TB_FINDING_FIT : TB_FINDING_UNFIT, "%s (%zu polic%s)", told, policies->count,
                   policies->count == 1 ? "y" : "ies");
    for (size_t i = 0; i < count && !fit; i++) {
        unsigned number = finding->knobs[i].number;
        restore_only(exam, finding, POLICY "/energy_performance_preference", number);
        if (strcmp(finding->knobs[i].now, "userspace") == 0)
            restore_only(exam, finding, POLICY "/scaling_setspeed", number);
    }
    if (offered)
        tb_knobs_commands(exam, finding);
    else
        tb_finding_remedy(finding, "This kernel has no governor \"performance\": modprobe cpufreq_performance, or another kernel.");
}

static void check_governor(struct tb_exam *exam, struct tb_finding *finding)
{
    char value[TB_VALUE_BYTES];
    struct tb_names policies;
    int error = tb_host_list(&exam->host, POLICIES, "policy", &policies);
    if (tb_finding_missing(exam, finding, POLICIES, error, TB_CPU, TB_FINDING_NOTE, elsewhere))
        return;
    bool offered = true;
    for (size_t i = 0; i < policies.count && !error; i++) {
        unsigned number = (unsigned)atoi(policies.name[i] + strlen("policy"));
        error = knob_read(exam, finding, POLICY "/scaling_governor", number, value);
        offered = offered && governor_offered(exam, number);
        if (!error)
            tb_knob_add(exam, finding, POLICY "/scaling_governor", number, value, "performance");
    }
    if (!error)
        governors_judge(exam, finding, &policies, offered);
    tb_names_close(&policies);
}

static void check_boost(struct tb_exam *exam, struct tb_finding *finding)
{
    static const struct {
        const char *fact, *off;
        bool firmware;          // it may be off because the firmware says so, and then nothing can be written, not even that
    } switches[] = {{"frequency.no_turbo", "1", true}, {"frequency.boost", "0", false}};
    char value[TB_VALUE_BYTES];
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        const char *path = tb_fact_path(switches[i].fact);
        int error = tb_exam_read(exam, path, value);
        if (error == -ENOENT)
            continue;
        if (error || !value[0]) {
            tb_finding_unknown(finding, path, error ? error : -ENODATA);
            return;
        }
        bool off = strcmp(value, switches[i].off) == 0;
        tb_finding_set(finding, off ? TB_FINDING_FIT : TB_FINDING_UNFIT, "%s (%s %s)", off ? "off" : "on", strrchr(path, '/') + 1,
                       value);
        if (off && switches[i].firmware)
            return;
        tb_knob_alone(exam, finding, path, value, switches[i].off);
        return;
    }
    tb_finding_absent(exam, finding, TB_CPU, TB_FINDING_NOTE, elsewhere);
}

// --- idle states ---------------------------------------------------------------------------------------------------------------

struct idle {
    long slowest_us;
    size_t cpus;                // on which a deep state may be used
    char names[96];
};

// A state of one CPU. Its disable file is a knob whether it is deep or not, so that a glob is used only where it fits all.
static int idle_state(struct tb_exam *exam, struct tb_finding *finding, unsigned cpu, const char *state, struct idle *idle,
                      bool *deep_here)
{
    char pattern[112], name[TB_VALUE_BYTES], latency[TB_VALUE_BYTES], disabled[TB_VALUE_BYTES];
    snprintf(pattern, sizeof pattern, TB_CPU "/cpu%%/cpuidle/%.32s/latency", state);
    int error = knob_read(exam, finding, pattern, cpu, latency);
    snprintf(pattern, sizeof pattern, TB_CPU "/cpu%%/cpuidle/%.32s/name", state);
    if (!error)
        error = knob_read(exam, finding, pattern, cpu, name);
    snprintf(pattern, sizeof pattern, TB_CPU "/cpu%%/cpuidle/%.32s/disable", state);
    if (!error)
        error = knob_read(exam, finding, pattern, cpu, disabled);
    if (error)
        return error;
    long us = atol(latency);
    bool used = us > IDLE_LATENCY_US_MAX && strcmp(disabled, "0") == 0;
    tb_knob_add(exam, finding, pattern, cpu, disabled, used ? "1" : disabled);
    if (!used)
        return 0;
    *deep_here = true;
    idle->slowest_us = us > idle->slowest_us ? us : idle->slowest_us;
    size_t length = strlen(idle->names);
    if (!tb_words_have(idle->names, name) && length + strlen(name) + 2 < sizeof idle->names)
        snprintf(idle->names + length, sizeof idle->names - length, "%s%.40s", length ? " " : "", name);
    return 0;
}

static int idle_cpu(struct tb_exam *exam, struct tb_finding *finding, const char *cpu, struct idle *idle)
{
    char folder[TB_HOST_PATH / 2];
    struct tb_names states;
    bool deep = false;
    snprintf(folder, sizeof folder, TB_CPU "/%s/cpuidle", cpu);
    int error = tb_host_list(&exam->host, folder, "state", &states);
    if (error && strcmp(tb_host_word(error), "ABSENT") == 0)
        return 0;
    if (error)
        tb_finding_unknown(finding, folder, error);
    for (size_t i = 0; i < states.count && !error; i++)
        error = idle_state(exam, finding, (unsigned)atoi(cpu + strlen("cpu")), states.name[i], idle, &deep);
    tb_names_close(&states);
    idle->cpus += deep;
    return error;
}

static void check_idle_states(struct tb_exam *exam, struct tb_finding *finding)
{
    struct idle idle = {0};
    struct tb_names cpus;
    int error = tb_host_list(&exam->host, TB_CPU, "cpu", &cpus);
    if (tb_finding_missing(exam, finding, TB_CPU, error, TB_CPU, TB_FINDING_NOTE, elsewhere))
        return;
    for (size_t i = 0; i < cpus.count && !error; i++)
        error = idle_cpu(exam, finding, cpus.name[i], &idle);
    if (!error && finding->knobs_count == 0)
        tb_finding_absent(exam, finding, TB_CPU, TB_FINDING_NOTE, elsewhere);
    else if (!error && idle.cpus == 0)
        tb_finding_set(finding, TB_FINDING_FIT, "none that is slow to leave");
    else if (!error)
        tb_finding_set(finding, TB_FINDING_UNFIT, "%s, up to %ld us to leave, on %zu of %zu CPUs", idle.names, idle.slowest_us,
                       idle.cpus, cpus.count);
    if (!error)
        tb_knobs_commands(exam, finding);
    tb_names_close(&cpus);
}

// --- SMT -----------------------------------------------------------------------------------------------------------------------

static void check_smt(struct tb_exam *exam, struct tb_finding *finding)
{
    const char *path = tb_fact_path("cpu.smt_control");
    char control[TB_VALUE_BYTES], active[TB_VALUE_BYTES];
    if (!tb_exam_value(exam, finding, path, TB_CPU, TB_FINDING_NOTE, elsewhere, control))
        return;
    bool on = strcmp(control, "on") == 0, off = strcmp(control, "off") == 0; // the other words cannot be written
    bool alone = tb_exam_read(exam, tb_fact_path("cpu.smt_active"), active) == 0 && strcmp(active, "0") == 0;
    tb_finding_set(finding, on && !alone ? TB_FINDING_NOTE : TB_FINDING_FIT, "%s%s", control,
                   on && alone ? " (but no core has two threads)" : "");
    if (on && !alone)
        tb_finding_remedy(finding,
                          "Where cpusets are in use, leave it on and pin instead: a CPU that goes offline leaves its cpusets.");
    if (on || off)
        tb_knob_alone(exam, finding, path, control, "off");
}

void tb_check_cpus(struct tb_exam *exam)
{
    static const struct tb_check checks[] = {
        {"governor", true, "performance",
         "The governor sets the clock by the load of some milliseconds ago, so the same work takes longer after a pause than "
         "after work.",
         check_governor},
        {"boost", true, "off",
         "A boosted clock depends on how many cores work and how warm they are: an arm that is measured alone runs faster than "
         "the same arm beside others.",
         check_boost},
        {"idle-states", true, "none that takes over " TB_TEXT(IDLE_LATENCY_US_MAX) " us to leave",
         "A CPU that sleeps deeply takes tens to hundreds of microseconds to wake, and its caches may be empty then: what is "
         "measured first after a pause pays for it.",
         check_idle_states},
        {"smt", false, "off",
         "Two threads share a core and its first caches: what a sibling does is seen in the figure. Fine where only one of "
         "each pair is used.",
         check_smt},
    };
    tb_exam_run(exam, checks, sizeof checks / sizeof *checks);
}
