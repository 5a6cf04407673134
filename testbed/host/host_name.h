// SPDX-License-Identifier: Apache-2.0
//
// host_name: what the record calls this machine.
#ifndef TB_HOST_NAME_H
#define TB_HOST_NAME_H

#include <stdbool.h>
#include <stddef.h>

// This host's name in the record: LOCUS_HOST, or the host name, with everything but letters, digits, '.', '_' and '-' replaced
// by '-'. 0, or -EINVAL when nothing remains.
int tb_host_name(char *out, size_t bytes);
// Could a host be called so? The name is a folder of its own: it must not be "..", nor hidden.
bool tb_host_name_valid(const char *name);

#endif
