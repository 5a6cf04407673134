// SPDX-License-Identifier: Apache-2.0
//
// witness: the checkpoint's text, and the tag that carries it. Git is asked, which holds the keys and knows how to sign with them.
// The message goes in verbatim: what git would tidy up in it would no longer be what was hashed elsewhere.
#include "testbed/record/witness/witness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/base/words.h"
#include "testbed/record/git.h"

#define REFERENCE "refs/tags/"

char *tb_witness_text(const json_t *hosts, const char *commit)
{
    char *text = NULL;
    size_t bytes, i;
    const json_t *host;
    FILE *stream = open_memstream(&text, &bytes);
    if (!stream)
        return NULL;
    if (*commit)
        fprintf(stream, "commit %s\n", commit);
    json_array_foreach (hosts, i, host)
        fprintf(stream, "%s\n", tb_member_text(host, "checkpoint"));
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

// --- tags ----------------------------------------------------------------------------------------------------------------------

// Git says last what matters: "fatal: tag 'x' already exists". gpg and ssh speak before.
static void last_line(const char *text, char *out, size_t bytes)
{
    size_t end = text ? strlen(text) : 0;
    while (end && (text[end - 1] == '\n' || text[end - 1] == ' '))
        end--;
    size_t begin = end;
    while (begin && text[begin - 1] != '\n')
        begin--;
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)(end - begin), text ? text + begin : "");
    tb_text_clean(line, false, out, bytes);
}

int tb_witness_tag_make(const char *name, const char *commit, const char *text, bool sign, char *why, size_t why_bytes)
{
    const char *const arguments[] = {"tag", sign ? "-s" : "--no-sign", "-a", "--cleanup=verbatim", "-F", "-", name, commit, NULL};
    char *words = NULL;
    int rc = tb_git_tell(arguments, text, &words);
    if (rc == -ECHILD)
        last_line(words, why, why_bytes);
    else if (rc)
        snprintf(why, why_bytes, "git: %s", strerror(-rc));
    free(words);
    return rc;
}

// "object ID", "type commit", ..., an empty line, the message, and perhaps "-----BEGIN ... SIGNATURE-----".
static int tag_parse(char *object, struct tb_witness_tag *out)
{
    char *message = strstr(object, "\n\n"), *signature = NULL;
    if (sscanf(object, "object %64[0-9a-f]", out->commit) != 1 || !strstr(object, "\ntype commit\n") || !message)
        return -ENOENT;
    message += 2;
    for (char *at = message; (at = strstr(at, "-----BEGIN ")) && !signature; at++)
        signature = at == message || at[-1] == '\n' ? at : NULL;
    if (signature)
        *signature = '\0';
    out->is_signed = signature != NULL;
    out->text = strdup(message);
    return out->text ? 0 : -ENOMEM;
}

int tb_witness_tag_read(const char *name, struct tb_witness_tag *out)
{
    char reference[512], *object = NULL, *words = NULL;
    *out = (struct tb_witness_tag){.text = NULL};
    if (snprintf(reference, sizeof reference, REFERENCE "%s", name) >= (int)sizeof reference)
        return -ENOENT;
    const char *const show[] = {"cat-file", "tag", reference, NULL}, *const check[] = {"verify-tag", reference, NULL};
    int rc = tb_git(NULL, show, &object);
    if (rc == -ECHILD)
        rc = -ENOENT;
    if (!rc)
        rc = tag_parse(object, out);
    if (!rc && out->is_signed) {
        int answer = tb_git_tell(check, "", &words);
        out->holds = answer == 0;
        rc = answer == -ECHILD ? 0 : answer;
        last_line(words, out->words, sizeof out->words);
    }
    free(words);
    free(object);
    return rc;
}

void tb_witness_tag_close(struct tb_witness_tag *tag)
{
    free(tag->text);
    *tag = (struct tb_witness_tag){.text = NULL};
}
