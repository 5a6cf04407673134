// SPDX-License-Identifier: Apache-2.0
//
// import_file: what came, and what is at home. Whatever is at home must be the beginning of what came; then a folder is made of
// both, on the same file system, and takes the place of the one at home. The ledger stays locked from the first look on, so that
// no run goes on in the old one. Records go to experiments/ before that, because the new ledger names them: after a crash in
// between `locus verify` shows records that no ledger has, and to import once more finds them as they are.
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed/base/child.h"
#include "testbed/base/file.h"
#include "testbed/base/json.h"
#include "testbed/record/import/import.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"

#define PATH_ROOM (PATH_MAX + 400)

typedef void each_file(struct tb_import *import, const char *name);

static void for_each(struct tb_import *import, const char *folder, each_file *act)
{
    FTS *walk = tb_file_walk(folder);
    import->failed |= !walk;
    for (FTSENT *entry; walk && (entry = fts_read(walk));)
        if (entry->fts_info == FTS_F)
            act(import, entry->fts_path + strlen(folder) + 1);
    if (walk)
        fts_close(walk);
}

// --- does it go on? ------------------------------------------------------------------------------------------------------------

// Is the shorter file the beginning of the longer one? Their lengths, and 1 or 0, or -errno.
static int common(const char *here, const char *there, off_t bytes[2])
{
    static char room[2][1 << 16];
    const char *const paths[2] = {here, there};
    struct stat about;
    FILE *file[2] = {NULL};
    int rc = 1;
    for (int i = 0; i < 2 && rc == 1; i++) {
        file[i] = fopen(paths[i], "re");
        if (!file[i] || fstat(fileno(file[i]), &about))
            rc = -errno;
        bytes[i] = about.st_size;
    }
    off_t left = rc == 1 ? (bytes[0] < bytes[1] ? bytes[0] : bytes[1]) : 0;
    while (rc == 1 && left > 0) {
        size_t part = left < (off_t)sizeof room[0] ? (size_t)left : sizeof room[0];
        bool read = fread(room[0], 1, part, file[0]) == part && fread(room[1], 1, part, file[1]) == part;
        rc = !read ? -EIO : memcmp(room[0], room[1], part) == 0;
        left -= (off_t)part;
    }
    for (int i = 0; i < 2; i++)
        if (file[i])
            fclose(file[i]);
    return rc;
}

static bool ends_with(const char *text, const char *end)
{
    return strlen(text) >= strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0;
}

// What only home has: seals, and perf's raw data of runs that were made here.
static bool is_of_home(const char *name)
{
    bool seal = ends_with(name, "/" TB_PACKET_SEAL) || ends_with(name, "/" TB_PACKET_SIGNATURE);
    return (seal && strncmp(name, TB_PACKET_FOLDER "/", sizeof TB_PACKET_FOLDER) == 0) ||
           (strstr(name, ".perf/") && ends_with(name, ".data"));
}

static void other_ledger(struct tb_import *import, const char *here)
{
    struct tb_chain ours;
    if (tb_chain_load(here, &ours) == 0 && ours.broken_line)
        tb_import_found(import, "%s:%zu: %s: nothing comes to it (see: locus verify)", here, ours.broken_line, ours.broken);
    else
        tb_import_found(import,
                        "%s is here, and what came does not go on from it: there is another host called %s, which has to measure "
                        "under another name (--host NAME), or one of the two ledgers was written anew",
                        here, import->host);
    tb_chain_close(&ours);
}

static void compare(struct tb_import *import, const char *name)
{
    char here[PATH_ROOM], there[PATH_ROOM];
    off_t bytes[2] = {0};
    bool ledger = strcmp(name, "ledger.jsonl") == 0;
    snprintf(here, sizeof here, "%s/%.300s", import->to, name);
    snprintf(there, sizeof there, "%s/%.300s", import->folder, name);
    if (access(there, F_OK)) {
        if (!import->packet && !is_of_home(name))
            tb_import_found(import, "%s/%s is here, and %s has it no more: somebody took it away there", import->host, name,
                            import->host);
        return;
    }
    int rc = common(here, there, bytes);
    if (rc < 0)
        tb_import_found(import, "%s: %s", here, strerror(-rc));
    else if (!rc && ledger)
        other_ledger(import, here);
    else if (!rc)
        tb_import_found(import, "%s is here, and what came under that name does not begin with it: one of them was changed", here);
    else if (bytes[1] < bytes[0] && !import->older)
        tb_import_found(import, "%s has %lld bytes, and what came has %lld: what was written is never taken back", here,
                        (long long)bytes[0], (long long)bytes[1]);
    import->files_longer += bytes[1] > bytes[0];
}

static void count_new(struct tb_import *import, const char *name)
{
    char here[PATH_ROOM];
    snprintf(here, sizeof here, "%s/%.300s", import->to, name);
    import->files_new += !tb_record_below(name) && access(here, F_OK) != 0;
}

// A packet may be older than what is here: it is of a moment. A folder is what its host has now.
void tb_import_compare(struct tb_import *import)
{
    char here[PATH_ROOM], there[PATH_ROOM];
    off_t bytes[2] = {0};
    struct stat about;
    import->new_host = lstat(import->to, &about) != 0;
    if (!import->new_host && !S_ISDIR(about.st_mode)) {
        tb_import_found(import, "%s is here, and is no folder", import->to);
        return;
    }
    snprintf(here, sizeof here, "%s/ledger.jsonl", import->to);
    snprintf(there, sizeof there, "%s/ledger.jsonl", import->folder);
    import->older = import->packet && common(here, there, bytes) == 1 && bytes[1] < bytes[0];
    if (!import->new_host)
        for_each(import, import->to, compare);
    for_each(import, import->folder, count_new);
}

// --- bringing it home ----------------------------------------------------------------------------------------------------------

struct filing {
    struct tb_import *import;
    char *why;
    size_t why_bytes;
};

static int failed(struct filing *filing, const char *path, int rc)
{
    snprintf(filing->why, filing->why_bytes, "%s: %s", path, strerror(-rc));
    return rc;
}

// With renames that replace nothing where the file system has them.
static int rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL || access(to, F_OK) == 0)
        return errno == EINVAL ? -EEXIST : -errno;
    return rename(from, to) ? -errno : 0;
}

static int copy(struct filing *filing, const char *from, const char *to)
{
    char words[PATH_MAX];
    const char *const argv[] = {"cp", "-RPf", "--", from, to, NULL};
    snprintf(words, sizeof words, "%.4000s/.words", filing->import->below);
    return tb_child_tool(argv, words, filing->import->below, filing->why, filing->why_bytes);
}

// By a copy under another name, since experiments/ may lie on another file system. One that is here is the same (import.c).
static int record_place(struct filing *filing, const char *name)
{
    char from[PATH_ROOM], part[300];
    struct stat about;
    snprintf(from, sizeof from, "%s/%.250s", filing->import->folder, name);
    snprintf(part, sizeof part, "%.250s.part", name);
    if (lstat(name, &about) == 0 || access(from, F_OK))
        return 0;
    if (mkdir(TB_RECORD_FOLDER, 0777) && errno != EEXIST)
        return failed(filing, TB_RECORD_FOLDER, -errno);
    unlink(part); // of an import that crashed
    int rc = copy(filing, from, part);
    if (rc)
        return unlink(part), rc;
    rc = tb_child_sync(TB_RECORD_FOLDER);
    if (!rc)
        rc = rename_new(part, name);
    if (!rc)
        rc = tb_child_sync(TB_RECORD_FOLDER);
    return rc ? unlink(part), failed(filing, name, rc) : 0;
}

static int records_place(struct filing *filing)
{
    const struct tb_chain *ledger = &filing->import->ledger;
    char folder[PATH_ROOM];
    int rc = 0;
    for (size_t i = 0; i < ledger->count && !rc; i++)
        if (strcmp(tb_member_text(ledger->entries[i].object, "t"), "record") == 0)
            rc = record_place(filing, tb_member_text(ledger->entries[i].object, "path"));
    snprintf(folder, sizeof folder, "%s/" TB_RECORD_FOLDER, filing->import->folder);
    if (!rc)
        tb_child_remove(folder);
    return rc;
}

// What is at home, and over it what came: the longer files and the new ones.
static int unite(struct filing *filing, char new[PATH_MAX])
{
    struct tb_import *import = filing->import;
    char all[PATH_ROOM];
    snprintf(new, PATH_MAX, "%.4000s/.new", import->below);
    snprintf(all, sizeof all, "%s/ledger.jsonl", import->folder);
    if (import->older && unlink(all))
        return failed(filing, all, -errno);
    int rc = copy(filing, import->to, new);
    snprintf(all, sizeof all, "%s/.", import->folder);
    return rc ? rc : copy(filing, all, new);
}

// In one step, but on file systems that cannot exchange, as NFS.
static int exchange(struct filing *filing, const char *new)
{
    const char *to = filing->import->to;
    char old[PATH_MAX];
    snprintf(old, sizeof old, "%.4000s/.old", filing->import->below);
    int rc = renameat2(AT_FDCWD, new, AT_FDCWD, to, RENAME_EXCHANGE) ? -errno : 0;
    if (rc == -EINVAL || rc == -ENOSYS) {
        rc = rename(to, old) ? -errno : 0;
        if (!rc && rename(new, to)) {
            rc = -errno;
            rename(old, to);
        }
    }
    return rc ? failed(filing, to, rc) : 0;
}

static int place(struct filing *filing)
{
    const struct tb_import *import = filing->import;
    char new[PATH_MAX];
    int rc = import->new_host ? 0 : unite(filing, new);
    if (rc)
        return rc;
    rc = tb_child_sync(import->below);
    if (rc)
        return failed(filing, import->below, rc);
    if (!import->new_host)
        rc = exchange(filing, new);
    else if ((rc = rename_new(import->folder, import->to)))
        failed(filing, import->to, rc);
    return rc ? rc : (rc = tb_child_sync(import->config->root)) ? failed(filing, import->config->root, rc) : 0;
}

static int checkpoint_keep(struct filing *filing)
{
    const struct tb_import *import = filing->import;
    const char *text = tb_member_text(import->verified, "checkpoint");
    char path[PATH_MAX], new[PATH_MAX + 8];
    struct tb_journal *journal = NULL;
    snprintf(path, sizeof path, "%.3000s/%s", import->config->checkpoints, import->host);
    snprintf(new, sizeof new, "%s.new", path);
    unlink(new);
    int rc = tb_journal_open(&journal, &(struct tb_journal_config){.path = new, .create = true});
    if (!rc)
        rc = tb_journal_append(journal, text, strlen(text));
    if (!rc)
        rc = tb_journal_append(journal, "\n", 1);
    tb_journal_close(journal);
    if (!rc && rename(new, path))
        rc = -errno;
    if (!rc)
        rc = tb_child_sync(import->config->checkpoints);
    if (rc)
        snprintf(filing->why, filing->why_bytes,
                 "%s is home, but its checkpoint is not kept: %s: %s. Import it again when that is put right", import->host, path,
                 strerror(-rc));
    return rc;
}

int tb_import_file(struct tb_import *import, char *why, size_t why_bytes)
{
    struct filing filing = {.import = import, .why = why, .why_bytes = why_bytes};
    int rc = records_place(&filing);
    if (!rc && (import->new_host || import->files_new || import->files_longer))
        rc = place(&filing);
    if (!rc && import->config->checkpoints && !import->older)
        rc = checkpoint_keep(&filing);
    return rc;
}
