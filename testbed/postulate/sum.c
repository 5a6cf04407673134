// SPDX-License-Identifier: Apache-2.0
//
// sum: see sum.h. A descent along the grammar:
//
//     sum     = product { ("+" | "-") product }
//     product = factor { ("*" | "/") factor }
//     factor  = "-" factor | number | [ "floor" | "ceil" ] "(" sum ")"

#include "testbed/postulate/sum.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32

struct reader {
    const char *text, *at;
    int depth;
    bool bad;                   // at the character where it stands
    bool infinite;              // a number or a quotient on the way
};

static double sum(struct reader *reader);

// To twelve digits; whole numbers stay what they are, up to 2^53.
double tb_sum_rounded(double value)
{
    char digits[40];
    if (floor(value) == value && fabs(value) <= 0x1p53)
        return value;
    snprintf(digits, sizeof digits, "%.12g", value);
    return strtod(digits, NULL);
}

static bool take(struct reader *reader, const char *word)
{
    while (*reader->at == ' ')
        reader->at++;
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static double in_parentheses(struct reader *reader)
{
    reader->bad |= !take(reader, "(");
    double value = reader->bad ? 0 : sum(reader);
    reader->bad |= !reader->bad && !take(reader, ")");
    return value;
}

// Digits first, so that strtod() is never asked for "inf", and no "0x".
static double number(struct reader *reader)
{
    char *end;
    if (!isdigit((unsigned char)*reader->at) || tolower((unsigned char)reader->at[1]) == 'x') {
        reader->bad = true;
        return 0;
    }
    double value = strtod(reader->at, &end);
    reader->at = end;
    reader->infinite |= !isfinite(value);
    return value;
}

static double factor(struct reader *reader)
{
    double value = 0;
    if (++reader->depth > DEPTH_MAX)
        reader->bad = true;
    else if (take(reader, "-"))
        value = -factor(reader);
    else if (take(reader, "floor"))
        value = floor(tb_sum_rounded(in_parentheses(reader)));
    else if (take(reader, "ceil"))
        value = ceil(tb_sum_rounded(in_parentheses(reader)));
    else
        value = *reader->at == '(' ? in_parentheses(reader) : number(reader);
    reader->depth--;
    return value;
}

static double product(struct reader *reader)
{
    double value = factor(reader);
    while (!reader->bad) {
        if (take(reader, "*"))
            value *= factor(reader);
        else if (take(reader, "/"))
            value /= factor(reader);
        else
            break;
        reader->infinite |= !isfinite(value);
    }
    return value;
}

// What is left of terms that cancel is 0, where it is less than their round-off.
static double sum(struct reader *reader)
{
    double value = product(reader), most = fabs(value);
    while (!reader->bad) {
        double sign = take(reader, "+") ? 1 : take(reader, "-") ? -1 : 0;
        if (sign == 0)
            break;
        double term = product(reader);
        value += sign * term;
        most = fmax(most, fmax(fabs(term), fabs(value)));
    }
    return fabs(value) < 1e-14 * most ? 0 : value;
}

int tb_sum(const char *text, double *out, char *why, size_t why_bytes)
{
    struct reader reader = {.text = text, .at = text};
    double value = sum(&reader);
    take(&reader, "");
    if (reader.bad || *reader.at) {
        snprintf(why, why_bytes, "at character %td, '%.12s': numbers, + - * / ( ) floor() ceil()", reader.at - text + 1, reader.at);
        return -EINVAL;
    }
    if (reader.infinite || !isfinite(value)) {
        snprintf(why, why_bytes, "it has no finite value");
        return -EINVAL;
    }
    *out = tb_sum_rounded(value);
    return 0;
}
