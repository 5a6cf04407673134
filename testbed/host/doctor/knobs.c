// SPDX-License-Identifier: Apache-2.0
//
// knobs: files that hold one value each, and the shell commands that write them.
//
// A host has a frequency policy or six idle states for each of some hundred CPUs. Where all knobs of a pattern get one value, the
// command is a glob; where they differ, each value has a list of its numbers. So a command is as short as the host is regular,
// and what differed before differs again after.

#include "testbed/host/doctor/exam.h"

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
