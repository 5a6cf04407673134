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
    double most;                // the largest number on the way, to tell a difference from a round-off
    bool bad;                   // at the character where it stands
};

static double sum(struct reader *reader);

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
    reader->most = fmax(reader->most, value);
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
        value = floor(in_parentheses(reader));
    else if (take(reader, "ceil"))
        value = ceil(in_parentheses(reader));
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
            reader->most = fmax(reader->most, fabs(value *= factor(reader)));
        else if (take(reader, "/"))
            value /= factor(reader);
        else
            break;
    }
    return value;
}

static double sum(struct reader *reader)
{
    double value = product(reader);
    while (!reader->bad) {
        if (take(reader, "+"))
            value += product(reader);
        else if (take(reader, "-"))
            value -= product(reader);
        else
            break;
    }
    return value;
}

int tb_sum(const char *text, double *out, char *why, size_t why_bytes)
{
    struct reader reader = {.text = text, .at = text};
    char digits[40];
    double value = sum(&reader);
    take(&reader, "");
    if (reader.bad || *reader.at) {
        snprintf(why, why_bytes, "at character %td, '%.12s': numbers, + - * / ( ) floor() ceil()", reader.at - text + 1, reader.at);
        return -EINVAL;
    }
    if (!isfinite(value)) {
        snprintf(why, why_bytes, "it has no finite value");
        return -EINVAL;
    }
    snprintf(digits, sizeof digits, "%.12g", fabs(value) < 1e-14 * reader.most ? 0 : value);
    *out = strtod(digits, NULL);
    return 0;
}
