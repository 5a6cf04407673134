// SPDX-License-Identifier: Apache-2.0
//
// words: composes, cleans, breaks and rounds text, for all commands.
#ifndef TB_WORDS_H
#define TB_WORDS_H

#include <stdbool.h>
#include <stdio.h>

#include "testbed/stats/stats.h"

// A report is composed in memory and then written at once, so that the reason for a failed write is known exactly.
struct tb_text {
    FILE *stream; // print here
    char *bytes;
    size_t count;
};

int tb_text_open(struct tb_text *text);
// Writes everything to `to` and flushes it. `rc` is the result of composing: if negative, nothing is written and `rc` is
// returned.
int tb_text_close(struct tb_text *text, FILE *to, int rc);

// Copies text, with '?' for each byte that is a control character, not valid UTF-8, or (ascii) not ASCII.
void tb_text_clean(const char *in, bool ascii, char *out, size_t size);

// Shortened to `width` characters, keeping both ends: "malloc:..libjemalloc.so".
void tb_text_shorten(char *text, size_t width);

// Prints text and a newline, broken at spaces into lines of at most `columns`. The first line already has `start` columns; the
// others are indented by `indent`.
void tb_text_wrap(FILE *stream, int columns, int start, int indent, const char *text);

// A paragraph under construction; {0} is the empty one. Excess text is cut: the longest paragraph has a few hundred characters.
struct tb_words {
    char text[4096];
    size_t used;
    bool named; // its subject was named, so that it is "it" from here on
};

void tb_say(struct tb_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Three digits: "0.182", "1.96", "12.3", "140". Needs 16 bytes.
const char *tb_text_number(char *out, double value);

// The same for a ratio, with two decimals at most: "0.08". Needs 16 bytes.
const char *tb_text_ratio(char *out, double value);

// Three significant digits, however small the value: "0.00312". Needs 16 bytes.
const char *tb_text_significant(char *out, double value);

// "0.8" for 0.0078: a difference in percent, rounded up.
const char *tb_text_percent_up(char *out, double difference);

// One unit for a whole table or axis, so that its figures can be compared at a glance.
struct tb_unit {
    const char *name; // "ns", "us", "ms", "s"
    double ns;
    int decimals; // or TB_DIGITS, three digits each: the figures are too far apart
};

enum { TB_DIGITS = -1 };

struct tb_unit tb_text_unit(double smallest_ns, double largest_ns);

#endif
