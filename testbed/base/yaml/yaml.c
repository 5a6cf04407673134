// SPDX-License-Identifier: Apache-2.0
//
// yaml: libyaml's document, held to be strict before anything is read out of it; see yaml.h.
//
// A loaded document has resolved its aliases, and no longer shows tags and markers. So the tokens are looked through first.
#include "testbed/base/yaml/yaml.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/nearest.h"
#include "testbed/base/words.h"

#define NUMBER "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?"

int tb_yaml_bad(const struct tb_yaml *yaml, unsigned line, const char *format, ...)
{
    va_list arguments;
    char *text = yaml->why;
    size_t size = yaml->why_bytes;
    int used = snprintf(text, size, "%s:%u: ", yaml->path, line);
    if (used >= 0 && (size_t)used < size) {
        va_start(arguments, format);
        vsnprintf(text + used, size - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return -EINVAL;
}

unsigned tb_yaml_line(const struct tb_yaml *yaml, const yaml_node_t *node)
{
    return yaml->line + (unsigned)node->start_mark.line;
}

const char *tb_yaml_shown(const char *text, char out[TB_YAML_SHOWN])
{
    tb_text_clean(text, false, out, TB_YAML_SHOWN);
    return out;
}

// jansson refuses what is not UTF-8; here remain the characters that are, and have no place in a text that is shown in a terminal
// or counted by lines.
static const char *line_unclean(const char *line, size_t bytes)
{
    json_t *string = json_stringn(line, bytes);
    json_decref(string);
    if (!string)
        return "invalid UTF-8";
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char *at = (const unsigned char *)line + i;
        if (at[0] == '\0')
            return "a NUL byte";
        if ((at[0] < 0x20 && at[0] != '\t') || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0))
            return "a control character";
        if (at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9))
            return "a line separator of Unicode";
        if (at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf)
            return "a byte order mark";
    }
    return NULL;
}

unsigned tb_yaml_unclean(const char *text, size_t bytes, const char **what)
{
    unsigned line = 1;
    for (size_t begin = 0, end; begin < bytes; begin = end + 1, line++) {
        const char *newline = memchr(text + begin, '\n', bytes - begin);
        end = newline ? (size_t)(newline - text) : bytes;
        size_t length = end - begin;
        if (newline && length > 0 && newline[-1] == '\r')
            length--;
        *what = line_unclean(text + begin, length);
        if (*what)
            return line;
    }
    *what = NULL;
    return 0;
}

bool tb_yaml_matches(const char *text, const char *expression)
{
    regex_t regex;
    char whole[512];
    snprintf(whole, sizeof whole, "^(%s)$", expression);
    if (regcomp(&regex, whole, REG_EXTENDED | REG_ICASE | REG_NOSUB))
        return false;
    bool matches = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return matches;
}

// --- the document ---

static int parser_open(yaml_parser_t *parser, const char *text, size_t bytes)
{
    if (!yaml_parser_initialize(parser))
        return -ENOMEM;
    yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(parser, (const unsigned char *)text, bytes);
    return 0;
}

static int parser_failed(const struct tb_yaml *yaml, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    return tb_yaml_bad(yaml, yaml->line + (unsigned)parser->problem_mark.line, "not YAML: %s",
                       parser->problem ? parser->problem : "cannot be read");
}

// Nothing may stand for something else, and nothing be nested without end.
static int token_check(const struct tb_yaml *yaml, const yaml_token_t *token, int *depth)
{
    unsigned line = yaml->line + (unsigned)token->start_mark.line;
    switch (token->type) {
    case YAML_ALIAS_TOKEN: return tb_yaml_bad(yaml, line, "an alias (*name): write the value itself, or quote the text");
    case YAML_ANCHOR_TOKEN: return tb_yaml_bad(yaml, line, "an anchor (&name): write the value itself, or quote the text");
    case YAML_TAG_TOKEN: return tb_yaml_bad(yaml, line, "a tag (!name): write the value itself, or quote the text");
    case YAML_VERSION_DIRECTIVE_TOKEN:
    case YAML_TAG_DIRECTIVE_TOKEN:
    case YAML_DOCUMENT_START_TOKEN:
    case YAML_DOCUMENT_END_TOKEN: return tb_yaml_bad(yaml, line, "a second document, a directive or a document's end");
    case YAML_BLOCK_SEQUENCE_START_TOKEN:
    case YAML_BLOCK_MAPPING_START_TOKEN:
    case YAML_FLOW_SEQUENCE_START_TOKEN:
    case YAML_FLOW_MAPPING_START_TOKEN:
        *depth += 1;
        return *depth > TB_YAML_DEPTH_MAX + 1 ? tb_yaml_bad(yaml, line, "nested deeper than %d", TB_YAML_DEPTH_MAX) : 0;
    case YAML_BLOCK_END_TOKEN:
    case YAML_FLOW_SEQUENCE_END_TOKEN:
    case YAML_FLOW_MAPPING_END_TOKEN: *depth -= 1; return 0;
    default: return 0;
    }
}

static int tokens_check(const struct tb_yaml *yaml, const char *text, size_t bytes)
{
    yaml_parser_t parser;
    int depth = 0, rc = parser_open(&parser, text, bytes);
    if (rc)
        return rc;
    for (bool ended = false; !rc && !ended;) {
        yaml_token_t token;
        if (!yaml_parser_scan(&parser, &token)) {
            rc = parser_failed(yaml, &parser);
            break;
        }
        ended = token.type == YAML_STREAM_END_TOKEN;
        rc = token_check(yaml, &token, &depth);
        yaml_token_delete(&token);
    }
    yaml_parser_delete(&parser);
    return rc;
}

// What comes after the document's end is no part of it, and only asking for another one shows it.
static int load(struct tb_yaml *yaml, const char *text, size_t bytes)
{
    yaml_parser_t parser;
    yaml_document_t rest;
    int rc = parser_open(&parser, text, bytes);
    if (rc)
        return rc;
    if (!yaml_parser_load(&parser, &yaml->document)) {
        rc = parser_failed(yaml, &parser);
    } else {
        if (!yaml_parser_load(&parser, &rest))
            rc = parser_failed(yaml, &parser);
        else
            yaml_document_delete(&rest);
        if (!rc && !yaml_document_get_root_node(&yaml->document))
            rc = tb_yaml_bad(yaml, yaml->line, "there is nothing in it");
        if (rc)
            yaml_document_delete(&yaml->document);
    }
    yaml_parser_delete(&parser);
    return rc;
}

static int keys_check(struct tb_yaml *yaml, const yaml_node_t *map)
{
    char shown[TB_YAML_SHOWN];
    for (size_t i = 0; i < tb_yaml_count(map); i++) {
        const yaml_node_t *key = tb_yaml_key_at(yaml, map, i);
        if (key->type != YAML_SCALAR_NODE)
            return tb_yaml_refuse(yaml, key, "a key that is a list or a map");
        for (size_t j = 0; j < i; j++)
            if (strcmp(tb_yaml_raw(key), tb_yaml_raw(tb_yaml_key_at(yaml, map, j))) == 0)
                return tb_yaml_refuse(yaml, key, "'%s' is there twice (first in line %u)", tb_yaml_shown(tb_yaml_raw(key), shown),
                                      tb_yaml_line(yaml, tb_yaml_key_at(yaml, map, j)));
    }
    return 0;
}

static int node_check(struct tb_yaml *yaml, const yaml_node_t *node)
{
    const char *what;
    if (node->type == YAML_SCALAR_NODE)
        return tb_yaml_unclean(tb_yaml_raw(node), node->data.scalar.length, &what)
                   ? tb_yaml_refuse(yaml, node, "%s, written as an escape", what)
                   : 0;
    if (tb_yaml_count(node) > TB_YAML_ITEMS_MAX)
        return tb_yaml_refuse(yaml, node, "more than %d entries", TB_YAML_ITEMS_MAX);
    return node->type == YAML_MAPPING_NODE ? keys_check(yaml, node) : 0;
}

int tb_yaml_open(struct tb_yaml *yaml, const char *text, size_t bytes)
{
    int rc = tokens_check(yaml, text, bytes);
    if (!rc)
        rc = load(yaml, text, bytes);
    if (rc)
        return rc;
    for (const yaml_node_t *node = yaml->document.nodes.start; !rc && node < yaml->document.nodes.top; node++)
        rc = node_check(yaml, node);
    if (rc)
        tb_yaml_close(yaml);
    return rc;
}

void tb_yaml_close(struct tb_yaml *yaml)
{
    yaml_document_delete(&yaml->document);
}

size_t tb_yaml_count(const yaml_node_t *node)
{
    if (node->type == YAML_SEQUENCE_NODE)
        return (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    return (size_t)(node->data.mapping.pairs.top - node->data.mapping.pairs.start);
}

yaml_node_t *tb_yaml_at(struct tb_yaml *yaml, const yaml_node_t *node, size_t i)
{
    bool list = node->type == YAML_SEQUENCE_NODE;
    return yaml_document_get_node(&yaml->document,
                                  list ? node->data.sequence.items.start[i] : node->data.mapping.pairs.start[i].value);
}

yaml_node_t *tb_yaml_key_at(struct tb_yaml *yaml, const yaml_node_t *map, size_t i)
{
    return yaml_document_get_node(&yaml->document, map->data.mapping.pairs.start[i].key);
}

const char *tb_yaml_raw(const yaml_node_t *scalar)
{
    return (const char *)scalar->data.scalar.value;
}

// --- values ---

int tb_yaml_want(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, yaml_node_type_t type)
{
    static const char *const names[] = {
        [YAML_SCALAR_NODE] = "one value", [YAML_SEQUENCE_NODE] = "a list", [YAML_MAPPING_NODE] = "a map"};
    if (value->type == type)
        return 0;
    return tb_yaml_refuse(yaml, value, "'%s' is %s, and has to be %s", what, names[value->type], names[type]);
}

static bool is_plain(const yaml_node_t *scalar)
{
    return scalar->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

// Plain words for which a reader of YAML has another meaning than the text: of version 1.1 as well as of 1.2.
static bool is_ambiguous(const char *text)
{
    char *end;
    if (tb_yaml_matches(text, "~|null|true|false|yes|no|on|off|y|n|-?\\.inf|\\.nan"))
        return true;
    strtod(text, &end);
    return strchr("+-.0123456789", text[0]) && end != text && *end == '\0';
}

int tb_yaml_text(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, char *out, size_t bytes)
{
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(yaml, value, what, YAML_SCALAR_NODE);
    if (rc)
        return rc;
    const char *text = tb_yaml_raw(value);
    unsigned line = tb_yaml_line(yaml, value);
    if (text[strspn(text, " \t\n")] == '\0')
        return tb_yaml_bad(yaml, line, "'%s' is empty", what);
    if (is_plain(value) && is_ambiguous(text))
        return tb_yaml_bad(yaml, line, "'%s' has to be text: put %s in quotes", what, tb_yaml_shown(text, shown));
    if (strchr(text, '\n'))
        return tb_yaml_bad(yaml, line, "'%s' has to be one line", what);
    if (strlen(text) >= bytes)
        return tb_yaml_bad(yaml, line, "'%s' is longer than %zu bytes", what, bytes - 1);
    memcpy(out, text, strlen(text) + 1);
    return 0;
}

// `what` has to be this, and is something else.
static int refuse_value(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, const char *wanted)
{
    char shown[TB_YAML_SHOWN];
    const char *text = tb_yaml_raw(value);
    return tb_yaml_refuse(yaml, value, "'%s' has to be %s, not %s%s", what, wanted,
                          is_plain(value) ? "" : "text: ", text[0] ? tb_yaml_shown(text, shown) : "nothing");
}

int tb_yaml_number(struct tb_yaml *yaml, const yaml_node_t *value, const char *what, double *out)
{
    int rc = tb_yaml_want(yaml, value, what, YAML_SCALAR_NODE);
    if (rc)
        return rc;
    *out = strtod(tb_yaml_raw(value), NULL);
    return is_plain(value) && tb_yaml_matches(tb_yaml_raw(value), NUMBER) && isfinite(*out)
               ? 0
               : refuse_value(yaml, value, what, "a number");
}

int tb_yaml_field_text(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    return tb_yaml_text(yaml, value, field->key, (char *)object + field->offset, field->bytes);
}

int tb_yaml_field_word(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    char list[400] = "", shown[TB_YAML_SHOWN];
    const char *const *words = field->words;
    int rc = tb_yaml_want(yaml, value, field->key, YAML_SCALAR_NODE);
    if (rc)
        return rc;
    for (const char *const *known = words; *known; known++) {
        size_t used = strlen(list);
        if (strcmp(tb_yaml_raw(value), *known) == 0) {
            snprintf((char *)object + field->offset, field->bytes, "%s", *known);
            return 0;
        }
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *known);
    }
    return tb_yaml_refuse(yaml, value, "'%s' is '%s', and has to be %s%s", field->key, tb_yaml_shown(tb_yaml_raw(value), shown),
                          words[1] ? "one of " : "", list);
}

int tb_yaml_field_count(struct tb_yaml *yaml, yaml_node_t *value, const struct tb_yaml_field *field, void *object)
{
    char wanted[80];
    int rc = tb_yaml_want(yaml, value, field->key, YAML_SCALAR_NODE);
    if (rc)
        return rc;
    if (is_plain(value) && tb_yaml_matches(tb_yaml_raw(value), "0|[1-9][0-9]*") &&
        tb_cli_u64(tb_yaml_raw(value), field->min, field->max, (uint64_t *)((char *)object + field->offset)))
        return 0;
    snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)field->min,
             (unsigned long long)field->max);
    return refuse_value(yaml, value, field->key, wanted);
}

static int refuse_key(struct tb_yaml *yaml, const yaml_node_t *key, const char *what, const struct tb_yaml_field fields[])
{
    char shown[TB_YAML_SHOWN], meant[96];
    struct tb_nearest nearest = {.word = tb_yaml_raw(key)};
    for (const struct tb_yaml_field *field = fields; field->key; field++)
        tb_nearest_try(&nearest, field->key);
    return tb_yaml_refuse(yaml, key, "unknown key '%s' in %s%s", tb_yaml_shown(tb_yaml_raw(key), shown), what,
                          tb_nearest_say(&nearest, "", meant, sizeof meant));
}

int tb_yaml_fields(struct tb_yaml *yaml, yaml_node_t *map, const char *what, const struct tb_yaml_field fields[], void *object)
{
    yaml_node_t *values[TB_YAML_ITEMS_MAX] = {0};
    int rc = tb_yaml_want(yaml, map, what, YAML_MAPPING_NODE);
    for (size_t i = 0; !rc && i < tb_yaml_count(map); i++) {
        const yaml_node_t *key = tb_yaml_key_at(yaml, map, i);
        const struct tb_yaml_field *field = fields;
        while (field->key && strcmp(field->key, tb_yaml_raw(key)) != 0)
            field++;
        if (!field->key)
            rc = refuse_key(yaml, key, what, fields);
        values[field - fields] = tb_yaml_at(yaml, map, i);
    }
    for (const struct tb_yaml_field *field = fields; !rc && field->key; field++) {
        if (values[field - fields])
            rc = field->read(yaml, values[field - fields], field, object);
        else if (!field->optional)
            rc = tb_yaml_refuse(yaml, map, "%s has no key '%s'", what, field->key);
    }
    return rc;
}
