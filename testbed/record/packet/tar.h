// SPDX-License-Identifier: Apache-2.0
//
// tar: the archive of a packet, written and read by tar(1) in a process of its own. It is the one ustar that `tar` makes of its
// files by the options in tar.c: plain files of mode 0644 of nobody, of no date, in the order of their names, each HOST/NAME.
// What is read is listed first, then unpacked, then packed again, and refused unless both archives are the same to the byte. It is
// not compressed: no file can become larger than the archive that it came in.
//
// Why not a library: libarchive would bring 15 more libraries into each process that is measured.
#ifndef TB_TAR_H
#define TB_TAR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TB_TAR_HOST 64 // with the NUL
#define TB_TAR_NAME 256

// Up to three parts between slashes, each of letters, digits, '.', '_' and '-', and none begins with a '.'.
bool tb_tar_name_valid(const char *name);

// Packs folder/HOST/NAME for each of `names` (an array of strings), following links, to `output`. List and words of tar lie in
// `folder` afterwards. 0; -ENOSPC, -errno: nothing is left of the archive, and `why` is one sentence.
int tb_tar_pack(const char *folder, const char *host, const json_t *names, const char *output, char *why, size_t why_bytes);

// Unpacks an archive as folder/HOST, which must not be there, in an empty folder. All files have the same HOST, whose name is
// returned. 0; -EINVAL: it is no such archive, or not to the byte; -errno: `why` is one sentence in either case.
int tb_tar_unpack(const char *path, const char *folder, char host[TB_TAR_HOST], char *why, size_t why_bytes);

#endif
