// SPDX-License-Identifier: Apache-2.0
//
// names: what kinds and states are called, in --kinds, in JSON and in CSV.
#include "testbed/matrix/view/matrix_view.h"

static const struct {
    const char *name, *unit;
} kinds[TB_MATRIX_KINDS] = {
    [TB_MATRIX_LATENCY] = {"latency", "ns"},
    [TB_MATRIX_READ] = {"read", "bytes/s"},
    [TB_MATRIX_WRITE] = {"write", "bytes/s"},
    [TB_MATRIX_COPY] = {"copy", "bytes/s"},
    [TB_MATRIX_READ3_WRITE1] = {"3:1", "bytes/s"},
    [TB_MATRIX_READ2_WRITE1] = {"2:1", "bytes/s"},
    [TB_MATRIX_NT_WRITE] = {"nt-write", "bytes/s"},
    [TB_MATRIX_LOADED] = {"loaded", "ns"},
    [TB_MATRIX_WORKING_SET] = {"working-set", "ns"},
    [TB_MATRIX_MIGRATION] = {"migration", "bytes/s"},
    [TB_MATRIX_LINE] = {"line", "ns"},
    [TB_MATRIX_PUSH] = {"push", "ns"},
    [TB_MATRIX_DRAIN] = {"drain", "ns"},
};

const char *tb_matrix_kind_name(enum tb_matrix_kind kind)
{
    return (unsigned)kind < TB_MATRIX_KINDS ? kinds[kind].name : "unknown";
}

const char *tb_matrix_kind_unit(enum tb_matrix_kind kind)
{
    return (unsigned)kind < TB_MATRIX_KINDS ? kinds[kind].unit : "";
}

const char *tb_matrix_state_name(enum tb_matrix_state state)
{
    switch (state) {
    case TB_MATRIX_PLANNED: return "planned";
    case TB_MATRIX_MEASURED: return "measured";
    case TB_MATRIX_UNMEASURABLE: return "unmeasurable";
    case TB_MATRIX_EMULATED: return "emulated";
    case TB_MATRIX_INVALID: return "invalid";
    }
    return "unknown";
}
