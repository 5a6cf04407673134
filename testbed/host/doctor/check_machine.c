// SPDX-License-Identifier: Apache-2.0
//
// check_machine: what kind of machine this is, whose clock it reads, which CPUs are kept free, and what its mitigations cost.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/host/doctor/exam.h"
#include "testbed/host/environment.h"

#define DMI "/sys/class/dmi/id"

// --- bare metal, virtual or emulated -------------------------------------------------------------------------------------------

// Firmware names of machines that are none. Only asked where the CPU has no flag for it (other architectures than x86).
bool tb_machine_virtual(const char *product)
{
    static const char *const names[] = {
        "KVM",  "QEMU", "VMware", "VirtualBox", "Virtual Machine", "Standard PC", "HVM", "OpenStack", "Google Compute Engine",
        "BHYVE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasestr(product, names[i]))
            return true;
    return false;
}

const char *tb_machine_kind(const char *now)
{
    static const char *const kinds[][2] = {{"emulated", "emulated"}, {"virtual", "virtual"}, {"bare metal", "hardware"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(now, kinds[i][0], strlen(kinds[i][0])) == 0)
            return kinds[i][1];
    return "unknown";
}

static void machine_judge(struct tb_exam *exam, struct tb_finding *finding, const char *cpuinfo)
{
    char product[TB_VALUE_BYTES];
    json_t *flags = tb_host_field(cpuinfo, 0, "flags", ':', TB_FIELD_STRING);
    bool has_flags = flags && strcmp(json_string_value(flags), "ABSENT");
    bool has_product = tb_exam_read(exam, DMI "/product_name", product) == 0 && product[0];
    const char *emulated = tb_emulated_as(exam->host.root);
    if (emulated) {
        tb_finding_set(finding, TB_FINDING_UNFIT, "emulated (%.64s): counts are exact, times mean nothing", emulated);
        tb_finding_remedy(finding, "Measure times on hardware.");
    } else if ((has_flags && tb_words_have(json_string_value(flags), "hypervisor")) ||
               (has_product && tb_machine_virtual(product))) {
        tb_finding_set(finding, TB_FINDING_NOTE, "virtual%s%.64s%s", has_product ? " (" : "", has_product ? product : "",
                       has_product ? ")" : "");
        tb_finding_remedy(finding, "Measure on bare metal, or take the figures as this virtual machine's and nobody else's.");
    } else if (has_flags || has_product)
        tb_finding_set(finding, TB_FINDING_FIT, "bare metal%s%.64s%s", has_product ? " (" : "", has_product ? product : "",
                       has_product ? ")" : "");
    else
        tb_finding_set(finding, TB_FINDING_NOTE, "neither the CPU nor the firmware tells whether it is virtual");
    json_decref(flags);
}

static void check_kind(struct tb_exam *exam, struct tb_finding *finding)
{
    static const char path[] = "/proc/cpuinfo";
    char *text = NULL;
    int error = tb_host_read(&exam->host, path, &text);
    if (error)
        tb_finding_unknown(finding, path, error);
    else
        machine_judge(exam, finding, text);
    free(text);
}

// --- clock ---------------------------------------------------------------------------------------------------------------------

static void check_clock(struct tb_exam *exam, struct tb_finding *finding)
{
    const char *path = tb_fact_path("clock.current");
    static const char direct[] = "tsc arch_sys_counter riscv_clocksource timebase tod";
    static const char shared[] = "kvm-clock hyperv_clocksource_tsc_page";
    char clock[TB_VALUE_BYTES], available[TB_VALUE_BYTES];
    if (!tb_exam_value(exam, finding, path, "/sys/devices/system/clocksource", TB_FINDING_NOTE, "the kernel does not say", clock))
        return;
    bool fit = tb_words_have(direct, clock);
    tb_finding_set(finding, fit ? TB_FINDING_FIT : tb_words_have(shared, clock) ? TB_FINDING_NOTE : TB_FINDING_UNFIT, "%s", clock);
    bool offered = tb_exam_read(exam, tb_fact_path("clock.available"), available) == 0 && tb_words_have(available, "tsc");
    if (!fit && !offered) {
        tb_finding_remedy(finding, "The kernel does not offer tsc here: `dmesg | grep -i tsc` says why.");
        return;
    }
    tb_knob_alone(exam, finding, path, clock, "tsc");
}

// --- isolation -----------------------------------------------------------------------------------------------------------------

// An isolated CPU is worth something only to who runs on it. True: those that are measured on are isolated.
static bool isolation_is_used(struct tb_exam *exam, struct tb_finding *finding, const char *isolated)
{
    char offered[TB_VALUE_BYTES], measured[TB_VALUE_BYTES];
    int error = tb_exam_cpus(exam, offered, measured), used = error ? error : tb_id_list_common(measured, isolated);
    if (used < 0)
        tb_finding_unknown(finding, "/proc/self/status", used);
    else if (used == tb_id_list_count(measured))
        return true;
    else if (tb_id_list_common(offered, isolated) > 0)
        tb_finding_set(finding, TB_FINDING_NOTE, "isolcpus %.64s, but measured on %.64s", isolated, measured);
    else {
        tb_finding_set(finding, TB_FINDING_UNFIT, "isolcpus %.64s, but this process is kept to %.64s", isolated, measured);
        tb_finding_remedy(finding,
                          "Start it without taskset, numactl and the like, in a cpuset that has isolated CPUs; or name "
                          "them: --cpus %.64s, or LOCUS_CPUS.",
                          isolated);
    }
    return false;
}

static void check_isolation(struct tb_exam *exam, struct tb_finding *finding)
{
    const char *path = tb_fact_path("cpu.isolated");
    char isolated[TB_VALUE_BYTES], tickless[TB_VALUE_BYTES];
    int error = tb_exam_read(exam, path, isolated);
    if (tb_finding_missing(exam, finding, path, error, TB_CPU, TB_FINDING_NOTE, "this kernel has no such thing"))
        return;
    if (tb_exam_read(exam, tb_fact_path("cpu.nohz_full"), tickless) || tickless[0] == '(') // "(null)"
        tickless[0] = '\0';
    bool both = isolated[0] && tickless[0];
    tb_finding_set(finding, both ? TB_FINDING_FIT : TB_FINDING_NOTE, "isolcpus %.64s, nohz_full %.64s",
                   isolated[0] ? isolated : "none", tickless[0] ? tickless : "none");
    if (isolated[0] && !isolation_is_used(exam, finding, isolated))
        return;
    if (!both)
        tb_finding_remedy(finding, "On the kernel's command line, for CPUs 2-7: isolcpus=managed_irq,domain,2-7 nohz_full=2-7 "
                                   "rcu_nocbs=2-7, and a reboot. Not with a contender that needs all CPUs.");
}

// --- microcode and mitigations -------------------------------------------------------------------------------------------------

static void microcode_read(struct tb_exam *exam, char *out, size_t bytes)
{
    char *text = NULL;
    int error = tb_host_read(&exam->host, "/proc/cpuinfo", &text);
    json_t *value = tb_host_field(text, error, "microcode", ':', TB_FIELD_STRING);
    snprintf(out, bytes, "%s", value ? json_string_value(value) : "");
    json_decref(value);
    free(text);
}

static void check_mitigations(struct tb_exam *exam, struct tb_finding *finding)
{
    static const char folder[] = TB_CPU "/vulnerabilities";
    char path[TB_HOST_PATH / 2], value[TB_VALUE_BYTES], microcode[32];
    size_t mitigated = 0, open = 0;
    struct tb_names names;
    int error = tb_host_list(&exam->host, folder, "", &names);
    if (tb_finding_missing(exam, finding, folder, error, TB_CPU, TB_FINDING_NOTE, "this kernel does not say"))
        return;
    for (size_t i = 0; i < names.count && !error; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names.name[i]);
        if ((error = tb_exam_read(exam, path, value)))
            tb_finding_unknown(finding, path, error);
        mitigated += strncmp(value, "Mitigation", strlen("Mitigation")) == 0;
        open += strncmp(value, "Vulnerable", strlen("Vulnerable")) == 0;
    }
    microcode_read(exam, microcode, sizeof microcode);
    if (!error)
        tb_finding_set(finding, mitigated || open ? TB_FINDING_NOTE : TB_FINDING_FIT,
                       "%zu mitigated, %zu open, of %zu; microcode %s", mitigated, open, names.count, microcode);
    tb_names_close(&names);
}

void tb_check_machine(struct tb_exam *exam)
{
    static const struct tb_check checks[] = {
        {"machine", true, "bare metal",
         "A hypervisor may move CPUs and memory about, give the CPU to others, and show nodes that do not exist. An emulator "
         "knows no latency.",
         check_kind},
        {"clocksource", true, "tsc, or this architecture's own counter",
         "Each time stamp is taken from it. One that is not in the CPU costs a system call or a device access, a microsecond "
         "beside what is measured in nanoseconds.",
         check_clock},
        {"isolation", true, "isolcpus and nohz_full for the CPUs that measure",
         "On a CPU that the scheduler shares out, other tasks and the timer interrupt run between two instructions of what is "
         "measured.",
         check_isolation},
        {"mitigations", false, "",
         "They make entering the kernel dearer, and so every wake-up and page fault. Two hosts that differ here differ there.",
         check_mitigations},
    };
    tb_exam_run(exam, checks, sizeof checks / sizeof *checks);
}
