// SPDX-License-Identifier: Apache-2.0
//
// settings: what is one file with one value, as a table. A value that is in neither list is what spoils figures (or, where nothing
// can be spoilt, worth a note).

#include "testbed/host/doctor/exam.h"
#include "testbed/host/environment.h"

#include <errno.h>
#include <string.h>

#define MM "/sys/kernel/mm"

static const struct setting {
    const char *id, *fact;    // tb_fact_path(), or a path
    const char *folder;         // where it is missing although this is there, the kernel has no such thing
    const char *wanted;         // what `change` writes
    const char *fit, *note;     // values, blanks between them
    const char *names;          // "0=off 1=on": what values mean
    enum tb_finding_state otherwise, absent;
    const char *why;
} settings[] = {
    {"thp", "thp.enabled", MM, "madvise", "madvise", "never", "", TB_FINDING_UNFIT, TB_FINDING_NOTE,
     "Where every mapping may get huge pages, one contender gets them by the luck of its alignment and another does not. With "
     "madvise who asks for them gets them; with never nobody does."},
    {"thp-defrag", "thp.defrag", MM, "madvise", "madvise never", "defer defer+madvise", "", TB_FINDING_UNFIT, TB_FINDING_FIT,
     "A page fault that compacts memory first takes milliseconds, and they are billed to whoever touched the page."},
    {"khugepaged", "thp.khugepaged_defrag", MM, "0", "0", "1", "0=off 1=on", TB_FINDING_NOTE, TB_FINDING_FIT,
     "khugepaged copies pages together in mid-run, and can gather pages that were interleaved on one node."},
    {"numa-balancing", "numa.balancing", "/proc/sys/kernel", "0", "0", "", "0=off 1=on 2=memory-tiering",
     TB_FINDING_UNFIT, TB_FINDING_FIT,
     "The kernel unmaps pages to see who uses them and moves them there, in mid-run: faults are added, and placement is no longer "
     "what was asked for. It hides what remote memory costs."},
    {"zone-reclaim", "numa.zone_reclaim_mode", "/proc/sys/vm", "0", "0", "", "0=off 1=on", TB_FINDING_UNFIT, TB_FINDING_FIT,
     "A full node evicts its file pages before it borrows from another one: an allocation stalls for that long."},
    {"demotion", "numa.demotion", MM, "false", "false 0", "", "false=off true=on", TB_FINDING_UNFIT, TB_FINDING_FIT,
     "Under pressure pages are moved to slower memory, even out of the nodes that a bind or a cpuset names."},
    {"ksm", MM "/ksm/run", MM, "0", "0 2", "", "0=off 1=on 2=off-and-unmerged", TB_FINDING_UNFIT, TB_FINDING_FIT,
     "A kernel thread compares pages for ever, takes a CPU and its cache for that, and merges equal pages across nodes."},
    {"nmi-watchdog", "/proc/sys/kernel/nmi_watchdog", "/proc/sys/kernel", "0", "0", "1", "0=off 1=on", TB_FINDING_NOTE,
     TB_FINDING_FIT, "The watchdog holds one hardware counter of every CPU, so a group that needs all of them is never scheduled."},
};

// "1 (on)", or the value where it needs no translation.
static void value_named(const char *names, const char *value, char *out, size_t bytes)
{
    size_t length = strlen(value);
    snprintf(out, bytes, "%s", value);
    for (const char *at = names; *at; at += strcspn(at, " "), at += strspn(at, " "))
        if (strncmp(at, value, length) == 0 && at[length] == '=')
            snprintf(out, bytes, "%s (%.*s)", value, (int)(strcspn(at, " ") - length - 1), at + length + 1);
}

static void setting_check(struct tb_exam *exam, const struct setting *setting)
{
    const char *path = setting->fact[0] == '/' ? setting->fact : tb_fact_path(setting->fact);
    char text[TB_VALUE_BYTES], value[TB_KNOB_BYTES], named[96];
    const struct tb_check check = {setting->id, setting->otherwise == TB_FINDING_UNFIT, setting->wanted, setting->why, NULL};
    struct tb_finding *finding = tb_exam_add(exam, &check);
    value_named(setting->names, setting->wanted, finding->wanted, sizeof finding->wanted);
    if (!tb_exam_value(exam, finding, path, setting->folder, setting->absent, "this kernel has no such thing", text))
        return;
    tb_exam_choice(text, value, sizeof value);
    value_named(setting->names, value, named, sizeof named);
    bool fit = tb_words_have(setting->fit, value), note = tb_words_have(setting->note, value);
    tb_finding_set(finding, fit ? TB_FINDING_FIT : note ? TB_FINDING_NOTE : setting->otherwise, "%s", named);
    tb_knob_alone(exam, finding, path, value, setting->wanted);
}

void tb_check_settings(struct tb_exam *exam)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        setting_check(exam, &settings[i]);
}
