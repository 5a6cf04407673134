// SPDX-License-Identifier: Apache-2.0
//
// peer: see peer.h. The folder is read on each call, so a peer exists as soon as its file does.

#include "testbed/measure/peers/peer.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "build/peers"
#define ENDING ".so"
#define TUNED "-tuned"

static const struct family {
    const char *begins, *tuned; // the name of a peer, and the contender whose settings NAME-VERSION-tuned has
} families[] = {{"mimalloc-", "mimalloc" TUNED}, {"jemalloc-", "jemalloc" TUNED}, {"tcmalloc-", "tcmalloc" TUNED}};

static const char *folder(void)
{
    const char *named = getenv("LOCUS_PEERS");
    return named && *named ? named : FOLDER;
}

// If it is the name of a peer: its family, and where "-tuned" or the end is. Else NULL, and the end.
static const struct family *family_of(const char *name, const char **ending)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const char *version = name + strlen(families[i].begins);
        if (strncmp(name, families[i].begins, strlen(families[i].begins)))
            continue;
        *ending = version + strspn(version, "0123456789.");
        if (*ending > version && (!**ending || strcmp(*ending, TUNED) == 0))
            return &families[i];
    }
    *ending = name + strlen(name);
    return NULL;
}

bool tb_peer_name(const char *name)
{
    return family_of(name, &(const char *){NULL}) != NULL;
}

const char *tb_peer_contender(const char *name)
{
    const char *ending;
    const struct family *family = family_of(name, &ending);
    return family && *ending ? family->tuned : "malloc";
}

int tb_peer_find(const char *name, char *library, size_t bytes, char *why, size_t why_bytes)
{
    char path[PATH_MAX];
    const char *ending;
    family_of(name, &ending);
    int length = (int)(ending - name);
    if (!*name || strchr(name, '/') || snprintf(path, sizeof path, "%s/%.*s" ENDING, folder(), length, name) >= (int)sizeof path)
        return -ENOENT;
    char *resolved = realpath(path, NULL);
    int error = resolved ? 0 : -ENOENT;
    if (resolved && (size_t)snprintf(library, bytes, "%s", resolved) >= bytes) {
        snprintf(why, why_bytes, "contender %s: the path of %s is too long", name, folder());
        error = -ENAMETOOLONG;
    }
    free(resolved);
    if (error == -ENOENT && snprintf(path, sizeof path, "%s/%.*s.refused", folder(), length, name) < (int)sizeof path &&
        access(path, F_OK) == 0) {
        snprintf(why, why_bytes, "contender %s: this machine's libraries refuse it (make peers says what it needs)", name);
        error = -ENODEV;
    }
    return error;
}

static int is_library(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name), ending = strlen(ENDING);
    return length > ending && entry->d_name[0] != '.' && strcmp(entry->d_name + length - ending, ENDING) == 0;
}

void tb_peer_list(FILE *out, int indent)
{
    struct dirent **entries = NULL;
    int count = scandir(folder(), &entries, is_library, versionsort);
    for (int i = 0; i < count; i++) {
        char *name = entries[i]->d_name;
        name[strlen(name) - strlen(ENDING)] = '\0';
        fprintf(out, "  %-*s", indent - 2, name);
        char *version = strrchr(name, '-');
        if (version)
            *version = ' ';
        fprintf(out, "%s, default settings (make peers)\n", name);
        free(entries[i]);
    }
    free(entries);
    if (count > 0)
        fprintf(out, "  %-*sone of these with the settings of NAME-tuned\n", indent - 2, "NAME-VERSION-tuned");
    else
        fprintf(out, "  %-*snewer mallocs, by version: run make peers\n", indent - 2, "NAME-VERSION");
}
