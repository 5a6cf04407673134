// SPDX-License-Identifier: Apache-2.0
//
// result: see result.h.

#include "testbed/engine/result.h"

#define FIELD(type, member, unit, kind, ratio, what) TB_SLOT(struct tb_engined, type, member, unit, what),
const struct tb_slot tb_engined_fields[] = {TB_ENGINED_FIELDS(FIELD) TB_SLOT_END};
#undef FIELD
