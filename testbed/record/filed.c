// SPDX-License-Identifier: Apache-2.0
//
// filed: see filed.h. Times are ISO 8601 in UTC, so the later text is the later time.
#include "testbed/record/filed.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/record/ledger.h"

static const char *text_of(const json_t *entry, const char *key)
{
    const char *text = json_string_value(json_object_get(entry, key));
    return text ? text : "";
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int host_load(const char *root, const char *name, struct tb_filed *out)
{
    struct tb_filed_host *host = &out->hosts[out->count];
    if ((size_t)snprintf(host->host, sizeof host->host, "%s", name) >= sizeof host->host ||
        (size_t)snprintf(host->path, sizeof host->path, "%s/%s/ledger.jsonl", root, name) >= sizeof host->path)
        return 0; // no host is called that
    int rc = tb_chain_load(host->path, &host->chain);
    if (rc == -ENOENT || rc == -ENOTDIR)
        return 0;
    out->count += !rc;
    return rc;
}

int tb_filed_load(const char *root, struct tb_filed *out)
{
    struct dirent **names = NULL;
    *out = (struct tb_filed){0};
    int found = scandir(root, &names, not_hidden, alphasort);
    if (found < 0)
        return errno == ENOENT ? 0 : -errno;
    out->hosts = calloc((size_t)found + 1, sizeof *out->hosts);
    int rc = out->hosts ? 0 : -ENOMEM;
    for (int i = 0; i < found; i++) {
        if (!rc)
            rc = host_load(root, names[i]->d_name, out);
        free(names[i]);
    }
    free(names);
    if (rc)
        tb_filed_close(out);
    return rc;
}

void tb_filed_close(struct tb_filed *filed)
{
    for (size_t i = 0; i < filed->count; i++)
        tb_chain_close(&filed->hosts[i].chain);
    free(filed->hosts);
    *filed = (struct tb_filed){0};
}

// The host's last entry that fits; it was appended last. Of filings only those that bind.
static const json_t *host_last(const struct tb_filed_host *host, const char *type, const char *key, const char *value)
{
    for (size_t i = host->chain.count; i-- > 0;) {
        const json_t *entry = host->chain.entries[i].object;
        bool fits = strcmp(text_of(entry, "t"), type) == 0 && strncmp(text_of(entry, key), value, strlen(value)) == 0;
        if (fits && (strcmp(type, "postulate") || tb_ledger_binds(&host->chain, i + 1)))
            return entry;
    }
    return NULL;
}

const json_t *tb_filed_last(const struct tb_filed *filed, const char *type, const char *key, const char *value,
                            const struct tb_filed_host **host)
{
    const json_t *last = NULL;
    for (size_t i = 0; i < filed->count; i++) {
        const json_t *entry = host_last(&filed->hosts[i], type, key, value);
        if (!entry || (last && strcmp(text_of(entry, "time"), text_of(last, "time")) <= 0))
            continue;
        last = entry;
        if (host)
            *host = &filed->hosts[i];
    }
    return last;
}

const struct tb_filed_host *tb_filed_otherwise(const struct tb_filed *filed, const char *id, const char *sha256)
{
    for (size_t i = 0; i < filed->count; i++) {
        const json_t *entry = host_last(&filed->hosts[i], "postulate", "id", id);
        if (entry && strcmp(text_of(entry, "sha256"), sha256) != 0)
            return &filed->hosts[i];
    }
    return NULL;
}
