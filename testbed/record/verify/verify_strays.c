// SPDX-License-Identifier: Apache-2.0
//
// verify_strays: files that lie in the record, and that nothing of it names. A ledger names logs, records, and what its packets
// sealed; a run's profile lies beside its log. Whatever else is there was put there by somebody, and whoever reads the record might
// take it for a part of it.
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "testbed/base/file.h"
#include "testbed/record/ledger.h"
#include "testbed/record/names.h"
#include "testbed/record/packet/packet.h"
#include "testbed/record/verify/verify_internal.h"

// False: the walk cannot go on, and that was said.
static bool walked(struct verify *verify, const FTSENT *entry)
{
    if (entry->fts_info != FTS_DNR && entry->fts_info != FTS_ERR)
        return true;
    tb_verify_impossible(verify, -entry->fts_errno, "%s: %s", entry->fts_path, strerror(entry->fts_errno));
    return false;
}

static bool is_file(const FTSENT *entry)
{
    return entry->fts_info != FTS_D && entry->fts_info != FTS_DP;
}

// --- below a host's folder -----------------------------------------------------------------------------------------------------

// By the first `length` bytes of its log's path.
static bool has_run(const struct verify_host *host, const char *path, size_t length)
{
    for (size_t i = 0; i < host->runs_count; i++)
        if (strncmp(host->runs[i].log, path, length) == 0 && strcmp(host->runs[i].log + length, ".jsonl") == 0)
            return true;
    return false;
}

// LOG.perf/: as `locus run` names perf's reports (run/profile.c), of a run that is in the ledger.
static bool is_profile(const struct verify_host *host, const char *path)
{
    static const char *const names[] = {"profile.txt", "?*.[0-9]*.record.*", "?*.[0-9]*.c2c.*", "?*.[0-9]*.mem.*"};
    const char *slash = strrchr(path, '/');
    size_t length = (size_t)(slash - path);
    bool known = length > 5 && strncmp(slash - 5, ".perf", 5) == 0 && has_run(host, path, length - 5);
    for (size_t i = 0; i < sizeof names / sizeof *names && known; i++)
        if (fnmatch(names[i], slash + 1, FNM_PERIOD) == 0)
            return true;
    return false;
}

static bool is_sealed(const struct verify_host *host, const char *name)
{
    char seal[300], signature[300];
    for (size_t i = 0; i < host->chain.count; i++) {
        const json_t *entry = host->chain.entries[i].object;
        if (strcmp(tb_member_text(entry, "t"), "packet"))
            continue;
        snprintf(seal, sizeof seal, TB_PACKET_FOLDER "/%.200s/" TB_PACKET_SEAL, tb_member_text(entry, "packet"));
        snprintf(signature, sizeof signature, TB_PACKET_FOLDER "/%.200s/" TB_PACKET_SIGNATURE, tb_member_text(entry, "packet"));
        if (strcmp(name, seal) == 0 || strcmp(name, signature) == 0 || json_object_get(json_object_get(entry, "files"), name))
            return true;
    }
    return false;
}

static bool is_named(const struct verify_host *host, const char *path, const char *name)
{
    for (size_t i = 0; i < host->runs_count; i++)
        if (strcmp(host->runs[i].log, path) == 0)
            return true;
    return strcmp(path, host->ledger) == 0 || is_sealed(host, name) || is_profile(host, path);
}

// Records that come with a packet lie in the host's folder on their way: importing asks about these itself. An empty log is of a
// process that died before it opened its run. A folder without a ledger is no host's, but for a log in it.
static void host_file(struct verify *verify, const struct verify_host *host, const FTSENT *entry, const char *name)
{
    const char *path = entry->fts_path;
    bool log = fnmatch("?*.jsonl", entry->fts_name, 0) == 0, empty = entry->fts_statp->st_size == 0;
    if (is_named(host, path, name) || (verify->config->records && tb_record_below(name)) || (log ? empty : !host->chain.count))
        return;
    if (log)
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "a stray log: no run of %s wrote it", host->ledger);
    else if (strncmp(name, TB_PACKET_FOLDER "/", sizeof TB_PACKET_FOLDER) == 0)
        tb_verify_remark(verify, path, 1, "a stray file: no packet of %s has it. One that was not sealed may be taken away",
                         host->ledger);
    else
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "a stray file: nothing in %s names it", host->ledger);
}

void tb_verify_host_strays(struct verify *verify, const struct verify_host *host)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%s", verify->config->root, host->name);
    FTS *walk = tb_file_walk(folder);
    if (!walk) {
        tb_verify_impossible(verify, -errno, "%s: %s", folder, strerror(errno));
        return;
    }
    for (FTSENT *entry; (entry = fts_read(walk));)
        if (!walked(verify, entry))
            continue;
        else if (entry->fts_info == FTS_SL)
            tb_verify_link(verify, entry->fts_path, strlen(verify->config->root));
        else if (is_file(entry) && !host->chain.broken_line) // or it was opened after the break, perhaps
            host_file(verify, host, entry, entry->fts_path + strlen(folder) + 1);
    fts_close(walk);
}

// --- below the folders of records and postulates -------------------------------------------------------------------------------

static bool is_filed(const struct verify *verify, const char *path)
{
    for (size_t i = 0; i < verify->hosts_count; i++)
        if (tb_ledger_last(&verify->hosts[i].chain, SIZE_MAX, "record", "path", path))
            return true;
    return false;
}

// README.md and the like may lie beside records and postulates, but not below them, and not under a name that some file systems
// would take for another's.
static void record_file(struct verify *verify, const FTSENT *entry)
{
    const char *path = entry->fts_path, *name = entry->fts_name;
    size_t length = strlen(name);
    bool markdown = length > 3 && strcasecmp(name + length - 3, ".md") == 0;
    if (entry->fts_level > 1)
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "a stray file: no ledger can name what lies in a folder there");
    else if (markdown && strcmp(name + length - 3, ".md"))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1, "a stray file: records and postulates end with .md, in small letters");
    else if (tb_record_below(path) && tb_record_named(name) && !is_filed(verify, path))
        tb_verify_finding(verify, WITNESS_LEDGER, path, 1,
                          "a record that no ledger has entered: `locus record file` does that, and otherwise it does not belong "
                          "here");
}

void tb_verify_record_strays(struct verify *verify)
{
    static const char *const folders[] = {TB_RECORD_FOLDER, "postulates"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        FTS *walk = tb_file_walk(folders[i]);
        for (FTSENT *entry; walk && (entry = fts_read(walk));)
            if (entry->fts_level > 0 && walked(verify, entry) && is_file(entry))
                record_file(verify, entry);
        if (walk)
            fts_close(walk);
    }
}
