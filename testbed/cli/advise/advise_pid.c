// SPDX-License-Identifier: Apache-2.0
//
// advise_pid: looks, works out, shows. It measures nothing and changes nothing.
#include "testbed/cli/advise/advise_pid.h"

#include <errno.h>

#include "testbed/base/cli.h"
#include "testbed/host/environment.h"
#include "testbed/host/head.h"
#include "testbed/host/process/process.h"
#include "testbed/report/advise/process_advice.h"
#include "topo/topo.h"

int tb_advise_pid(uint64_t pid, const struct tb_forms *forms)
{
    static struct tb_process process;
    struct locus_topo *topo = NULL;
    char why[1024] = "";
    int error = locus_topo_open(&topo, NULL, why, sizeof why);
    if (!error)
        error = tb_process_look("", pid, topo, &process, why, sizeof why);
    int status = error == -ESRCH || error == -EINVAL ? TB_EXIT_USAGE : error ? TB_EXIT_FAILED : TB_EXIT_OK;
    if (error)
        tb_error("%s", why);
    else
        status = tb_forms_write(forms,
                                tb_process_doc(forms->json.wanted ? tb_head("advise") : NULL, tb_emulated_as(""), &process, topo));
    locus_topo_close(topo);
    return status == TB_EXIT_OK && process.maps_errno ? TB_EXIT_FAILED : status;
}
