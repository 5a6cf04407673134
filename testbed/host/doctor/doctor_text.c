// SPDX-License-Identifier: Apache-2.0
//
// doctor_text: the findings for people, the bad ones first, what is fit in a line, and the answer in the last one.
//
// Commands are never wrapped: they are there to be copied.

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/words.h"
#include "testbed/host/doctor/doctor.h"

#define BOLD "\033[1m"
#define RED "\033[31m"
#define YELLOW "\033[33m"
#define RESET "\033[0m"

enum { STATE_WIDTH = 9, ID_WIDTH = 16, INDENT = STATE_WIDTH };

static const char *colour_of(enum tb_finding_state state, struct tb_report_style style)
{
    if (!style.colour)
        return "";
    return state == TB_FINDING_UNFIT ? RED BOLD : state == TB_FINDING_FIT ? "" : YELLOW;
}

static void put_commands(FILE *out, const char *what, const char *commands)
{
    for (const char *line = commands; *line; line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
        fprintf(out, "%*s%-9s%.*s\n", INDENT, "", line == commands ? what : "", (int)strcspn(line, "\n"), line);
}

static void put_head(FILE *out, const struct tb_finding *finding, struct tb_report_style style)
{
    const char *name = finding->state == TB_FINDING_UNFIT ? "UNFIT" : tb_finding_state_name(finding->state);
    char text[sizeof finding->now + sizeof finding->wanted + 16];
    bool wanting = finding->state != TB_FINDING_FIT && finding->wanted[0] && strncmp(finding->now, "ABSENT", strlen("ABSENT"));
    snprintf(text, sizeof text, "%s%s%s", finding->now, wanting ? "; wanted: " : "", wanting ? finding->wanted : "");
    fprintf(out, "%s%-*s%s%-*s", colour_of(finding->state, style), STATE_WIDTH, name, style.colour ? RESET : "", ID_WIDTH,
            finding->id);
    tb_text_wrap(out, style.columns, STATE_WIDTH + ID_WIDTH, STATE_WIDTH + ID_WIDTH, text);
}

static void put_words(FILE *out, const char *words, struct tb_report_style style)
{
    if (!words[0])
        return;
    fprintf(out, "%*s", INDENT, "");
    tb_text_wrap(out, style.columns, INDENT, INDENT, words);
}

// What spoils figures is explained on the screen; of the rest one line says what it is.
static void put_finding(FILE *out, const struct tb_finding *finding, bool full, struct tb_report_style style)
{
    bool unfit = finding->state == TB_FINDING_UNFIT, known = finding->state != TB_FINDING_UNKNOWN;
    put_head(out, finding, style);
    if (full)
        put_words(out, finding->why, style);
    if (full || unfit)
        put_commands(out, full ? "change" : "", finding->change);
    if (full)
        put_commands(out, "restore", finding->restore);
    if (full || (unfit && !finding->change[0]) || (!known && finding->decides))
        put_words(out, finding->remedy, style);
}

// "a, b and c": the ids of those that `wanted` picks.
static unsigned ids_list(const struct tb_doctor *doctor, enum tb_finding_state state, bool deciding, char *out, size_t bytes)
{
    unsigned count = 0;
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[i];
        if (finding->state != state || (deciding && !finding->decides))
            continue;
        if (used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", count ? ", " : "", finding->id);
        count++;
    }
    return count;
}

static void put_fit(FILE *out, const struct tb_doctor *doctor, struct tb_report_style style)
{
    char ids[1024];
    if (!ids_list(doctor, TB_FINDING_FIT, false, ids, sizeof ids))
        return;
    fprintf(out, "%-*s", STATE_WIDTH, "fit");
    tb_text_wrap(out, style.columns, STATE_WIDTH, STATE_WIDTH, ids);
}

static bool some_change(const struct tb_doctor *doctor)
{
    for (unsigned i = 0; i < doctor->count; i++)
        if (doctor->finding[i].state != TB_FINDING_FIT && doctor->finding[i].change[0])
            return true;
    return false;
}

void tb_doctor_answer(const struct tb_doctor *doctor, char *out, size_t bytes)
{
    char unfit[1024], unknown[1024];
    struct tb_words words = {0};
    unsigned unfit_count = ids_list(doctor, TB_FINDING_UNFIT, true, unfit, sizeof unfit);
    unsigned unknown_count = ids_list(doctor, TB_FINDING_UNKNOWN, true, unknown, sizeof unknown);
    if (unfit_count)
        tb_say(&words, "%u thing%s can spoil a figure: %s", unfit_count, unfit_count == 1 ? "" : "s", unfit);
    else if (unknown_count)
        tb_say(&words, "Not known to be fit");
    else
        tb_say(&words, "Fit to measure");
    if (unknown_count)
        tb_say(&words, "; %u cannot be seen: %s", unknown_count, unknown);
    snprintf(out, bytes, "%s.", words.text);
}

static void put_answer(FILE *out, const struct tb_doctor *doctor, struct tb_report_style style)
{
    char answer[TB_DOCTOR_ANSWER];
    tb_doctor_answer(doctor, answer, sizeof answer);
    if (some_change(doctor))
        fputs("Change what can be changed, and go back, as root; look into the scripts first:\n"
              "  locus doctor --restore >back.sh; locus doctor --change | sh; ...; sh back.sh\n",
              out);
    fputs(style.colour ? BOLD : "", out);
    tb_text_wrap(out, style.columns, 0, 2, answer);
    fputs(style.colour ? RESET : "", out);
}

int tb_doctor_text(FILE *stream, const struct tb_doctor *doctor, bool full, struct tb_report_style style)
{
    static const enum tb_finding_state order[] = {TB_FINDING_UNFIT, TB_FINDING_UNKNOWN, TB_FINDING_NOTE, TB_FINDING_FIT};
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc)
        return rc;
    for (size_t s = 0; s < sizeof order / sizeof *order; s++)
        for (unsigned i = 0; i < doctor->count; i++)
            if (doctor->finding[i].state == order[s] && (full || order[s] != TB_FINDING_FIT))
                put_finding(text.stream, &doctor->finding[i], full, style);
    if (!full)
        put_fit(text.stream, doctor, style);
    fputc('\n', text.stream);
    put_answer(text.stream, doctor, style);
    return tb_text_close(&text, stream, 0);
}
