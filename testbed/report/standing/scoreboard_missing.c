// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_missing: what this program has and the record has no figure of, each with the command that would make one. So who
// adds a contender or a workload finds its name here at once, and sees what is still to be done.
#include "testbed/report/standing/scoreboard.h"

#include <stdlib.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/measure/contender.h"
#include "testbed/postulate/experiment.h"
#include "testbed/workload/workload.h"

// The touches that a workload is ranked at.
static const char *const touches[] = {"full", "byte"};

// The first experiment of this program by number of which `has` holds, or NULL: the linker keeps them in no order.
static const struct tb_experiment *find_experiment(bool (*has)(const struct tb_experiment *, const char *), const char *name)
{
    const struct tb_experiment *found = NULL;
    for (const struct tb_experiment *const *e = __start_tb_experiments; e < __stop_tb_experiments; e++)
        if (has(*e, name) && (!found || strcmp((*e)->id, found->id) < 0))
            found = *e;
    return found;
}

static bool has_cell(const struct tb_experiment *experiment, const char *cell)
{
    for (const char *const *own = experiment->cells; *own; own++)
        if (!experiment->many_nodes && strncmp(*own, cell, strlen(cell)) == 0 && strchr("/", (*own)[strlen(cell)]))
            return true;
    return false;
}

// "NAME", "NAME%50" and "NAME+4w" are NAME, "malloc:LIBRARY" is malloc; "NAME@delay:5" is a fault of it.
static bool is_of(const char *arm, const char *name)
{
    size_t length = strlen(name);
    return strncmp(arm, name, length) == 0 && strchr("%+#:", arm[length]);
}

static bool has_arm(const struct tb_experiment *experiment, const char *name)
{
    for (const struct tb_experiment_arm *arm = experiment->arms; arm->key; arm++)
        if (is_of(arm->name, name))
            return true;
    return false;
}

// --- cells ---

static bool has_table(const json_t *tables, const char *workload, const char *touch)
{
    const json_t *table;
    size_t i;
    json_array_foreach (tables, i, table)
        if (json_is_true(tb_member(table, "figures")) && strcmp(tb_member_text(table, "workload"), workload) == 0 &&
            strcmp(tb_member_text(table, "touch"), touch) == 0)
            return true;
    return false;
}

static json_t *missing_cell(const char *workload, const char *touch, const char *cell)
{
    char command[160];
    const struct tb_experiment *experiment = find_experiment(has_cell, cell);
    if (experiment)
        snprintf(command, sizeof command, "locus run %s --official", experiment->id);
    else
        snprintf(command, sizeof command, "locus eval -W %s%s%s", workload, strcmp(touch, "full") ? " --touch " : "",
                 strcmp(touch, "full") ? touch : "");
    return json_pack("{s:s, s:s}", "cell", cell, "command", command);
}

static json_t *missing_cells(const json_t *tables, const char *glob)
{
    json_t *out = json_array();
    for (size_t t = 0; t < sizeof touches / sizeof *touches; t++) {
        const struct tb_workload *workload;
        for (size_t i = 0; out && (workload = tb_workload_at(i)); i++) {
            char cell[128];
            snprintf(cell, sizeof cell, "%s/%s", workload->name, touches[t]);
            if (tb_scoreboard_meant(glob, cell, NULL) && !has_table(tables, workload->name, touches[t]))
                out = tb_json_appended(out, missing_cell(workload->name, touches[t], cell));
        }
    }
    return out;
}

// --- contenders ---

static bool has_figure(const json_t *tables, const char *name)
{
    const json_t *table, *row;
    size_t i, r;
    json_array_foreach (tables, i, table)
        json_array_foreach (tb_member(table, "contenders"), r, row)
            if (is_of(tb_member_text(row, "name"), name) && json_is_number(tb_member(row, "median_ns")))
                return true;
    return false;
}

static json_t *missing_contender(const struct tb_contender *contender)
{
    char command[160];
    const struct tb_experiment *experiment = find_experiment(has_arm, contender->name);
    if (experiment)
        snprintf(command, sizeof command, "locus run %s --official", experiment->id);
    else if (contender->driver)
        snprintf(command, sizeof command, "locus eval -c locus,mimalloc,%s%s", contender->name,
                 strcmp(contender->name, "malloc") ? "" : ":LIBRARY");
    else
        snprintf(command, sizeof command, "locus postulate new (it is for many nodes, and no experiment has it)");
    return json_pack("{s:s, s:s}", "name", contender->name, "command", command);
}

static json_t *missing_contenders(const json_t *tables)
{
    json_t *out = json_array();
    for (const struct tb_contender *const *c = __start_tb_contenders; out && c < __stop_tb_contenders; c++)
        if (!has_figure(tables, (*c)->name))
            out = tb_json_appended(out, missing_contender(*c));
    return out;
}

json_t *tb_scoreboard_missing(const json_t *tables, const char *cell)
{
    const struct tb_json_member members[] = {
        {"cells", missing_cells(tables, cell)},
        {"contenders", missing_contenders(tables)},
    };
    return TB_JSON_OBJECT(members);
}
