// SPDX-License-Identifier: Apache-2.0
//
// head: see head.h. The machine is the one on which the program runs, also where the JSON is about another one: a topology that was
// described, a record of many hosts, a copy of somebody's /proc.

#include "testbed/host/head.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "locus/version.h"
#include "testbed/base/json.h"
#include "testbed/base/stamp.h"
#include "testbed/host/doctor/doctor.h"
#include "testbed/host/environment.h"

// A folder of the record has this name, so it has only such characters as every file system takes, and does not look like an
// option to the tools that are called with it.
bool tb_host_name_valid(const char *name)
{
    bool something = false;
    for (const char *c = name; *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
            return false;
        something |= isalnum((unsigned char)*c) != 0;
    }
    return something && name[0] != '.' && name[0] != '-';
}

int tb_host_name(char *out, size_t bytes)
{
    const char *wanted = getenv("LOCUS_HOST");
    char own[256] = "";
    if (!wanted || !*wanted) {
        if (gethostname(own, sizeof own - 1))
            return -errno;
        wanted = own;
    }
    if ((size_t)snprintf(out, bytes, "%s", wanted) >= bytes)
        return -ENAMETOOLONG;
    return tb_host_name_valid(out) ? 0 : -EINVAL;
}

static json_t *host_json(void)
{
    char host[64];
    return tb_host_name(host, sizeof host) ? json_null() : json_string(host);
}

static json_t *kernel_json(void)
{
    struct utsname names;
    return uname(&names) ? json_null() : json_string(names.release);
}

static json_t *time_json(void)
{
    char text[TB_STAMP_BYTES];
    return json_string(tb_time_text(time(NULL), text));
}

json_t *tb_head_by(const char *what, const struct tb_doctor *doctor)
{
    const struct tb_json_member members[] = {
        {"schema", json_sprintf("locus-%s/1", what)},
        {"locus", json_string(LOCUS_VERSION)},
        {"commit", json_string(tb_environment_commit())},
        {"host", host_json()},
        {"cpu", tb_environment_cpu("")},
        {"kernel", kernel_json()},
        {"emulated", tb_json_clean(tb_environment_guest())},
        {"time", time_json()},
        {"doctor", doctor ? tb_doctor_brief(doctor) : NULL},
    };
    return TB_JSON_OBJECT(members);
}

json_t *tb_head(const char *what)
{
    struct tb_doctor *doctor = calloc(1, sizeof *doctor);
    bool looked = doctor && tb_doctor_look("", doctor) == 0;
    json_t *head = tb_head_by(what, looked ? doctor : NULL);
    if (looked)
        tb_doctor_close(doctor);
    free(doctor);
    return head;
}
