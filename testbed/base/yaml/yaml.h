// SPDX-License-Identifier: Apache-2.0
//
// yaml: the strict part of YAML that postulates and configurations are written in, and fields of a struct read out of it by a
// table.
//
// Nothing stands for something else: no anchor, alias, tag, directive or second document, no key twice. A plain word that YAML
// takes for something else than text (007, yes, null) is not text until it is quoted, and "20" in quotes is no number.
#ifndef TB_YAML_H
#define TB_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

#define TB_YAML_ITEMS_MAX 64    // in one list or map: keys are compared with each other
#define TB_YAML_DEPTH_MAX 8

struct tb_yaml {
    const char *path;           // of the file
    char *why;                  // gets one sentence on what is wrong with it: "FILE:LINE: ..."
    size_t why_bytes;
    unsigned line;              // of the file, at which the text begins
    yaml_document_t document;
};

// The one document in text. 0, -EINVAL (why says it), -ENOMEM; tb_yaml_close() in the first case only.
int tb_yaml_open(struct tb_yaml *yaml, const char *text, size_t bytes);
void tb_yaml_close(struct tb_yaml *yaml);

// Says "path:line: ..." and returns -EINVAL.
int tb_yaml_bad(const struct tb_yaml *yaml, unsigned line, const char *format, ...) __attribute__((format(printf, 3, 4)));
unsigned tb_yaml_line(const struct tb_yaml *yaml, const yaml_node_t *node);
#define tb_yaml_refuse(yaml, node, ...) tb_yaml_bad(yaml, tb_yaml_line(yaml, node), __VA_ARGS__)

// A text of the file as it may be shown in a message: one line, shortened. Returns out.
#define TB_YAML_SHOWN 48
const char *tb_yaml_shown(const char *text, char out[TB_YAML_SHOWN]);

// The line of the first byte that is no plain UTF-8 text: invalid, NUL, a control character, a line break other than LF and CRLF, a
// byte order mark. 0 when there is none. *what says what it is.
unsigned tb_yaml_unclean(const char *text, size_t bytes, const char **what);

// Does the whole text match this extended regular expression?
bool tb_yaml_matches(const char *text, const char *expression);

// Of a list or map: how many, and the i-th value; of a map also its key. A scalar's text.
size_t tb_yaml_count(const yaml_node_t *node);
yaml_node_t *tb_yaml_at(struct tb_yaml *yaml, const yaml_node_t *node, size_t i);
yaml_node_t *tb_yaml_key_at(struct tb_yaml *yaml, const yaml_node_t *map, size_t i);
const char *tb_yaml_raw(const yaml_node_t *scalar);

// --- a struct's fields ---

struct tb_yaml_field {
    const char *key;            // NULL ends the table
    int (*read)(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object);
    size_t offset, bytes;       // of the member
    uint64_t min, max;          // tb_yaml_field_count
    const void *words;          // tb_yaml_field_word: const char *const[], NULL-terminated; others as they like
    bool optional;
};

// Reads a map in the order of the table. `what` names it in messages. 0, -EINVAL, -ENOMEM.
int tb_yaml_fields(struct tb_yaml *yaml, yaml_node_t *map, const char *what, const struct tb_yaml_field fields[], void *object);

// Readers: char[bytes], one line, not empty; char[bytes], one of the words; uint64_t, min to max.
int tb_yaml_field_text(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object);
int tb_yaml_field_word(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object);
int tb_yaml_field_count(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object);

// For readers of their own. The text of a scalar that is text, into out; a finite decimal number.
int tb_yaml_text(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, char *out, size_t bytes);
int tb_yaml_number(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, double *out);
int tb_yaml_want(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, yaml_node_type_t type);

#endif
