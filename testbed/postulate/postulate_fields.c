// SPDX-License-Identifier: Apache-2.0
//
// postulate_fields: from the tree of the front matter into the members of a struct, by a table; see postulate_yaml.h.

#include "testbed/postulate/postulate_yaml.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "testbed/base/cli.h"

static const char *const kind_names[] = {"one value", "a list", "a map"};

int tb_yaml_want(const struct tb_yaml_source *source, const struct tb_yaml *value, const char *what, enum tb_yaml_kind kind)
{
    if (value->kind == kind)
        return 0;
    return tb_yaml_bad(source, value->line, "'%s' is %s, and has to be %s", what, kind_names[value->kind], kind_names[kind]);
}

// [-]digits[.digits][e[+-]digits] and nothing else: no hexadecimal, no octal, no infinity.
static bool is_number(const char *text)
{
    text += *text == '-';
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || (digits > 1 && text[0] == '0'))
        return false;
    text += digits;
    if (*text == '.') {
        digits = strspn(++text, "0123456789");
        if (digits == 0)
            return false;
        text += digits;
    }
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        digits = strspn(text, "0123456789");
        if (digits == 0)
            return false;
        text += digits;
    }
    return *text == '\0';
}

// Plain words for which a reader of YAML has another meaning than the text: of version 1.1 as well as of 1.2.
static bool is_ambiguous(const char *text)
{
    static const char *const words[] = {"~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "-.inf", ".nan"};
    char *end;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    if (!isdigit((unsigned char)text[0]) && !strchr("+-.", text[0]))
        return false;
    strtod(text, &end);
    return end != text && *end == '\0';
}

int tb_yaml_text(const struct tb_yaml_source *source, const struct tb_yaml *value, const char *what, char *out, size_t bytes)
{
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, value, what, TB_YAML_SCALAR);
    if (rc)
        return rc;
    if (value->text[strspn(value->text, " \t\n")] == '\0')
        return tb_yaml_bad(source, value->line, "'%s' is empty", what);
    if (value->plain && is_ambiguous(value->text))
        return tb_yaml_bad(source, value->line, "'%s' has to be text: put %s in quotes", what, tb_yaml_shown(value->text, shown));
    if (strchr(value->text, '\n'))
        return tb_yaml_bad(source, value->line, "'%s' has to be one line", what);
    if (strlen(value->text) >= bytes)
        return tb_yaml_bad(source, value->line, "'%s' is longer than %zu bytes", what, bytes - 1);
    memcpy(out, value->text, strlen(value->text) + 1);
    return 0;
}

int tb_yaml_number(const struct tb_yaml_source *source, const struct tb_yaml *value, const char *what, double *out)
{
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, value, what, TB_YAML_SCALAR);
    if (rc)
        return rc;
    bool good = value->plain && is_number(value->text);
    if (good)
        *out = strtod(value->text, NULL);
    if (good && isfinite(*out))
        return 0;
    return tb_yaml_bad(source, value->line, "'%s' has to be a number, not %s%s", what,
                       value->plain ? "" : "text: ", value->text[0] ? tb_yaml_shown(value->text, shown) : "nothing");
}

int tb_yaml_field_text(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                       void *object)
{
    return tb_yaml_text(source, value, field->key, (char *)object + field->offset, field->bytes);
}

int tb_yaml_field_word(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                       void *object)
{
    char *word = (char *)object + field->offset, list[128] = "", shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, value, field->key, TB_YAML_SCALAR);
    if (rc)
        return rc;
    for (const char *const *known = field->words; *known; known++) {
        size_t used = strlen(list);
        if (strcmp(value->text, *known) == 0) {
            snprintf(word, field->bytes, "%s", *known);
            return 0;
        }
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", *known);
    }
    return tb_yaml_bad(source, value->line, "'%s' is '%s', and has to be %s%s", field->key, tb_yaml_shown(value->text, shown),
                       field->words[1] ? "one of " : "", list);
}

int tb_yaml_field_count(const struct tb_yaml_source *source, const struct tb_yaml *value, const struct tb_yaml_field *field,
                        void *object)
{
    uint64_t *out = (uint64_t *)((char *)object + field->offset);
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, value, field->key, TB_YAML_SCALAR);
    if (rc)
        return rc;
    bool digits = value->plain && is_number(value->text) && value->text[strspn(value->text, "0123456789")] == '\0';
    if (digits && tb_cli_u64(value->text, field->min, field->max, out))
        return 0;
    return tb_yaml_bad(source, value->line, "'%s' has to be a whole number from %llu to %llu, not %s%s", field->key,
                       (unsigned long long)field->min, (unsigned long long)field->max,
                       value->plain ? "" : "text: ", value->text[0] ? tb_yaml_shown(value->text, shown) : "nothing");
}

static const struct tb_yaml_field *field_find(const struct tb_yaml_field fields[], const char *key)
{
    for (; fields->key; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return NULL;
}

static const struct tb_yaml *member_find(const struct tb_yaml *map, const char *key)
{
    for (size_t i = 0; i < map->count; i++)
        if (strcmp(map->items[i].key, key) == 0)
            return &map->items[i];
    return NULL;
}

int tb_yaml_fields(const struct tb_yaml_source *source, const struct tb_yaml *map, const char *what,
                   const struct tb_yaml_field fields[], void *object)
{
    char shown[TB_YAML_SHOWN];
    int rc = tb_yaml_want(source, map, what, TB_YAML_MAP);
    for (size_t i = 0; !rc && i < map->count; i++)
        if (!field_find(fields, map->items[i].key))
            rc = tb_yaml_bad(source, map->items[i].key_line, "unknown key '%s' in %s", tb_yaml_shown(map->items[i].key, shown),
                             what);
    for (const struct tb_yaml_field *field = fields; !rc && field->key; field++) {
        const struct tb_yaml *value = member_find(map, field->key);
        if (value)
            rc = field->read(source, value, field, object);
        else if (!field->optional)
            rc = tb_yaml_bad(source, map->line, "%s has no key '%s'", what, field->key);
    }
    return rc;
}
