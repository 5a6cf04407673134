// SPDX-License-Identifier: Apache-2.0
//
// locus postulate new: a file that teaches, made of postulate/TEMPLATE.md. Every key is there and explained, and what only the
// author can know is left empty, so that `check` refuses it until it is filled in.

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// The template's text, malloc'd, or NULL after a report.
static char *template_read(void)
{
    char path[4096], why[1024], *text = NULL;
    size_t room = 0;
    if (tb_share(TEMPLATE, path, sizeof path, why, sizeof why)) {
        tb_error("%s", why);
        return NULL;
    }
    FILE *in = fopen(path, "re");
    const char *id = in && getdelim(&text, &room, '\0', in) > 0 ? strstr(text, ID) : NULL;
    if (id && strstr(id, TITLE)) {
        fclose(in);
        return text;
    }
    tb_error("%s: it is no template: it needs the lines id: " ID " and title:", path);
    free(text);
    if (in)
        fclose(in);
    return NULL;
}

// The template with the number and the title (quoted, or "") in their places.
static int template_fill(FILE *out, const char *template, unsigned number, const char *title)
{
    const char *id = strstr(template, ID), *behind = strstr(id, TITLE) + strlen(TITLE);
    const char *rest = id + strlen(ID);
    return fprintf(out, "%.*s\"%04u\"%.*s %s%s", (int)(id - template), template, number, (int)(behind - rest), rest, title, behind);
}

static int write_new(const char *path, const char *template, unsigned number, const char *title)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file) {
        tb_error("%s: %s", path, strerror(errno));
        return TB_EXIT_FAILED;
    }
    bool failed = template_fill(file, template, number, title) < 0;
    failed |= fclose(file) != 0;
    if (!failed)
        return TB_EXIT_OK;
    tb_error("%s: %s", path, tb_output_why(-errno));
    unlink(path);
    return TB_EXIT_FAILED;
}

int tb_postulate_new(const char *slug, const char *title)
{
    char path[256];
    unsigned number;
    if (!slug_good(slug)) {
        tb_error("'%s': a slug is small letters, digits and '-', at most 63, such as glibc-on-churn", slug);
        return TB_EXIT_USAGE;
    }
    json_t *text = json_string(title ? title : "");
    char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY) : NULL; // a JSON string is a quoted one of YAML
    char *template = quoted ? template_read() : NULL;
    int status = !quoted ? TB_EXIT_USAGE : template ? number_next(&number) : TB_EXIT_FAILED;
    if (!quoted)
        tb_error("--title: it is not UTF-8");
    if (!status) {
        snprintf(path, sizeof path, TB_POSTULATES "/%04u-%s.md", number, slug);
        status = write_new(path, template, number, title ? quoted : "");
    }
    if (!status)
        printf("%s\nfill it in, then: locus postulate check %04u\n", path, number);
    free(template);
    free(quoted);
    json_decref(text);
    return status;
}
