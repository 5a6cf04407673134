// SPDX-License-Identifier: Apache-2.0
//
// doctor_log: the short forms of the findings, for a log's header and for the head of a JSON, and what such a header says.

#include <stdio.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/host/doctor/exam.h"

json_t *tb_doctor_header(const struct tb_doctor *doctor)
{
    json_t *findings = json_object();
    bool failed = !findings;
    for (unsigned i = 0; i < doctor->count; i++) {
        const struct tb_finding *finding = &doctor->finding[i];
        failed |= json_object_set_new(findings, finding->id,
                                      json_pack("{s:s, s:b, s:s}", "state", tb_finding_state_name(finding->state), "decides",
                                                finding->decides, "now", finding->now)) != 0;
    }
    if (!failed)
        return json_pack("{s:b, s:o}", "fit", doctor->fit, "findings", findings);
    json_decref(findings);
    return NULL;
}

static json_t *deciding_json(const struct tb_doctor *doctor, enum tb_finding_state state)
{
    json_t *ids = json_array();
    for (unsigned i = 0; i < doctor->count; i++)
        if (doctor->finding[i].decides && doctor->finding[i].state == state)
            ids = tb_json_appended(ids, json_string(doctor->finding[i].id));
    return ids;
}

json_t *tb_doctor_brief(const struct tb_doctor *doctor)
{
    const struct tb_json_member members[] = {
        {"fit", json_boolean(doctor->fit)},
        {"unfit", deciding_json(doctor, TB_FINDING_UNFIT)},
        {"unknown", deciding_json(doctor, TB_FINDING_UNKNOWN)},
    };
    return TB_JSON_OBJECT(members);
}

// Appends the ids in this state that decide; how many there are.
static unsigned ids_say(const json_t *findings, const char *state, char *out, size_t bytes)
{
    unsigned count = 0;
    size_t used = strlen(out);
    const char *id;
    json_t *finding;
    json_object_foreach ((json_t *)(uintptr_t)findings, id, finding) {
        if (strcmp(tb_member_text(finding, "state"), state) || !json_is_true(json_object_get(finding, "decides")))
            continue;
        if (used < bytes)
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", count ? ", " : "", id);
        count++;
    }
    return count;
}

bool tb_doctor_header_says(const json_t *header, char *out, size_t bytes)
{
    const json_t *doctor = tb_member(header, "doctor"), *findings = tb_member(doctor, "findings");
    char unfit[256] = "", unknown[256] = "";
    out[0] = '\0';
    if (!json_is_object(doctor))
        return false;
    unsigned unfit_count = ids_say(findings, "unfit", unfit, sizeof unfit);
    unsigned unknown_count = ids_say(findings, "unknown", unknown, sizeof unknown);
    bool fit = json_is_true(tb_member(doctor, "fit"));
    if (unfit_count)
        snprintf(out, bytes, "%u finding%s: %s%s%s", unfit_count, unfit_count == 1 ? "" : "s", unfit,
                 unknown_count ? "; not to be seen: " : "", unknown);
    else
        snprintf(out, bytes, fit ? "fit" : "not known to be fit: %s", unknown);
    return fit;
}
