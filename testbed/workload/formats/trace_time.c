// SPDX-License-Identifier: Apache-2.0
//
// trace_time: when a request arrived, as traces write it.
//
// A date is "2023-11-16 18:15:46.6805900": with a blank or a T, with any number of digits down to the nanosecond or none, and with
// Z, an offset ("+00:00") or no zone, which is UTC. It becomes nanoseconds since 1970, in 64 bits, which last until 2554. Only
// differences are used, so leap seconds do not matter more than they do to the service's own clock.
//
// A number counts from anywhere. Where the format does not say in which unit, the first one's size does: as seconds since 1970 it
// would be thousands of years from now long before milliseconds since 1970 are today. What is small is seconds.

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "testbed/base/cli.h"
#include "testbed/workload/formats/trace_read.h"

enum { YEAR_FIRST = 1970, YEAR_LAST = 2553 };
enum { TIME_BYTES = 48 };       // more than any time has

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = {
    [TB_CLOCK_S] = {"seconds", NS_PER_S},
    [TB_CLOCK_MS] = {"milliseconds", 1000000},
    [TB_CLOCK_WHOLE_MS] = {"milliseconds", 1000000},
    [TB_CLOCK_US] = {"microseconds", 1000},
    [TB_CLOCK_NS] = {"nanoseconds", 1},
};

const char *tb_trace_clock_unit(enum tb_trace_clock clock)
{
    return clock < sizeof units / sizeof *units ? units[clock].name : NULL;
}

// Seconds since 1970 of "2023-11-16 18:15:46". A day or an hour that does not exist comes back from timegm() as another one.
static bool read_seconds(const char *text, int64_t *seconds)
{
    static const char form[] = "0000-00-00 00:00:00";
    struct tm given = {0}, found;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? !isdigit((unsigned char)text[i]) : text[i] != form[i] && !(form[i] == ' ' && text[i] == 'T'))
            return false;
    if (sscanf(text, "%4d-%2d-%2d%*c%2d:%2d:%2d", &given.tm_year, &given.tm_mon, &given.tm_mday, &given.tm_hour, &given.tm_min,
               &given.tm_sec) != 6 ||
        given.tm_year < YEAR_FIRST || given.tm_year > YEAR_LAST)
        return false;
    given.tm_year -= 1900;
    given.tm_mon -= 1;
    found = given;
    *seconds = timegm(&found);
    return found.tm_mon == given.tm_mon && found.tm_mday == given.tm_mday && found.tm_hour == given.tm_hour &&
           found.tm_min == given.tm_min && found.tm_sec == given.tm_sec;
}

// Nothing, "Z", or "+02:00".
static bool read_zone(const char *text, int64_t *seconds)
{
    int hours, minutes, used = 0;
    *seconds = 0;
    if (*text == '\0' || strcmp(text, "Z") == 0)
        return true;
    if ((*text != '+' && *text != '-') || strspn(text + 1, "0123456789:") != 5 || text[3] != ':' ||
        sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5 || text[6] != '\0' || hours > 14 || minutes > 59)
        return false;
    *seconds = (*text == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
}

static bool read_date(const char *text, uint64_t *time_ns)
{
    enum { SECONDS = 19 };      // characters
    int64_t seconds, zone;
    uint64_t fraction_ns = 0;
    if (!read_seconds(text, &seconds))
        return false;
    const char *at = text + SECONDS;
    if (*at == '.') {
        size_t digits = strspn(++at, "0123456789");
        if (digits < 1 || digits > 9)
            return false;
        for (uint64_t worth = NS_PER_S / 10; digits > 0; digits--, worth /= 10)
            fraction_ns += worth * (uint64_t)(*at++ - '0');
    }
    if (!read_zone(at, &zone) || seconds < zone)
        return false;
    *time_ns = (uint64_t)(seconds - zone) * NS_PER_S + fraction_ns;
    return true;
}

// Whole numbers to the last digit, others as floating point: "26.407057000000002", "5e-05".
static bool read_number(const char *text, uint64_t unit_ns, uint64_t *time_ns)
{
    const char *rest = text;
    uint64_t whole;
    char *end;
    if (!isdigit((unsigned char)*text))
        return false;
    if (tb_number_take(&rest, INT64_MAX, &whole) && *rest == '\0')
        return !__builtin_mul_overflow(whole, unit_ns, time_ns) && *time_ns <= INT64_MAX;
    if (strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    double value = strtod(text, &end) * (double)unit_ns;
    if (*end || !(value < 0x1p63))
        return false;
    *time_ns = (uint64_t)(value + 0.5);
    return true;
}

static enum tb_trace_clock clock_of(const char *text)
{
    double value = strtod(text, NULL);
    bool date = strlen(text) > 4 && strspn(text, "0123456789") == 4 && text[4] == '-';
    return date ? TB_CLOCK_DATE : value < 1e11 ? TB_CLOCK_S : value < 1e14 ? TB_CLOCK_MS : value < 1e17 ? TB_CLOCK_US : TB_CLOCK_NS;
}

int trace_time(struct parse *parse, const char *column, struct text text, uint64_t *out_ns)
{
    char copy[TIME_BYTES], quoted[QUOTE_BYTES];
    bool undecided = parse->clock == TB_CLOCK_ANY;
    if (text.bytes == 0)
        return trace_complain(parse, "%s is missing", column);
    snprintf(copy, sizeof copy, "%.*s", (int)(text.bytes < TIME_BYTES ? text.bytes : 0), text.at);
    enum tb_trace_clock clock = undecided ? clock_of(copy) : parse->clock;
    bool date = clock == TB_CLOCK_DATE;
    if (date ? read_date(copy, out_ns) : read_number(copy, units[clock].ns, out_ns)) {
        parse->clock = clock;
        return 0;
    }
    if (date || undecided)
        return trace_complain(parse, "%s \"%s\" is not a time like 2023-11-16 18:15:46.6805900%s", column,
                              trace_quote(text, quoted), date ? "" : ", and no number of seconds");
    return trace_complain(parse, "%s \"%s\" is no number of %s", column, trace_quote(text, quoted), units[clock].name);
}
