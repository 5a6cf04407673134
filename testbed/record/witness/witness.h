// SPDX-License-Identifier: Apache-2.0
//
// witness: the checkpoint of the whole record, in forms that somebody outside vouches for.
//
// A ledger's chain holds the order of what was filed and run, and whoever owns the machine could write all of it anew. A checkpoint
// pins it: lines HOST BYTES HASH, one for each ledger (ledger.h), after a line "commit ID", the head of history. It says something
// as far as it is out of the owner's reach, so it is given to others: as the message of a tag that is signed and pushed, or as a
// file whose hash an authority stamps with its time (tsp.h). Both are made without a network and checked later.
//
// What it proves: the filings and runs in it are older than the signature or the stamp. That a run is younger than its filing says
// the ledger, and the commits that the log names (verify/verify_git.c).
#ifndef TB_WITNESS_H
#define TB_WITNESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

// The checkpoint of these hosts (member "hosts" of tb_verify()'s report); `commit` "": without its line. malloc'd; NULL without
// memory.
char *tb_witness_text(const json_t *hosts, const char *commit);

// --- a tag of git --------------------------------------------------------------------------------------------------------------

// Makes an annotated tag of the commit; its message is `text`. `sign`: signed as git is configured (gpg.format, user.signingKey).
// 0, or -errno with why: git's own last words.
int tb_witness_tag_make(const char *name, const char *commit, const char *text, bool sign, char *why, size_t why_bytes);

struct tb_witness_tag {
    char *text;                 // its message, without the signature
    char commit[65];            // that it tags
    bool is_signed;
    bool holds;                 // git vouches for the signature (git verify-tag)
    char words[256];            // of git on the signature
};

// Reads a tag and has git check its signature. 0 (also when the signature does not hold), -ENOENT (no annotated tag of a commit has
// that name), -errno. tb_witness_tag_close() in any case.
int tb_witness_tag_read(const char *name, struct tb_witness_tag *out);
void tb_witness_tag_close(struct tb_witness_tag *tag);

#endif
