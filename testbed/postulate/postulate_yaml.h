// SPDX-License-Identifier: Apache-2.0
//
// postulate_yaml: the strict part of YAML that front matter is written in, and fields of a struct read out of it by a table.
//
// What is read is a tree of scalars, lists and maps in which nothing stands for something else: no anchor, alias, tag, directive or
// second document, no key twice. A plain word that YAML takes for something else than text (007, yes, null) is not text until it
// is quoted, and "20" in quotes is no number.
#ifndef TB_POSTULATE_YAML_H
#define TB_POSTULATE_YAML_H

#include "testbed/postulate/postulate.h"

#define TB_YAML_ITEMS_MAX 64    // in one list or map
#define TB_YAML_DEPTH_MAX 8

// Where the text is from, and who is told what is wrong with it.
struct tb_yaml_source {
    const char *path;
    struct tb_postulate_why *why;
};

enum tb_yaml_kind { TB_YAML_SCALAR, TB_YAML_LIST, TB_YAML_MAP };

struct tb_yaml {
    enum tb_yaml_kind kind;
    unsigned line;              // in the file, from 1
    char *key;                  // of a map's member, otherwise NULL
    unsigned key_line;
    char *text;                 // of a scalar; UTF-8 without control characters other than newlines
    bool plain;                 // it was written without quotes
    struct tb_yaml *items;      // of a list or map
    size_t count;
};

// The one document in text, whose first line is line `line` of the file. 0, -EINVAL (why says it), -ENOMEM.
int tb_yaml_parse(const struct tb_yaml_source *source, unsigned line, const char *text, size_t bytes, struct tb_yaml **out);
void tb_yaml_close(struct tb_yaml *root);

// Says "path:line: ..." and returns -EINVAL.
int tb_yaml_bad(const struct tb_yaml_source *source, unsigned line, const char *format, ...) __attribute__((format(printf, 3, 4)));

// A text of the file as it may be shown in a message: one line, shortened. Returns out.
#define TB_YAML_SHOWN 48
const char *tb_yaml_shown(const char *text, char out[TB_YAML_SHOWN]);

// The line of the first byte that is no plain UTF-8 text: invalid, NUL, a control character, a line break other than LF and CRLF, a
// byte order mark. 0 when there is none. *what says what it is.
unsigned tb_yaml_unclean(const char *text, size_t bytes, const char **what);

// --- a struct's fields ---

struct tb_yaml_field;
typedef int tb_yaml_field_read(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                               void *object);

struct tb_yaml_field {
    const char *key;            // NULL ends the table
    tb_yaml_field_read *read;
    size_t offset, bytes;       // of the member
    uint64_t min, max;          // tb_yaml_field_count
    const char *const *words;   // tb_yaml_field_word, NULL-terminated
    bool optional;
};

// Reads a map in the order of the table. `what` names it in messages. 0, -EINVAL, -ENOMEM.
int tb_yaml_fields(const struct tb_yaml_source *source, const struct tb_yaml *map, const char *what,
                   const struct tb_yaml_field fields[], void *object);

tb_yaml_field_read tb_yaml_field_text;    // char[bytes]: one line, not empty
tb_yaml_field_read tb_yaml_field_word;    // char[bytes]: one of the words
tb_yaml_field_read tb_yaml_field_count;   // uint64_t, min to max

// For readers of their own. The text of a scalar that is text, into out; a finite decimal number.
int tb_yaml_text(const struct tb_yaml_source *source, const struct tb_yaml *value, const char *what, char *out, size_t bytes);
int tb_yaml_number(const struct tb_yaml_source *source, const struct tb_yaml *value, const char *what, double *out);
int tb_yaml_want(const struct tb_yaml_source *source, const struct tb_yaml *value, const char *what, enum tb_yaml_kind kind);

#endif
