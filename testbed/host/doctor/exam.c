// SPDX-License-Identifier: Apache-2.0
//
// exam: one look, check after check.
//
// SMT comes last: taking a sibling offline takes its files away, and what restores them has to run after it is back.

#include "testbed/host/doctor/exam.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tb_finding *tb_exam_add(struct tb_exam *exam, const struct tb_check *check)
{
    static struct tb_finding overflow; // a table that grew past the array is our bug, and shows as a missing finding in the tests
    struct tb_doctor *doctor = exam->out;
    bool room = doctor->count < TB_FINDINGS_MAX;
    struct tb_finding *finding = room ? &doctor->finding[doctor->count++] : &overflow;
    *finding = (struct tb_finding){.state = TB_FINDING_FIT, .decides = check->decides, .change = strdup(""), .restore = strdup("")};
    snprintf(finding->id, sizeof finding->id, "%s", check->id);
    snprintf(finding->why, sizeof finding->why, "%s", check->why);
    snprintf(finding->wanted, sizeof finding->wanted, "%s", check->wanted);
    exam->failed |= !room || !finding->change || !finding->restore;
    return finding;
}

void tb_exam_run(struct tb_exam *exam, const struct tb_check checks[], size_t count)
{
    unsigned first = exam->out->count;
    for (size_t i = 0; i < count; i++)
        tb_exam_add(exam, &checks[i]);
    for (size_t i = 0; i < count && !exam->failed; i++)
        if (checks[i].look)
            checks[i].look(exam, &exam->out->finding[first + i]);
}

void tb_finding_set(struct tb_finding *finding, enum tb_finding_state state, const char *now, ...)
{
    va_list arguments;
    va_start(arguments, now);
    vsnprintf(finding->now, sizeof finding->now, now, arguments);
    va_end(arguments);
    finding->state = state;
}

void tb_finding_remedy(struct tb_finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->remedy, sizeof finding->remedy, format, arguments);
    va_end(arguments);
}

void tb_finding_unknown(struct tb_finding *finding, const char *path, int error)
{
    tb_finding_set(finding, TB_FINDING_UNKNOWN, "%s: %s", path, strerror(-error));
    if (strcmp(tb_host_word(error), "FORBIDDEN") == 0)
        tb_finding_remedy(finding, "Look as root, and outside of a container.");
}

bool tb_exam_has_folder(struct tb_exam *exam, const char *path)
{
    char full[TB_HOST_PATH];
    struct stat status;
    int length = snprintf(full, sizeof full, "%s%s", exam->host.root, path);
    return length < (int)sizeof full && stat(full, &status) == 0 && S_ISDIR(status.st_mode);
}

void tb_finding_absent(struct tb_exam *exam, struct tb_finding *finding, const char *folder, enum tb_finding_state state,
                       const char *meaning)
{
    if (tb_exam_has_folder(exam, folder)) {
        tb_finding_set(finding, state, "ABSENT: %s", meaning);
        return;
    }
    tb_finding_set(finding, TB_FINDING_UNKNOWN, "there is no %s to look into", folder);
    tb_finding_remedy(finding, "Look where /proc and /sys are mounted: outside of the container.");
}

bool tb_finding_missing(struct tb_exam *exam, struct tb_finding *finding, const char *path, int error, const char *folder,
                        enum tb_finding_state state, const char *meaning)
{
    if (error && error != -ENODATA && strcmp(tb_host_word(error), "ABSENT") == 0) // an empty file is there
        tb_finding_absent(exam, finding, folder, state, meaning);
    else if (error)
        tb_finding_unknown(finding, path, error);
    return error != 0;
}

int tb_exam_read(struct tb_exam *exam, const char *path, char out[TB_VALUE_BYTES])
{
    char *text = NULL;
    int error = tb_host_read(&exam->host, path, &text);
    json_t *clean = error ? NULL : tb_host_string(text); // no blanks around it, nothing that a terminal obeys
    free(text);
    if (!error && !clean)
        exam->failed = true;
    snprintf(out, TB_VALUE_BYTES, "%s", clean ? json_string_value(clean) : "");
    json_decref(clean);
    return error && strcmp(tb_host_word(error), "ABSENT") == 0 ? -ENOENT : error;
}

bool tb_exam_value(struct tb_exam *exam, struct tb_finding *finding, const char *path, const char *folder,
                   enum tb_finding_state absent, const char *meaning, char out[TB_VALUE_BYTES])
{
    int error = tb_exam_read(exam, path, out);
    error = error || out[0] ? error : -ENODATA;
    return !tb_finding_missing(exam, finding, path, error, folder, absent, meaning);
}

void tb_exam_choice(const char *text, char *out, size_t bytes)
{
    const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    if (close)
        snprintf(out, bytes, "%.*s", (int)(close - open - 1), open + 1);
    else
        snprintf(out, bytes, "%s", text);
}

bool tb_words_have(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(list, word); at && length > 0; at = strstr(at + 1, word))
        if ((at == list || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static void doctor_sum(struct tb_doctor *doctor)
{
    memset(doctor->states, 0, sizeof doctor->states);
    doctor->fit = true;
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[i];
        doctor->states[finding->state]++;
        if (finding->decides && (finding->state == TB_FINDING_UNFIT || finding->state == TB_FINDING_UNKNOWN))
            doctor->fit = false;
    }
}

int tb_doctor_look(const char *root, struct tb_doctor *out)
{
    struct tb_exam exam = {.host = {.root = root}, .here = root[0] == '\0', .out = out};
    memset(out, 0, sizeof *out);
    if (tb_host_read(&exam.host, "/proc/self/mounts", &exam.mounts))
        exam.mounts = strdup("");
    exam.failed = !exam.mounts;
    static void (*const checks[])(struct tb_exam *) = {tb_check_machine,    tb_check_settings, tb_check_memory,
                                                       tb_check_neighbours, tb_check_process,  tb_check_cpus};
    for (size_t i = 0; i < sizeof checks / sizeof *checks && !exam.failed; i++)
        checks[i](&exam);
    free(exam.mounts);
    doctor_sum(out);
    if (!exam.failed && !exam.host.failed)
        return 0;
    tb_doctor_close(out);
    return -ENOMEM;
}

void tb_doctor_keep(struct tb_doctor *doctor, unsigned count)
{
    for (unsigned i = count; i < doctor->count; i++) {
        free(doctor->finding[i].change);
        free(doctor->finding[i].restore);
        free(doctor->finding[i].knobs);
    }
    doctor->count = count < doctor->count ? count : doctor->count;
    doctor_sum(doctor);
}

void tb_doctor_close(struct tb_doctor *doctor)
{
    tb_doctor_keep(doctor, 0);
    memset(doctor, 0, sizeof *doctor);
}

const char *tb_finding_state_name(enum tb_finding_state state)
{
    static const char *const names[] = {"fit", "note", "unfit", "unknown"};
    return names[state];
}

struct tb_finding *tb_doctor_find(struct tb_doctor *doctor, const char *id)
{
    for (unsigned i = 0; i < doctor->count; i++)
        if (strcmp(doctor->finding[i].id, id) == 0)
            return &doctor->finding[i];
    return NULL;
}
