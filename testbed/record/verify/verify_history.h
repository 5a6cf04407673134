// SPDX-License-Identifier: Apache-2.0
//
// verify_history (private to verify): the history of the current branch, read once: its commits, and every change that any of them
// made to the record, with the blobs before and after, so that no version has to be fetched.
#ifndef TB_VERIFY_HISTORY_H
#define TB_VERIFY_HISTORY_H

#include "testbed/record/verify/verify_internal.h"

struct change {
    const char *commit, *path, *old, *new; // within history.changes_text
    char status;                           // 'A', 'M', 'D', 'T'
};

struct commit {
    const char *id, *parents; // within history.commits_text; parents: ids with blanks between
    bool reached;             // of the question that is asked just now
};

struct history {
    char *commits_text, *changes_text;
    struct commit *commits; // all of the branch, each before its parents
    size_t commits_count;
    struct change *changes; // newest first; a merge has those against each parent
    size_t count, touching; // `touching` commits made them
    json_t *uncommitted, *drafts, *order;
};

// 0, or -errno after tb_verify_impossible(). tb_history_close() in any case.
int tb_history_load(struct verify *verify, struct history *out);
void tb_history_close(struct history *history);

bool tb_history_is_of(const struct history *history, size_t i, const char *path);
bool tb_history_has(const struct history *history, const char *commit);

// Is it another commit than `later`, and an ancestor of it?
bool tb_history_before(const struct history *history, const char *commit, const char *later);

// Did the file as it is now come in a commit before `later` (NULL: in any)?
bool tb_history_came_before(const struct history *history, const char *path, const char *later);

// --- files as git names them ---

// The id of a blob, by the hash that has so many digits; "" when it cannot be worked out.
void tb_blob_id(const void *data, size_t bytes, size_t digits, char out[TB_HASH_TEXT]);

// That of a file, by the hash of another id. 0 or -errno.
int tb_blob_of_file(const char *path, const char *like, char out[TB_HASH_TEXT]);

// How many bytes a version of a ledger has, given the blob ids of the file's beginnings: of the first bytes up to each line's end,
// and of no bytes at all. SIZE_MAX: it is none of them.
struct beginnings {
    struct beginning {
        char id[TB_HASH_TEXT];
        size_t bytes;
    } * of;
    size_t count;
};
int tb_beginnings_make(const char *path, size_t digits, struct beginnings *out); // 0 or -errno; free(out->of)
size_t tb_beginning_bytes(const struct beginnings *beginnings, const char *id);

// What history proves of the order of a host's official runs: adds a member of "order" to `out`, if there are any.
void tb_verify_order(struct verify *verify, const struct history *history, const struct verify_host *host, json_t *out);

#endif
