// SPDX-License-Identifier: Apache-2.0
//
// scoreboard_missing: what this program has and the record has no figure of, each with the command that would make one. So who
// adds a contender or a workload finds its name here at once, and sees what is still to be done.
#include "testbed/report/standing/scoreboard.h"

#include <errno.h>
#include <string.h>

#include "testbed/base/json.h"
#include "testbed/measure/contender.h"
#include "testbed/postulate/postulate.h"
#include "testbed/workload/workload.h"

// "NAME", "NAME%50" and "NAME+4w" are NAME, "malloc:LIBRARY" is malloc; "NAME@delay:5" is a fault of it.
static bool is_of(const char *arm, const char *name)
{
    size_t length = strlen(name);
    return strncmp(arm, name, length) == 0 && strchr("%+#:", arm[length]);
}

static bool has_cell(const struct tb_postulate *postulate, const char *cell)
{
    size_t length = strlen(cell);
    for (uint32_t i = 0; i < postulate->cells_count && postulate->laps_counted == 0; i++)
        if (strncmp(postulate->cells[i], cell, length) == 0 && strchr("/", postulate->cells[i][length]))
            return true;
    return false;
}

static bool has_arm(const struct tb_postulate *postulate, const char *name)
{
    for (uint32_t i = 0; i < postulate->arms_count; i++)
        if (is_of(postulate->arms[i].name, name))
            return true;
    return false;
}

// The first postulate by number of which `has` holds is to be run; where there is none, `otherwise`.
static json_t *entry_json(const struct tb_postulates *all, bool (*has)(const struct tb_postulate *, const char *), const char *key,
                          const char *name, const char *otherwise)
{
    char command[160];
    snprintf(command, sizeof command, "%s", otherwise);
    for (size_t i = all->count; i-- > 0;)
        if (all->files[i].postulate && has(all->files[i].postulate, name))
            snprintf(command, sizeof command, "locus run %s --official", all->files[i].postulate->id);
    return json_pack("{s:s, s:s}", key, name, "command", command);
}

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

// Of each workload at the touches that it is ranked at.
static json_t *missing_cells(const struct tb_postulates *all, const json_t *tables, const char *glob)
{
    static const char *const touches[][2] = {{"full", ""}, {"byte", " --touch byte"}};
    json_t *out = json_array();
    for (size_t t = 0; t < 2; t++) {
        const struct tb_workload *workload;
        for (size_t i = 0; out && (workload = tb_workload_at(i)); i++) {
            char cell[128], command[160];
            snprintf(cell, sizeof cell, "%s/%s", workload->name, touches[t][0]);
            snprintf(command, sizeof command, "locus eval -W %s%s", workload->name, touches[t][1]);
            if (tb_scoreboard_meant(glob, cell, NULL) && !has_table(tables, workload->name, touches[t][0]))
                out = tb_json_appended(out, entry_json(all, has_cell, "cell", cell, command));
        }
    }
    return out;
}

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

static json_t *missing_contenders(const struct tb_postulates *all, const json_t *tables)
{
    json_t *out = json_array();
    for (const struct tb_contender *const *c = __start_tb_contenders; out && c < __stop_tb_contenders; c++) {
        const char *name = (*c)->name;
        char command[160] = "locus postulate new (it is for many nodes, and no postulate has it)";
        if ((*c)->driver)
            snprintf(command, sizeof command, "locus eval -c locus,mimalloc,%s%s", name, strcmp(name, "malloc") ? "" : ":LIBRARY");
        if (!has_figure(tables, name))
            out = tb_json_appended(out, entry_json(all, has_arm, "name", name, command));
    }
    return out;
}

// Where there are no postulates, a command that needs none is named.
json_t *tb_scoreboard_missing(const json_t *tables, const char *cell)
{
    struct tb_postulates all = {0};
    if (tb_postulates_load(&all) == -ENOMEM)
        return NULL;
    const struct tb_json_member members[] = {
        {"cells", missing_cells(&all, tables, cell)},
        {"contenders", missing_contenders(&all, tables)},
    };
    json_t *missing = TB_JSON_OBJECT(members);
    tb_postulates_close(&all);
    return missing;
}
