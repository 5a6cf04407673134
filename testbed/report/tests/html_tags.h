// SPDX-License-Identifier: Apache-2.0
//
// html_tags: the page of html_fixture.h read back, tag by tag.
#ifndef TB_HTML_TAGS_H
#define TB_HTML_TAGS_H

#include "testbed/report/tests/html_fixture.h"

// The value of an attribute in the tag that begins at `tag`, unescaped only as far as numbers and names need it.
static inline bool attribute(const char *tag, const char *name, char *out, size_t size)
{
    char pattern[600];
    const char *end = strchr(tag, '>');
    snprintf(pattern, sizeof pattern, " %s=\"", name);
    const char *at = strstr(tag, pattern);
    if (!at || at > end)
        return false;
    at += strlen(pattern);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

static inline double attribute_number(const char *tag, const char *name)
{
    char text[64], *end;
    cr_assert(attribute(tag, name, text, sizeof text), "no %s in %.80s", name, tag);
    double value = strtod(text, &end);
    return end > text && *end == '\0' ? value : NAN;
}

static inline void same_number(const char *tag, const char *name, const json_t *object, const char *member)
{
    double shown = attribute_number(tag, name), logged = tb_member_number(object, member);
    cr_assert((isnan(shown) && isnan(logged)) || shown == logged, "%s is %.17g, the log has %.17g", name, shown, logged);
}

// An interval's estimate and ends, as a row carries them; one that is exact has no ends.
static inline void same_interval(const char *tag, const char *name, const json_t *object, const char *member)
{
    char end[64];
    same_number(tag, name, object, member);
    for (int high = 0; high < 2; high++) {
        snprintf(end, sizeof end, "%s-%s", name, high ? "high" : "low");
        if (tb_member_number(object, "low") < tb_member_number(object, "high"))
            same_number(tag, end, object, high ? "high" : "low");
    }
}

static inline const char *must_find(const char *from, const char *text)
{
    const char *at = from ? strstr(from, text) : NULL;
    cr_assert(at, "%s is missing", text);
    return at;
}

static inline size_t occurrences(const char *text)
{
    size_t count = 0;
    for (const char *at = page; (at = strstr(at, text)); at += strlen(text))
        count++;
    return count;
}

struct open_tags {
    char name[64][16];
    size_t count;
};

// One tag, from '<' on. Returns what follows it. Attribute values are in double quotes and hold no '<'.
static inline const char *read_tag(struct open_tags *tags, const char *at)
{
    char name[16];
    bool closing = at[1] == '/';
    at += 1 + closing;
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789");
    cr_assert(length > 0 && length < sizeof name, "no tag: %.40s", at - 1);
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    for (at += length; *at != '>' && strncmp(at, "/>", 2); at++) {
        cr_assert(*at && *at != '<' && *at != '\'', "inside <%s>: %.40s", name, at);
        if (*at == '"') {
            const char *end = strpbrk(at + 1, "\"<");
            cr_assert(end && *end == '"', "a value of <%s> does not end: %.40s", name, at);
            at = end;
        }
    }
    if (closing) {
        cr_assert(tags->count > 0 && strcmp(tags->name[--tags->count], name) == 0, "</%s> closes <%s>", name,
                  tags->name[tags->count]);
    } else if (*at != '/') {
        cr_assert_lt(tags->count, 64);
        strcpy(tags->name[tags->count++], name);
    }
    return at + 1 + (*at == '/');
}

static inline void well_formed(void)
{
    static const char doctype[] = "<!DOCTYPE html>\n";
    struct open_tags tags = {.count = 0};
    cr_assert_eq(strncmp(page, doctype, strlen(doctype)), 0);
    cr_assert_eq(strlen(page), page_bytes);
    for (const char *at = page + strlen(doctype); *at;) {
        cr_assert(*at != '>' || (tags.count > 0 && strcmp(tags.name[tags.count - 1], "style") == 0), "a bare '>': %.40s", at);
        cr_assert(*at != '&' || isalpha((unsigned char)at[1]) || at[1] == '#', "a bare '&': %.40s", at);
        at = *at == '<' ? read_tag(&tags, at) : at + 1;
    }
    cr_assert_eq(tags.count, 0);
}

#endif
