// SPDX-License-Identifier: Apache-2.0
//
// knobs: files that hold one value each, the shell commands that write them, and a table of those that are a finding by themselves.
//
// A host has a frequency policy or six idle states for each of some hundred CPUs. Where all knobs of a pattern get one value, the
// command is a glob; where they differ, each value has a list of its numbers. So a command is as short as the host is regular,
// and what differed before differs again after.

#include "testbed/host/doctor/exam.h"
#include "testbed/host/environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_COLUMNS = 60 };

void tb_knob_add(struct tb_exam *exam, struct tb_finding *finding, const char *pattern, unsigned number, const char *now,
                 const char *wanted)
{
    struct tb_knob *grown = finding->knobs;
    if ((finding->knobs_count & (finding->knobs_count - 1)) == 0) // 0 or a power of two: it is full
        grown = realloc(finding->knobs, 2 * (finding->knobs_count + 1) * sizeof *grown);
    if (!grown) {
        exam->failed = true;
        return;
    }
    finding->knobs = grown;
    struct tb_knob *knob = &grown[finding->knobs_count++];
    *knob = (struct tb_knob){.number = number};
    snprintf(knob->pattern, sizeof knob->pattern, "%s", pattern);
    snprintf(knob->now, sizeof knob->now, "%s", now);
    snprintf(knob->wanted, sizeof knob->wanted, "%s", wanted);
}

void tb_knob_path(const struct tb_knob *knob, char *out, size_t bytes)
{
    const char *hole = strchr(knob->pattern, '%');
    if (hole)
        snprintf(out, bytes, "%.*s%u%s", (int)(hole - knob->pattern), knob->pattern, knob->number, hole + 1);
    else
        snprintf(out, bytes, "%s", knob->pattern);
}

// --- values of a pattern -------------------------------------------------------------------------------------------------------

// One value that knobs of a pattern are to have, `changed` as what is wanted, otherwise as what they have now.
struct group {
    const struct tb_finding *finding;
    const char *pattern, *value;
    bool changed;
    size_t size;                // knobs with this value
    size_t others;              // of the same pattern with another one
};

static const char *value_of(const struct tb_knob *knob, bool changed)
{
    return changed ? knob->wanted : knob->now;
}

static bool is_member(const struct group *group, const struct tb_knob *knob)
{
    return strcmp(knob->pattern, group->pattern) == 0 && strcmp(value_of(knob, group->changed), group->value) == 0;
}

// Where knob `at` is the first one with its pattern and value, that group.
static bool group_at(const struct tb_finding *finding, size_t at, bool changed, struct group *out)
{
    const struct tb_knob *knobs = finding->knobs;
    *out = (struct group){finding, knobs[at].pattern, value_of(&knobs[at], changed), changed, 0, 0};
    for (size_t i = 0; i < finding->knobs_count; i++) {
        bool member = is_member(out, &knobs[i]);
        if (member && i < at)
            return false;
        out->size += member;
        out->others += !member && strcmp(knobs[i].pattern, out->pattern) == 0;
    }
    return true;
}

void tb_knobs_tell(const struct tb_finding *finding, const char *pattern, char *out, size_t bytes)
{
    struct group group;
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < finding->knobs_count && used < bytes; i++) {
        if (strcmp(finding->knobs[i].pattern, pattern) || !group_at(finding, i, false, &group))
            continue;
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? " and " : "", group.value);
        if (group.others && used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, " on %zu", group.size);
    }
}

// --- commands ------------------------------------------------------------------------------------------------------------------

void tb_shell_word(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:+,@%=-";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

// Is there anything to do for this pattern? Where each knob has what it should, nothing is written: but of a finding that is fit
// all are, because a script that restores shall do so whatever was changed meanwhile.
static bool pattern_changes(const struct tb_finding *finding, const char *pattern)
{
    for (size_t i = 0; i < finding->knobs_count; i++) {
        const struct tb_knob *knob = &finding->knobs[i];
        if (strcmp(knob->pattern, pattern) == 0 && strcmp(knob->now, knob->wanted))
            return true;
    }
    return false;
}

static void write_numbers(FILE *out, const struct group *group)
{
    int column = fprintf(out, "for n in");
    for (size_t i = 0; i < group->finding->knobs_count; i++) {
        const struct tb_knob *knob = &group->finding->knobs[i];
        if (!is_member(group, knob))
            continue;
        if (column > LIST_COLUMNS)
            column = fprintf(out, " \\\n  ");
        column += fprintf(out, " %u", knob->number);
    }
}

static void write_group(FILE *out, const struct group *group)
{
    const char *hole = strchr(group->pattern, '%');
    int before = hole ? (int)(hole - group->pattern) : 0;
    if (hole && !group->others)
        fprintf(out, "for f in %.*s[0-9]*%s; do\n  echo ", before, group->pattern, hole + 1);
    else if (hole) {
        write_numbers(out, group);
        fprintf(out, "; do\n  echo ");
    } else
        fprintf(out, "echo ");
    tb_shell_word(out, group->value);
    if (hole && !group->others)
        fprintf(out, " >$f; done\n");
    else if (hole)
        fprintf(out, " \\\n    >%.*s$n%s; done\n", before, group->pattern, hole + 1);
    else
        fprintf(out, " >%s\n", group->pattern);
}

static char *commands(const struct tb_finding *finding, bool change)
{
    char *text = NULL;
    size_t bytes = 0;
    struct group group;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; out && i < finding->knobs_count; i++)
        if (group_at(finding, i, change, &group) && group.value[0] &&
            (finding->state == TB_FINDING_FIT || pattern_changes(finding, group.pattern)))
            write_group(out, &group);
    if (!out || fclose(out)) {
        free(text);
        return NULL;
    }
    if (bytes > 0 && text[bytes - 1] == '\n')
        text[bytes - 1] = '\0';
    return text;
}

void tb_finding_commands(struct tb_exam *exam, struct tb_finding *finding, char *change, char *restore)
{
    free(finding->change);
    free(finding->restore);
    finding->change = change;
    finding->restore = restore;
    exam->failed |= !change || !restore;
}

// --- may they be written? ------------------------------------------------------------------------------------------------------

// The longest mount point above `path` decides; its options begin with "ro" where nothing below it can be written.
static bool mounted_read_only(const char *mounts, const char *path)
{
    size_t longest = 0;
    bool read_only = false;
    char point[256], options[64];
    for (const char *line = mounts; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (sscanf(line, "%*s %255s %*s %63[^, \n]", point, options) != 2)
            continue;
        size_t length = strcmp(point, "/") == 0 ? 0 : strlen(point);
        bool above = strncmp(path, point, length) == 0 && (path[length] == '/' || path[length] == '\0');
        if (above && length >= longest) {
            longest = length;
            read_only = strcmp(options, "ro") == 0;
        }
    }
    return read_only;
}

// Why root could not write this knob here; NULL: it can.
static const char *cannot_write(struct tb_exam *exam, const char *path)
{
    char full[TB_HOST_PATH];
    struct stat status;
    if (mounted_read_only(exam->mounts, path))
        return "is mounted read-only here, as in a container";
    if (snprintf(full, sizeof full, "%s%s", exam->host.root, path) >= (int)sizeof full || stat(full, &status))
        return "cannot be found again";
    if (!(status.st_mode & 0222))
        return "can only be read: this kernel does not let it be changed";
    if (exam->here && access(path, W_OK) && (errno == EROFS || geteuid() == 0))
        return "cannot be written even by this root, as in a container";
    return NULL;
}

void tb_knobs_commands(struct tb_exam *exam, struct tb_finding *finding)
{
    char path[160];
    bool fit = finding->state == TB_FINDING_FIT;
    for (size_t i = 0; i < finding->knobs_count && fit; i++)
        snprintf(finding->knobs[i].wanted, sizeof finding->knobs[i].wanted, "%s", finding->knobs[i].now);
    for (size_t i = 0; i < finding->knobs_count; i++) {
        const struct tb_knob *knob = &finding->knobs[i];
        if (i > 0 && strcmp(knob->pattern, knob[-1].pattern) == 0)
            continue;
        tb_knob_path(knob, path, sizeof path);
        const char *why = cannot_write(exam, path);
        if (why) {
            if (!fit)
                tb_finding_remedy(finding, "%s %s: change it on the host.", path, why);
            return;
        }
    }
    if (finding->knobs_count)
        tb_finding_commands(exam, finding, commands(finding, true), commands(finding, false));
}

void tb_knob_alone(struct tb_exam *exam, struct tb_finding *finding, const char *path, const char *now, const char *wanted)
{
    tb_knob_add(exam, finding, path, 0, now, wanted);
    tb_knobs_commands(exam, finding);
}

// --- findings that are one file ------------------------------------------------------------------------------------------------

#define MM "/sys/kernel/mm"

// A value that is in neither list is what spoils figures (or, where nothing can be spoilt, worth a note).
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
    {"numa-balancing", "numa.balancing", "/proc/sys/kernel", "0", "0", "", "0=off 1=on 2=memory-tiering", TB_FINDING_UNFIT,
     TB_FINDING_FIT,
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
