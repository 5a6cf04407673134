// SPDX-License-Identifier: Apache-2.0
//
// doctor_script: all changes as one script, or all that undoes them.
//
// Each finding is a subshell of its own under `set -e`, so that its first failing line ends it and nothing else. The subshell must
// stand alone: in a condition (`||`, `if`) the shell would ignore `set -e` inside.

#include <errno.h>
#include <string.h>

#include "testbed/base/words.h"
#include "testbed/host/doctor/doctor.h"

static void put_part(FILE *out, const struct tb_finding *finding, const char *commands)
{
    fprintf(out, "\n(set -e # %s: %s\n%s\n)\nended %s\n", finding->id, finding->now, commands, finding->id);
}

int tb_doctor_script(FILE *stream, const struct tb_doctor *doctor, bool restore)
{
    struct tb_text text;
    int rc = tb_text_open(&text);
    if (rc)
        return rc;
    fprintf(text.stream,
            "#!/bin/sh\n# %s Made by locus doctor %s; for root.\nfailed=\n"
            "ended() { [ $? -eq 0 ] || failed=\"$failed $1\"; }\n",
            restore ? "Brings back what was there when this was made." : "Makes this host fit to measure, as far as commands can.",
            restore ? "--restore" : "--change");
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[restore ? doctor->count - 1 - i : i];
        const char *commands = restore ? finding->restore : finding->change;
        if (commands[0] && (restore || finding->state != TB_FINDING_FIT))
            put_part(text.stream, finding, commands);
    }
    fputs("\n[ -z \"$failed\" ] || { echo \"failed:$failed\" >&2; exit 1; }\n", text.stream);
    return tb_text_close(&text, stream, 0);
}
