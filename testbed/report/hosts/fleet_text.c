// SPDX-License-Identifier: Apache-2.0
//
// fleet_text: many hosts for people, 80 columns. Up to four hosts are columns with words. More of them are columns with one letter
// each, numbered as in the list of machines, or lines, where what else is to be shown has columns enough of its own.
#include "testbed/report/hosts/fleet.h"

#include <math.h>
#include <string.h>

#include "testbed/base/json.h"

#define COLUMNS 80
#define WORD_COLUMNS 16     // of a verdict, with "+2" behind it
#define WORD_HOSTS 4        // beside which a label has 16 columns
#define SIGN_COLUMNS 3
#define SIGN_HOSTS 20       // in one table
#define NAME_COLUMNS 20
#define SIGN_PREDICTIONS 10 // in one table of lines

#define GREEN "\033[32m"
#define RED "\033[31m"
#define RESET "\033[0m"

// --- parts ---------------------------------------------------------------------------------------------------------------------

// "A", and behind "Z" "A2".
static const char *letter(size_t group, char out[24])
{
    if (group < 26)
        snprintf(out, 24, "%c", (char)('A' + (int)group));
    else
        snprintf(out, 24, "%c%zu", (char)('A' + (int)(group % 26)), group / 26 + 1);
    return out;
}

static size_t group_of(const json_t *host)
{
    return (size_t)tb_member_number(host, "group");
}

static const json_t *host_at(const json_t *fleet, size_t i)
{
    return json_array_get(tb_member(fleet, "hosts"), i);
}

static size_t hosts_count(const json_t *fleet)
{
    return json_array_size(tb_member(fleet, "hosts"));
}

// Text in a column, with a colour that takes no room.
static void put_cell(FILE *out, const char *verdict, const char *text, int columns, struct tb_report_style style)
{
    const char *colour = strcmp(verdict, "survived") == 0 ? GREEN : strcmp(verdict, "falsified") == 0 ? RED : NULL;
    if (!style.colour)
        colour = NULL;
    int used = (int)strlen(text);
    fprintf(out, "%s%s%s%*s", colour ? colour : "", text, colour ? RESET : "", columns > used ? columns - used : 0, "");
}

// Cut at its end.
static const char *brief(const char *text, size_t columns, char out[128])
{
    tb_text_clean(text, true, out, 128);
    if (strlen(out) > columns)
        snprintf(out + columns - 2, 3, "..");
    return out;
}

// "falsified +2": how many more runs are behind it.
static const char *word_of(const json_t *result, char out[128])
{
    const char *word = tb_fleet_word(tb_member_text(result, "verdict"))->word;
    size_t more = json_array_size(tb_member(result, "older")) + json_array_size(tb_member(result, "unfit"));
    if (more > 0)
        snprintf(out, 128, "%s%s+%zu", word, strlen(word) + 4 < WORD_COLUMNS || more < 10 ? " " : "", more);
    else
        snprintf(out, 128, "%s", word);
    return out;
}

static const char *figure(double value, char out[16])
{
    if (value == floor(value) && fabs(value) < 1000)
        snprintf(out, 16, "%.0f", value);
    else
        tb_text_number(out, value);
    return out;
}

// "[1.29, 1.37]"; of what is exact the figure alone; nothing where nothing was measured.
static const char *interval(const json_t *result, char out[48])
{
    double estimate = tb_member_number(result, "estimate"), low = tb_member_number(result, "low");
    double high = tb_member_number(result, "high");
    char ends[2][16];
    if (isnan(estimate))
        snprintf(out, 48, "%s", "");
    else if (low == high)
        snprintf(out, 48, "= %s", figure(estimate, ends[0]));
    else if (isnan(low) && isnan(high))
        snprintf(out, 48, "~ %s", figure(estimate, ends[0]));
    else
        snprintf(out, 48, "[%s, %s]", isnan(low) ? "0" : figure(low, ends[0]), isnan(high) ? "inf" : figure(high, ends[1]));
    return out;
}

static const char *kind_said(const char *kind)
{
    static const char *const said[][2] = {{"emulated", "emulated: counts, no times"},
                                          {"unknown", "its logs do not say whether virtual"}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (strcmp(kind, said[i][0]) == 0)
            return said[i][1];
    return kind;
}

static void put_group(FILE *out, const json_t *fleet, size_t group)
{
    const json_t *object = json_array_get(tb_member(fleet, "groups"), group);
    const char *cpu = tb_member_text(object, "cpu"), *topology = tb_member_text(object, "topology");
    char text[512], tag[24];
    snprintf(text, sizeof text, "%.200s; %.150s; %s", *cpu ? cpu : "a CPU that its logs do not name",
             *topology ? topology : "topology not told", kind_said(tb_member_text(object, "kind")));
    int used = fprintf(out, "  %-2s ", letter(group, tag));
    tb_text_wrap(out, COLUMNS, used, used, text);
}

// --- the list of machines ------------------------------------------------------------------------------------------------------

static bool begins_group(const json_t *fleet, size_t host)
{
    return host == 0 || group_of(host_at(fleet, host)) != group_of(host_at(fleet, host - 1));
}

// A few with the number of their runs, one a line; many with the number of their column, three in a line.
static void put_machines(FILE *out, const json_t *fleet)
{
    const json_t *host;
    bool few = hosts_count(fleet) <= WORD_HOSTS;
    size_t i, in_line = 0;
    fputs("machines\n", out);
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        char name[128];
        double runs = tb_member_number(host, "runs");
        if (begins_group(fleet, i)) {
            put_group(out, fleet, group_of(host));
            in_line = 0;
        }
        bool last = few || i + 1 == hosts_count(fleet) || begins_group(fleet, i + 1) || ++in_line % 3 == 0;
        if (few)
            fprintf(out, "     %s, %.0f run%s", brief(tb_member_text(host, "host"), 60, name), runs, runs == 1 ? "" : "s");
        else
            fprintf(out, "   %3zu %-*s", i + 1, last ? 0 : NAME_COLUMNS - 2,
                    brief(tb_member_text(host, "host"), NAME_COLUMNS - 2, name));
        fputs(last ? "\n" : "", out);
    }
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        char text[512];
        snprintf(text, sizeof text, "%s: its ledger is broken, %.300s", tb_member_text(host, "host"),
                 tb_member_text(host, "broken"));
        if (*tb_member_text(host, "broken"))
            tb_text_wrap(out, COLUMNS, 0, 2, text);
    }
}

static void put_warnings(FILE *out, const json_t *fleet)
{
    const json_t *warning;
    size_t i;
    json_array_foreach (tb_member(fleet, "warnings"), i, warning)
        tb_text_wrap(out, COLUMNS, 0, 2, json_string_value(warning));
}

// --- words ---------------------------------------------------------------------------------------------------------------------

static void put_word_head(FILE *out, const json_t *fleet, int label)
{
    const json_t *host;
    size_t i;
    char tag[24], text[128];
    fprintf(out, "\n%*s", label, "");
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        snprintf(text, sizeof text, "%s %s", letter(group_of(host), tag), tb_member_text(host, "kind"));
        fprintf(out, "%-*s", i + 1 < hosts_count(fleet) ? WORD_COLUMNS : 0, text);
    }
    fprintf(out, "\n%*s", label, "");
    json_array_foreach (tb_member(fleet, "hosts"), i, host)
        fprintf(out, "%-*s", i + 1 < hosts_count(fleet) ? WORD_COLUMNS : 0,
                brief(tb_member_text(host, "host"), WORD_COLUMNS - 2, text));
    fputc('\n', out);
}

// `label` is cut to its column.
static void put_word_row(FILE *out, const char *label, int columns, const json_t *results, struct tb_report_style style)
{
    const json_t *result;
    size_t i;
    char text[128];
    fprintf(out, "%-*s", columns, brief(label, (size_t)columns - 1, text));
    json_array_foreach (results, i, result)
        put_cell(out, tb_member_text(result, "verdict"), word_of(result, text), i + 1 < json_array_size(results) ? WORD_COLUMNS : 0,
                 style);
    fputc('\n', out);
}

// What was observed; no line where nothing was.
static void put_interval_row(FILE *out, int columns, const json_t *results)
{
    const json_t *result;
    size_t i, end = 0;
    char figures[48];
    json_array_foreach (results, i, result)
        end = *interval(result, figures) ? i + 1 : end;
    for (i = 0; i < end; i++)
        fprintf(out, "%*s%-*s", i == 0 ? columns : 0, "", i + 1 < end ? WORD_COLUMNS : 0,
                interval(json_array_get(results, i), figures));
    if (end > 0)
        fputc('\n', out);
}

static bool any_more(const json_t *postulates)
{
    const json_t *postulate, *result;
    size_t i, j;
    char text[128];
    json_array_foreach (postulates, i, postulate)
        json_array_foreach (tb_member(postulate, "results"), j, result)
            if (strchr(word_of(result, text), '+'))
                return true;
    return false;
}

static void put_words(FILE *out, const json_t *fleet, struct tb_report_style style)
{
    const json_t *postulates = tb_member(fleet, "postulates"), *postulate;
    int label = COLUMNS - WORD_COLUMNS * (int)hosts_count(fleet);
    char text[256];
    size_t i;
    label = label > 40 ? 40 : label;
    put_word_head(out, fleet, label);
    json_array_foreach (postulates, i, postulate) {
        snprintf(text, sizeof text, "%s %.200s", tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
        put_word_row(out, text, label, tb_member(postulate, "results"), style);
    }
    fprintf(out, "\n.  not run there%s\n",
            any_more(postulates) ? "     +2  two more official runs, older or without a verdict" : "");
}

// --- signs ---------------------------------------------------------------------------------------------------------------------

// Of the signs that occur.
static void put_legend(FILE *out, const char *used)
{
    static const struct {
        char sign;
        const char *said;
    } signs[] = {{'S', "survived"},
                 {'F', "falsified"},
                 {'=', "no difference"},
                 {'?', "inconclusive"},
                 {'!', "invalid or noise"},
                 {'u', "unmeasurable there"},
                 {'x', "crashed, stopped, damaged or not in the ledger"},
                 {'-', "no verdict"},
                 {'.', "not run there"}};
    struct tb_words text = {0};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strchr(used, signs[i].sign))
            tb_say(&text, "%s%c %s", text.used ? ", " : "", signs[i].sign, signs[i].said);
    fputc('\n', out);
    tb_text_wrap(out, COLUMNS, 0, 0, text.text);
}

static void put_sign(FILE *out, const json_t *result, char used[64], struct tb_report_style style)
{
    const char *verdict = tb_member_text(result, "verdict");
    char sign[2] = {tb_fleet_word(verdict)->sign, '\0'};
    if (!strchr(used, *sign))
        strncat(used, sign, 63 - strlen(used));
    fprintf(out, "%*s", SIGN_COLUMNS - 1, "");
    put_cell(out, verdict, sign, 1, style);
}

static void put_sign_head(FILE *out, const json_t *fleet, size_t first, size_t end)
{
    char tag[24];
    int pending = NAME_COLUMNS; // so that no line ends with blanks
    fputc('\n', out);
    for (size_t i = first; i < end; i++) {
        pending += SIGN_COLUMNS;
        if (i > first && !begins_group(fleet, i))
            continue;
        fprintf(out, "%*s", pending, letter(group_of(host_at(fleet, i)), tag));
        pending = 0;
    }
    fprintf(out, "\n%-*s", NAME_COLUMNS, "machine");
    for (size_t i = first; i < end; i++)
        fprintf(out, "%*zu", SIGN_COLUMNS, i + 1);
    fputc('\n', out);
}

static void put_signs(FILE *out, const json_t *fleet, struct tb_report_style style)
{
    const json_t *postulate;
    char used[64] = "", label[256], text[128];
    size_t i, count = hosts_count(fleet);
    for (size_t first = 0; first < count; first += SIGN_HOSTS) {
        size_t end = first + SIGN_HOSTS < count ? first + SIGN_HOSTS : count;
        put_sign_head(out, fleet, first, end);
        json_array_foreach (tb_member(fleet, "postulates"), i, postulate) {
            snprintf(label, sizeof label, "%s %.200s", tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
            fprintf(out, "%-*s", NAME_COLUMNS, brief(label, NAME_COLUMNS - 1, text));
            for (size_t h = first; h < end; h++)
                put_sign(out, json_array_get(tb_member(postulate, "results"), h), used, style);
            fputc('\n', out);
        }
    }
    put_legend(out, used);
}

void tb_fleet_text(const json_t *fleet, struct tb_report_style style, FILE *out)
{
    const json_t *entry;
    size_t i;
    put_machines(out, fleet);
    if (hosts_count(fleet) <= WORD_HOSTS)
        put_words(out, fleet, style);
    else
        put_signs(out, fleet, style);
    fputs("Its predictions: locus compare NNNN. What was observed: locus compare NNNN/P2\n\n", out);
    put_warnings(out, fleet);
    json_array_foreach (tb_member(fleet, "answer"), i, entry)
        tb_text_wrap(out, COLUMNS, 0, 0, json_string_value(entry));
    json_array_foreach (tb_member(fleet, "disagree"), i, entry)
        tb_text_wrap(out, COLUMNS, 0, 2, tb_member_text(entry, "sentence"));
}

// --- one postulate -------------------------------------------------------------------------------------------------------------

// Each in full, with what it is about.
static void put_claim(FILE *out, const json_t *prediction)
{
    char text[512];
    int used = fprintf(out, "%-3s ", tb_member_text(prediction, "id"));
    snprintf(text, sizeof text, "%.300s; %.200s", tb_member_text(prediction, "text"), tb_member_text(prediction, "about"));
    tb_text_wrap(out, COLUMNS, used, used, text);
}

static void put_prediction_words(FILE *out, const json_t *fleet, const json_t *postulate, struct tb_report_style style)
{
    const json_t *prediction;
    int label = COLUMNS - WORD_COLUMNS * WORD_HOSTS;
    size_t i;
    put_word_head(out, fleet, label);
    json_array_foreach (tb_member(postulate, "predictions"), i, prediction) {
        put_claim(out, prediction);
        put_word_row(out, "", label, tb_member(prediction, "results"), style);
        put_interval_row(out, label, tb_member(prediction, "results"));
    }
    put_word_row(out, "all of it", label, tb_member(postulate, "results"), style);
}

static void put_prediction_lines(FILE *out, const json_t *fleet, const json_t *postulate, size_t first, char used[64],
                                 struct tb_report_style style)
{
    const json_t *predictions = tb_member(postulate, "predictions"), *host;
    size_t i, count = json_array_size(predictions), end = first + SIGN_PREDICTIONS;
    char text[128];
    end = end < count ? end : count;
    fprintf(out, "\n%*s%-*s", 5 + NAME_COLUMNS, "", WORD_COLUMNS, "all of it");
    for (size_t p = first; p < end; p++)
        fprintf(out, "%*s", SIGN_COLUMNS + 1, tb_member_text(json_array_get(predictions, p), "id"));
    fputc('\n', out);
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        const json_t *whole = json_array_get(tb_member(postulate, "results"), i);
        if (begins_group(fleet, i))
            put_group(out, fleet, group_of(host));
        fprintf(out, "     %-*s", NAME_COLUMNS, brief(tb_member_text(host, "host"), NAME_COLUMNS - 1, text));
        put_cell(out, tb_member_text(whole, "verdict"), word_of(whole, text), WORD_COLUMNS, style);
        for (size_t p = first; p < end; p++) {
            fputc(' ', out);
            put_sign(out, json_array_get(tb_member(json_array_get(predictions, p), "results"), i), used, style);
        }
        fputc('\n', out);
    }
}

static void put_question(FILE *out, const json_t *postulate)
{
    fprintf(out, "%s %s\n  ", tb_member_text(postulate, "id"), tb_member_text(postulate, "slug"));
    tb_text_wrap(out, COLUMNS, 2, 2, tb_member_text(postulate, "question"));
}

void tb_fleet_postulate_text(const json_t *fleet, const json_t *postulate, struct tb_report_style style, FILE *out)
{
    const json_t *entry;
    size_t i, count = json_array_size(tb_member(postulate, "predictions"));
    char used[64] = "";
    put_question(out, postulate);
    if (hosts_count(fleet) <= WORD_HOSTS) {
        put_prediction_words(out, fleet, postulate, style);
    } else {
        fputc('\n', out);
        json_array_foreach (tb_member(postulate, "predictions"), i, entry)
            put_claim(out, entry);
        for (size_t first = 0; first == 0 || first < count; first += SIGN_PREDICTIONS)
            put_prediction_lines(out, fleet, postulate, first, used, style);
        put_legend(out, used);
    }
    fputc('\n', out);
    put_warnings(out, fleet);
    tb_text_wrap(out, COLUMNS, 0, 2, tb_member_text(postulate, "sentence"));
    json_array_foreach (tb_member(fleet, "disagree"), i, entry)
        if (strcmp(tb_member_text(entry, "postulate"), tb_member_text(postulate, "id")) == 0)
            tb_text_wrap(out, COLUMNS, 0, 2, tb_member_text(entry, "sentence"));
}

// --- one prediction ------------------------------------------------------------------------------------------------------------

// "2 older: survived, falsified", or nothing.
static void put_others(FILE *out, const json_t *runs, const char *what)
{
    struct tb_words text = {0};
    const json_t *run;
    size_t i;
    json_array_foreach (runs, i, run)
        tb_say(&text, "%s%s", i ? ", " : "", tb_member_text(run, "verdict"));
    if (i == 0)
        return;
    int used = fprintf(out, "       %zu %s: ", i, what);
    tb_text_wrap(out, COLUMNS, used, 9, text.text);
}

static void put_result(FILE *out, const json_t *result, const char *unit, struct tb_report_style style)
{
    const char *verdict = tb_member_text(result, "verdict"), *run = tb_member_text(result, "run");
    const char *word = strcmp(verdict, "not run") ? tb_fleet_word(verdict)->word : verdict, *tail = strrchr(run, '-');
    char text[128], figures[96] = "", range[48], digits[16];
    double estimate = tb_member_number(result, "estimate");
    interval(result, range);
    if (!isnan(estimate) && *range == '[')
        snprintf(figures, sizeof figures, "%s %s %.20s", figure(estimate, digits), range, unit);
    else if (!isnan(estimate))
        snprintf(figures, sizeof figures, "%s%s", figure(estimate, digits), *range == '=' ? "" : ", too few rounds");
    fprintf(out, "     %-*s", NAME_COLUMNS + 2, brief(tb_member_text(result, "host"), NAME_COLUMNS + 1, text));
    put_cell(out, verdict, word, *run ? WORD_COLUMNS : 0, style);
    if (*run)
        fprintf(out, "%-*s%s", 28, figures, tail ? tail + 1 : run);
    fputc('\n', out);
    if (!tb_fleet_measured(verdict) && *tb_member_text(result, "why")) {
        fprintf(out, "       ");
        tb_text_wrap(out, COLUMNS, 7, 7, tb_member_text(result, "why"));
    }
    put_others(out, tb_member(result, "older"), "older");
    put_others(out, tb_member(result, "unfit"), "without a verdict");
}

void tb_fleet_prediction_text(const json_t *fleet, const json_t *postulate, const json_t *prediction, struct tb_report_style style,
                              FILE *out)
{
    const char *arms = tb_member_text(prediction, "arms"), *unit = tb_member_text(prediction, "unit");
    const json_t *host;
    char text[512];
    size_t i;
    put_question(out, postulate);
    int used = fprintf(out, "\n%s  ", tb_member_text(prediction, "id")) - 1;
    snprintf(text, sizeof text, "%.200s; %.100s%s%.150s", tb_member_text(prediction, "text"), tb_member_text(prediction, "about"),
             *arms ? "; " : "", arms);
    tb_text_wrap(out, COLUMNS, used, used, text);
    fprintf(out, "\n%*s%-*s%-28srun\n", 7 + NAME_COLUMNS, "", WORD_COLUMNS, "verdict", "observed");
    json_array_foreach (tb_member(fleet, "hosts"), i, host) {
        if (begins_group(fleet, i))
            put_group(out, fleet, group_of(host));
        put_result(out, json_array_get(tb_member(prediction, "results"), i), unit, style);
    }
    fputc('\n', out);
    put_warnings(out, fleet);
    tb_text_wrap(out, COLUMNS, 0, 2, tb_member_text(prediction, "sentence"));
}
