// SPDX-License-Identifier: Apache-2.0
//
// postulate_yaml: libyaml's events, made a tree; see postulate_yaml.h.
//
// The event interface is used because the document interface has resolved aliases and forgotten duplicates by the time one sees
// it. Everything is bounded before it is read: the depth, because the tree is built by recursion, and the items of one collection,
// because keys are compared with each other.
#include "testbed/postulate/postulate_yaml.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "testbed/base/words.h"

struct reader {
    const struct tb_yaml_source *source;
    yaml_parser_t parser;
    unsigned line; // of the text's first line in the file
};

int tb_yaml_bad(const struct tb_yaml_source *source, unsigned line, const char *format, ...)
{
    va_list arguments;
    char *text = source->why->text;
    size_t size = sizeof source->why->text;
    int used = snprintf(text, size, "%s:%u: ", source->path, line);
    if (used >= 0 && (size_t)used < size) {
        va_start(arguments, format);
        vsnprintf(text + used, size - (size_t)used, format, arguments);
        va_end(arguments);
    }
    return -EINVAL;
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

// --- the tree ---

static void node_clear(struct tb_yaml *node)
{
    for (size_t i = 0; i < node->count; i++)
        node_clear(&node->items[i]);
    free(node->items);
    free(node->key);
    free(node->text);
}

void tb_yaml_close(struct tb_yaml *root)
{
    if (root)
        node_clear(root);
    free(root);
}

static unsigned line_of(const struct reader *reader, yaml_mark_t mark)
{
    return reader->line + (unsigned)mark.line;
}

// The caller deletes the event, unless this fails.
static int next(struct reader *reader, yaml_event_t *event)
{
    yaml_parser_t *parser = &reader->parser;
    if (yaml_parser_parse(parser, event))
        return 0;
    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    return tb_yaml_bad(reader->source, line_of(reader, parser->problem_mark), "not YAML: %s",
                       parser->problem ? parser->problem : "cannot be read");
}

static int scalar_copy(const struct reader *reader, const yaml_event_t *event, char **out)
{
    const char *text = (const char *)event->data.scalar.value, *what;
    size_t bytes = event->data.scalar.length;
    if (tb_yaml_unclean(text, bytes, &what))
        return tb_yaml_bad(reader->source, line_of(reader, event->start_mark), "%s, written as an escape", what);
    *out = strndup(text, bytes);
    return *out ? 0 : -ENOMEM;
}

// Nothing may stand for something else.
static int refuse_indirection(const struct reader *reader, const yaml_event_t *event)
{
    unsigned line = line_of(reader, event->start_mark);
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT: return tb_yaml_bad(reader->source, line, "an alias (*name): write the value itself, or quote the text");
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default: return tb_yaml_bad(reader->source, line, "a value is missing");
    }
    if (anchor)
        return tb_yaml_bad(reader->source, line, "an anchor (&name): write the value itself, or quote the text");
    return tag ? tb_yaml_bad(reader->source, line, "a tag (!name): write the value itself, or quote the text") : 0;
}

static int item_add(const struct reader *reader, struct tb_yaml *node, unsigned line, struct tb_yaml **out)
{
    if (node->count == TB_YAML_ITEMS_MAX)
        return tb_yaml_bad(reader->source, line, "more than %d entries", TB_YAML_ITEMS_MAX);
    struct tb_yaml *items = realloc(node->items, (node->count + 1) * sizeof *items);
    if (!items)
        return -ENOMEM;
    node->items = items;
    *out = &items[node->count++];
    **out = (struct tb_yaml){.line = line};
    return 0;
}

static int key_read(const struct reader *reader, const yaml_event_t *event, const struct tb_yaml *map, struct tb_yaml *member)
{
    char shown[TB_YAML_SHOWN];
    int rc = refuse_indirection(reader, event);
    member->key_line = line_of(reader, event->start_mark);
    if (!rc && event->type != YAML_SCALAR_EVENT)
        rc = tb_yaml_bad(reader->source, member->key_line, "a key that is a list or a map");
    if (!rc)
        rc = scalar_copy(reader, event, &member->key);
    for (size_t i = 0; !rc && i + 1 < map->count; i++)
        if (strcmp(map->items[i].key, member->key) == 0)
            rc = tb_yaml_bad(reader->source, member->key_line, "'%s' is there twice (first in line %u)",
                             tb_yaml_shown(member->key, shown), map->items[i].key_line);
    return rc;
}

static int node_read(struct reader *reader, const yaml_event_t *event, unsigned depth, struct tb_yaml *out);

// The items up to the collection's end.
static int items_read(struct reader *reader, yaml_event_type_t end, unsigned depth, struct tb_yaml *node)
{
    int rc = 0;
    bool ended = false;
    while (!rc && !ended) {
        struct tb_yaml *item = NULL;
        yaml_event_t event;
        rc = next(reader, &event);
        if (rc)
            return rc;
        ended = event.type == end;
        if (!ended)
            rc = item_add(reader, node, line_of(reader, event.start_mark), &item);
        if (!rc && !ended && node->kind == TB_YAML_MAP) {
            rc = key_read(reader, &event, node, item);
            yaml_event_delete(&event);
            if (!rc)
                rc = next(reader, &event);
            if (rc)
                return rc;
        }
        if (!rc && !ended)
            rc = node_read(reader, &event, depth + 1, item);
        yaml_event_delete(&event);
    }
    return rc;
}

static int node_read(struct reader *reader, const yaml_event_t *event, unsigned depth, struct tb_yaml *out)
{
    int rc = refuse_indirection(reader, event);
    out->line = line_of(reader, event->start_mark);
    if (!rc && depth > TB_YAML_DEPTH_MAX)
        rc = tb_yaml_bad(reader->source, out->line, "nested deeper than %d", TB_YAML_DEPTH_MAX);
    if (rc)
        return rc;
    if (event->type == YAML_SCALAR_EVENT) {
        out->kind = TB_YAML_SCALAR;
        out->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return scalar_copy(reader, event, &out->text);
    }
    bool map = event->type == YAML_MAPPING_START_EVENT;
    out->kind = map ? TB_YAML_MAP : TB_YAML_LIST;
    return items_read(reader, map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, depth, out);
}

// --- the document ---

// The next event has to be of this type. A document marker that is written out, or a directive, is one document too many.
static int expect(struct reader *reader, yaml_event_type_t type)
{
    yaml_event_t event;
    int rc = next(reader, &event);
    if (rc)
        return rc;
    bool good = event.type == type;
    if (event.type == YAML_DOCUMENT_START_EVENT)
        good = good && event.data.document_start.implicit;
    if (event.type == YAML_DOCUMENT_END_EVENT)
        good = good && event.data.document_end.implicit;
    if (!good)
        rc = tb_yaml_bad(reader->source, line_of(reader, event.start_mark),
                         event.type == YAML_STREAM_END_EVENT ? "nothing between the two lines '---'"
                                                             : "a second document, a directive or a document's end");
    yaml_event_delete(&event);
    return rc;
}

static int root_read(struct reader *reader, struct tb_yaml *root)
{
    yaml_event_t event;
    int rc = expect(reader, YAML_STREAM_START_EVENT);
    if (!rc)
        rc = expect(reader, YAML_DOCUMENT_START_EVENT);
    if (!rc)
        rc = next(reader, &event);
    if (rc)
        return rc;
    rc = node_read(reader, &event, 0, root);
    yaml_event_delete(&event);
    if (!rc)
        rc = expect(reader, YAML_DOCUMENT_END_EVENT);
    return rc ? rc : expect(reader, YAML_STREAM_END_EVENT);
}

int tb_yaml_parse(const struct tb_yaml_source *source, unsigned line, const char *text, size_t bytes, struct tb_yaml **out)
{
    struct reader reader = {.source = source, .line = line};
    struct tb_yaml *root = calloc(1, sizeof *root);
    *out = NULL;
    if (!root)
        return -ENOMEM;
    if (!yaml_parser_initialize(&reader.parser)) {
        free(root);
        return -ENOMEM;
    }
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, bytes);
    int rc = root_read(&reader, root);
    yaml_parser_delete(&reader.parser);
    if (rc)
        tb_yaml_close(root);
    else
        *out = root;
    return rc;
}
