// SPDX-License-Identifier: Apache-2.0
//
// names: what the files of the repository that belong to the record are called, and where they lie.
#ifndef TB_NAMES_H
#define TB_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define TB_RUN_TEXT 48 // a run id with its NUL
#define TB_RECORD_FOLDER "experiments"

// Is this what a record's file is called: NNNN-slug.md, NNNN-slug.add1.md?
bool tb_record_named(const char *name);

// Does the path lie in the folder of records? False for any other folder, also below it.
bool tb_record_below(const char *path);

// The file of a record below TB_RECORD_FOLDER: of "0018" NNNN-slug.md, of "0018.add1" what was added to it. 0 or -ENOENT.
int tb_record_find(const char *record, char *path, size_t bytes);

// "NNNN-slug.md", a postulate: the number and the slug. false: it is no such name.
bool tb_postulate_name(const char *name, char id[8], char slug[64]);

// Another folder below `root` whose name differs from this host's in case alone: on a file system that does not tell cases apart
// both would write one ledger. false: there is none.
bool tb_host_twin(const char *root, const char *host, char *twin, size_t bytes);

// The id of a run, NNNN-YYYYMMDDTHHMMSSZ-RRRRRR: the postulate's number, the second in which it began, and six random digits.
bool tb_run_named(const char *id);

// A number as people write it ("0002", "2") as the record does ("0002"). 0, or -EINVAL.
int tb_postulate_id(const char *text, char out[8]);

// The file of a number ("0002", "2") below `folder`, or -ENOENT; -ENOTUNIQ when two files have it.
int tb_postulate_find(const char *folder, const char *id, char *path, size_t bytes);

#endif
