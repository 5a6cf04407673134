// SPDX-License-Identifier: Apache-2.0
//
// engine: ways to run a real engine side by side, from a log of `locus engine`: how fast each decodes, which reads of its KV cache
// are remote, what of the cache is in memory; and which one to use.
#ifndef TB_REPORT_ENGINE_H
#define TB_REPORT_ENGINE_H

#include <jansson.h>

#include "testbed/doc/doc.h"
#include "testbed/measure/rounds.h"
#include "testbed/record/log.h"

// Programs get `cells`, each with its `arms`. Takes over `head`. NULL without memory.
struct tb_doc *tb_engine_doc(json_t *head, const struct tb_log_view *view, const struct tb_rounds *rounds);

#endif
