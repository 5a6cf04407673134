// SPDX-License-Identifier: Apache-2.0
//
// rows: most of a sample's text is the names of its members, which are the same in all samples of a log, and most of the rest is
// null. Both are told once, as a shape. null, true, false, {} and [] say no more than what kind of value there is, so they count as
// part of the shape: a sample in which another member is null just has another one. So is it that counters which were on together
// have the same times: half of a row would be these. Other numbers may be equal by chance, and would make shapes without end.
//
// A shape is read into steps: open an object, put a value into it, close it. Paths of one object follow each other, as they were
// made, so no object needs to be looked up for each value.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/record/rows.h"

// --- a sample into a row -------------------------------------------------------------------------------------------------------

struct making {
    json_t *of;
    FILE *values;
    bool fixed;
    const json_t *time; // the last of a counter that is in the row, and its path
    char *time_path;
};

// The fewest digits that give the same number again; jansson would always write 17. With a dot or an exponent it is read as a real.
static void put_real(FILE *out, double value)
{
    char text[40];
    int digits = 15;
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && digits++ < 17);
    fprintf(out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static int put_value(FILE *out, const json_t *value)
{
    fputc(',', out);
    if (!json_is_real(value))
        return json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY) ? -ENOMEM : 0;
    put_real(out, json_real_value(value));
    return 0;
}

static bool is_only_a_kind(const json_t *value)
{
    return json_is_null(value) || json_is_boolean(value) || (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

static bool has_paths(const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)object, key, value)
        if (!*key || strchr(key, '.'))
            return false;
    return json_object_size(object) > 0;
}

static bool is_time(const char *key)
{
    return strcmp(key, "enabled_ns") == 0 || strcmp(key, "running_ns") == 0;
}

static int put_member(struct making *making, const char *path, const char *key, const json_t *value)
{
    json_t *entry;
    bool time = making->fixed && is_time(key) && json_is_integer(value);
    if (making->fixed && is_only_a_kind(value))
        return json_array_append_new(making->of, json_pack("[s, O]", path, value)) ? -ENOMEM : 0;
    if (time && making->time && json_equal(value, making->time)) {
        entry = json_pack("[s, s, s]", path, "=", making->time_path);
        return json_array_append_new(making->of, entry) ? -ENOMEM : 0;
    }
    if (time) {
        free(making->time_path);
        making->time = value;
        making->time_path = strdup(path);
    }
    if ((time && !making->time_path) || json_array_append_new(making->of, json_string(path)))
        return -ENOMEM;
    return put_value(making->values, value);
}

static int flatten(struct making *making, const char *above, int depth, const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)object, key, value) {
        char *path;
        if (depth == 0 && strcmp(key, "t") == 0) // that it is a sample, its being a row says
            continue;
        if (asprintf(&path, "%s%s%s", above, *above ? "." : "", key) < 0)
            return -ENOMEM;
        int error = depth < TB_ROW_DEPTH && has_paths(value) ? flatten(making, path, depth + 1, value)
                                                             : put_member(making, path, key, value);
        free(path);
        if (error)
            return error;
    }
    return 0;
}

int tb_row_make(const json_t *sample, bool fixed, json_t **of, char **values)
{
    size_t bytes;
    if (!has_paths(sample) || strcmp(tb_member_text(sample, "t"), "s"))
        return -EINVAL;
    *values = NULL;
    struct making making = {.of = json_array(), .values = open_memstream(values, &bytes), .fixed = fixed};
    int error = making.of && making.values ? flatten(&making, "", 0, sample) : -ENOMEM;
    if (making.values && fclose(making.values) && !error)
        error = -ENOMEM;
    free(making.time_path);
    if (error) {
        json_decref(making.of);
        free(*values);
        return error;
    }
    *of = making.of;
    return 0;
}

// --- a row into a sample -------------------------------------------------------------------------------------------------------

enum step_kind {
    OPEN,
    CLOSE,
    VALUE,
    FIXED,
};

struct step {
    enum step_kind kind;
    const char *key;    // in the shape's `paths`
    const json_t *fixed;
    size_t column;      // of a value, in the row
};

struct tb_shape {
    json_t *of;
    char **paths;       // one an entry, their dots made NULs
    struct step *steps;
    size_t steps_count, values;
};

// A shape while it is read: which objects are open, and what they have so far.
struct reading {
    json_t *objects[TB_ROW_DEPTH + 1];
    const char *keys[TB_ROW_DEPTH + 1];
    int depth;
};

// The array grows when its count is a power of two, so that its capacity need not be kept.
static int step_add(struct tb_shape *shape, struct step step)
{
    size_t count = shape->steps_count;
    if ((count & (count - 1)) == 0) {
        struct step *grown = realloc(shape->steps, (count ? 2 * count : 1) * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        shape->steps = grown;
    }
    shape->steps[shape->steps_count++] = step;
    return 0;
}

// A member of the innermost open object, which must not be there yet.
static int member_add(struct tb_shape *shape, struct reading *reading, struct step step)
{
    json_t *object = reading->objects[reading->depth], *value = step.kind == OPEN ? json_object() : json_null();
    if (!*step.key || json_object_get(object, step.key)) {
        json_decref(value);
        return -EINVAL;
    }
    if (json_object_set_new(object, step.key, value))
        return -ENOMEM;
    if (step.kind == OPEN) {
        reading->objects[++reading->depth] = value;
        reading->keys[reading->depth] = step.key;
    }
    return step_add(shape, step);
}

// Closes what is open and not on the path, opens what is on it and not open, adds the member.
static int path_add(struct tb_shape *shape, struct reading *reading, char *path, struct step step)
{
    int depth = 0, error = 0;
    char *key = path, *dot;
    for (; (dot = strchr(key, '.')) && depth < reading->depth; key = dot + 1, depth++) {
        *dot = '\0';
        if (strcmp(key, reading->keys[depth + 1])) {
            *dot = '.';
            break;
        }
    }
    for (; !error && reading->depth > depth; reading->depth--)
        error = step_add(shape, (struct step){.kind = CLOSE});
    for (; !error && (dot = strchr(key, '.')); key = dot + 1) {
        *dot = '\0';
        error = reading->depth < TB_ROW_DEPTH ? member_add(shape, reading, (struct step){.kind = OPEN, .key = key}) : -EINVAL;
    }
    step.key = key;
    return error ? error : member_add(shape, reading, step);
}

// The column of the member with this path, or 0: none of the first `count` entries.
static size_t column_of(const json_t *of, size_t count, const char *path)
{
    size_t column = 0;
    for (size_t i = 0; i < count; i++) {
        const char *other = json_string_value(json_array_get(of, i));
        column += other != NULL;
        if (other && path && strcmp(other, path) == 0)
            return column;
    }
    return 0;
}

static int entry_add(struct tb_shape *shape, struct reading *reading, size_t number)
{
    const json_t *entry = json_array_get(shape->of, number);
    size_t parts = json_array_size(entry); // of a string 0
    const char *path = json_string_value(parts ? json_array_get(entry, 0) : entry);
    struct step step = {.kind = parts == 2 ? FIXED : VALUE, .fixed = json_array_get(entry, 1)};
    if (parts == 0)
        step.column = ++shape->values;
    else if (parts == 3)
        step.column = column_of(shape->of, number, json_string_value(json_array_get(entry, 2)));
    if (!path || (step.kind == VALUE && !step.column))
        return -EINVAL;
    shape->paths[number] = strdup(path);
    return shape->paths[number] ? path_add(shape, reading, shape->paths[number], step) : -ENOMEM;
}

int tb_shape_make(struct tb_shape **out, const json_t *of)
{
    struct tb_shape *shape = calloc(1, sizeof *shape);
    struct reading reading = {.objects = {json_pack("{s:n}", "t")}}; // a row has a "t" of its own
    int error = !json_is_array(of) ? -EINVAL : shape && reading.objects[0] ? 0 : -ENOMEM;
    if (!error) {
        shape->of = json_deep_copy(of);
        shape->paths = calloc(json_array_size(of) + 1, sizeof *shape->paths);
        error = shape->of && shape->paths ? 0 : -ENOMEM;
    }
    for (size_t i = 0; !error && i < json_array_size(shape->of); i++)
        error = entry_add(shape, &reading, i);
    json_decref(reading.objects[0]);
    if (error)
        tb_shape_free(shape);
    else
        *out = shape;
    return error;
}

void tb_shape_free(struct tb_shape *shape)
{
    if (!shape)
        return;
    for (size_t i = 0; shape->paths && i < json_array_size(shape->of); i++)
        free(shape->paths[i]);
    free(shape->paths);
    free(shape->steps);
    json_decref(shape->of);
    free(shape);
}

int tb_shape_sample(const struct tb_shape *shape, const json_t *row, json_t **sample)
{
    json_t *objects[TB_ROW_DEPTH + 1] = {json_pack("{s:s}", "t", "s")};
    size_t depth = 0;
    int failed = !objects[0];
    if (failed || json_array_size(row) != 1 + shape->values) {
        json_decref(objects[0]);
        return failed ? -ENOMEM : -EINVAL;
    }
    for (const struct step *step = shape->steps; !failed && step < shape->steps + shape->steps_count; step++) {
        json_t *into = objects[depth], *value = NULL;
        switch (step->kind) {
        case OPEN: objects[++depth] = value = json_object(); break;
        case CLOSE: depth--; continue;
        case VALUE: value = json_incref(json_array_get(row, step->column)); break;
        case FIXED: value = json_deep_copy(step->fixed); break; // whoever changes one sample changes no other
        }
        failed = json_object_set_new_nocheck(into, step->key, value);
    }
    if (failed) {
        json_decref(objects[0]);
        return -ENOMEM;
    }
    *sample = objects[0];
    return 0;
}
