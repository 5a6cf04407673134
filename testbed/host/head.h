// SPDX-License-Identifier: Apache-2.0
//
// head: what every JSON of the program begins with, so that a file that lies about somewhere says what it is and where it is from.
#ifndef TB_HEAD_H
#define TB_HEAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tb_doctor;

// schema     "locus-WHAT/1"; the number changes when a key is taken away or changes its meaning, and not when one comes
// locus      the program's version
// commit     of its build, with "-dirty" where that had changes; "unknown" without git
// host       as the record calls it (tb_host_name), or null: it has no usable name
// cpu        the model's name, or vendor:family:model where the kernel has no name for it; null: neither
// kernel     its release
// emulated   the emulated machine's name, where no time means anything, or null
// time       when this was asked, in UTC: before a measurement
// doctor     {fit, unfit [id], unknown [id]}: what could spoil a figure at that time, as `locus doctor` has it
//
// It takes a tenth of a second, for the doctor's look at the neighbours. New reference, or NULL without memory.
json_t *tb_head(const char *what);

// The same, with what the doctor found already; NULL: he could not look.
json_t *tb_head_by(const char *what, const struct tb_doctor *doctor);

// This host's name in the record: LOCUS_HOST, or the host name. 0, or -EINVAL: it cannot name a host. Nothing in it is replaced,
// since two hosts whose names differ only there would write one ledger.
int tb_host_name(char *out, size_t bytes);
// Could a host be called so? The name is a folder of its own, of letters, digits, '.', '_' and '-': it must not be "..", nor
// hidden, nor begin as an option does.
bool tb_host_name_valid(const char *name);

#endif
