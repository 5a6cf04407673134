// SPDX-License-Identifier: Apache-2.0
//
// experiment: the list that the linker made. Its bounds are weak, because a program without experiments (the testbed's own tests)
// has no such section: both are NULL then, and the list is empty.
#include "testbed/postulate/experiment.h"

#include <string.h>

#include "testbed/postulate/postulate.h"

const struct tb_experiment *tb_experiment_find(const char *id)
{
    char wanted[8];
    if (tb_postulate_id(id, wanted))
        return NULL;
    for (const struct tb_experiment *const *entry = __start_tb_experiments; entry < __stop_tb_experiments; entry++)
        if (strcmp((*entry)->id, wanted) == 0)
            return *entry;
    return NULL;
}
