// SPDX-License-Identifier: Apache-2.0
//
// id_list: the kernel's lists of CPUs and nodes, "0-3,8".
#ifndef TB_ID_LIST_H
#define TB_ID_LIST_H

// How many a list names; the empty list names none. -EINVAL: it is no such list. -ENOMEM.
int tb_id_list_count(const char *list);

// How many are in both.
int tb_id_list_common(const char *one, const char *other);

#endif
