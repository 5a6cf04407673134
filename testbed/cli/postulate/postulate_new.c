// SPDX-License-Identifier: Apache-2.0
//
// locus postulate new: a file that teaches, made of postulate/TEMPLATE.md. Every key is there and explained, and what only the
// author can know is left empty, so that `check` refuses it until it is filled in.

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/file.h"
#include "testbed/base/share.h"
#include "testbed/cli/postulate/postulate.h"

#define TEMPLATE "postulate/TEMPLATE.md"
#define ID "\"NNNN\""
#define TITLE "\ntitle:"

static bool slug_good(const char *slug)
{
    size_t length = strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return length > 0 && length < 64 && slug[length] == '\0' && slug[0] != '-';
}

// One more than the highest number there is.
static int number_next(unsigned *out)
{
    struct tb_postulates all;
    int rc = tb_postulates_load(&all);
    *out = 1;
    for (size_t i = 0; i < all.count; i++) {
        unsigned long number = strtoul(all.files[i].path + strlen(TB_POSTULATES "/"), NULL, 10);
        if (number < 9999 && number >= *out)
            *out = (unsigned)number + 1;
    }
    tb_postulates_close(&all);
    if (rc)
        tb_error(TB_POSTULATES ": %s", strerror(-rc));
    return rc ? TB_EXIT_FAILED : TB_EXIT_OK;
}

// The new file's text, malloc'd: the template with the number and the title (quoted, or "") in their places. NULL after a report.
static char *compose(unsigned number, const char *title)
{
    char path[4096], why[1024], *template = NULL, *text = NULL;
    size_t bytes = 0;
    if (tb_share(TEMPLATE, path, sizeof path, why, sizeof why)) {
        tb_error("%s", why);
        return NULL;
    }
    int rc = tb_file_read(path, &template, &bytes);
    const char *id = rc ? NULL : memmem(template, bytes, ID, strlen(ID));
    const char *behind = id ? memmem(id, bytes - (size_t)(id - template), TITLE, strlen(TITLE)) : NULL;
    if (!behind) {
        tb_error("%s: it is no template: it needs the lines id: " ID " and title:", path);
    } else {
        const char *rest = id + strlen(ID);
        behind += strlen(TITLE);
        if (asprintf(&text, "%.*s\"%04u\"%.*s %s%.*s", (int)(id - template), template, number, (int)(behind - rest), rest, title,
                     (int)(template + bytes - behind), behind) < 0)
            text = NULL;
    }
    free(template);
    return text;
}

int tb_postulate_new(const char *slug, const char *title)
{
    char path[256];
    unsigned number;
    if (!slug_good(slug)) {
        tb_error("'%s': a slug is small letters, digits and '-', at most 63, such as glibc-on-churn", slug);
        return TB_EXIT_USAGE;
    }
    json_t *string = json_string(title ? title : "");
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL; // a JSON string is a quoted one of YAML
    json_decref(string);
    if (!quoted) {
        tb_error("--title: it is not UTF-8");
        return TB_EXIT_USAGE;
    }
    int status = number_next(&number);
    char *text = status ? NULL : compose(number, title ? quoted : "");
    if (text) {
        snprintf(path, sizeof path, TB_POSTULATES "/%04u-%s.md", number, slug);
        int rc = tb_file_create(path, text);
        if (rc)
            tb_error("%s: %s", path, tb_output_why(rc));
        status = rc ? TB_EXIT_FAILED : TB_EXIT_OK;
    }
    if (text && !status)
        printf("%s\nfill it in, then: locus postulate check %04u\n", path, number);
    free(text);
    free(quoted);
    return text ? status : TB_EXIT_FAILED;
}
