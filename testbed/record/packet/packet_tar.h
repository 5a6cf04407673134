// SPDX-License-Identifier: Apache-2.0
//
// packet_tar: the archive of a packet, written and read. It is a POSIX ustar, so `tar tvf` and `tar xf` show and unpack it, but
// only one of all the ustars that have the same content: regular files of mode 0644 of nobody in particular, of no date, each
// FOLDER/NAME. What is read is refused unless it is to the byte what would have been written. So links, devices, other programs'
// extensions, names that lead elsewhere and bytes hidden in the padding need no rules of their own. It is not compressed: no file
// can become larger than the archive that it came in.
//
// Why not a library: libarchive would bring 15 more libraries and 40 MB with it (libxml2 and ICU's tables), into each process that
// is measured and three times over into the memory of each emulated machine. Linked as an archive it has no writer alone.
#ifndef TB_PACKET_TAR_H
#define TB_PACKET_TAR_H

#include <stdbool.h>
#include <stddef.h>

#define TB_TAR_FOLDER 64 // with the NUL
#define TB_TAR_NAME 101

// Up to three parts between slashes, each of letters, digits, '.', '_' and '-', and none begins with a '.'.
bool tb_tar_name_valid(const char *name);

// Writes to PATH.part; tb_tar_close() makes it durable and gives it its name, or takes it away (!keep). All are 0 or -errno.
struct tb_tar;
int tb_tar_create(struct tb_tar **out, const char *path);
int tb_tar_add(struct tb_tar *tar, const char *folder, const char *name, const char *source); // the file `source`
int tb_tar_close(struct tb_tar *tar, bool keep);

// Unpacks into `below`/FOLDER, which must not be there. All files have the same FOLDER, whose name is returned. 0; -EINVAL: it is
// not such an archive, is cut off, or a file comes twice; -errno: `why` is one sentence in either case.
int tb_tar_unpack(const char *path, const char *below, char folder[TB_TAR_FOLDER], char *why, size_t why_bytes);

#endif
