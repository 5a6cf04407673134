// SPDX-License-Identifier: Apache-2.0
//
// trace_expect: texts of traces, and what the tests of their readers expect of them.
#ifndef TB_TRACE_EXPECT_H
#define TB_TRACE_EXPECT_H

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "testbed/workload/trace.h"

#define HEADER "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define GOOD "2023-11-16 18:15:46.6805900,374,44\n"
#define JSON "{\"timestamp\": 5, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"

#define OBJECT(timestamp, input, output) "{\"timestamp\":" timestamp ",\"input_length\":" input ",\"output_length\":" output "}\n"
#define BAILIAN(timestamp)                                                                                                         \
    "{\"chat_id\":159,\"parent_chat_id\":-1,\"timestamp\":" timestamp ",\"input_length\":17,\"output_length\":132,"                \
    "\"type\":\"text\",\"turn\":1,\"hash_ids\":[1089,1090]}\n"

static inline void expect_record(const struct tb_trace *trace, size_t i, uint64_t arrival_ns, uint32_t prompt, uint32_t output,
                                 uint32_t line)
{
    cr_assert_lt(i, trace->count);
    cr_expect_eq(trace->requests[i].arrival_ns, arrival_ns, "request %zu arrives at %llu", i,
                 (unsigned long long)trace->requests[i].arrival_ns);
    cr_expect_eq(trace->requests[i].prompt_tokens, prompt);
    cr_expect_eq(trace->requests[i].output_tokens, output);
    cr_expect_eq(trace->requests[i].line, line);
}

static inline void expect_ids(const struct tb_trace *trace, size_t i, uint32_t count, const uint64_t ids[])
{
    cr_assert_eq(trace->requests[i].ids_count, count, "request %zu has %u ids", i, trace->requests[i].ids_count);
    cr_assert_leq(trace->requests[i].ids + count, trace->ids_count);
    for (uint32_t k = 0; k < count; k++)
        cr_expect_eq(trace->ids[trace->requests[i].ids + k], ids[k], "request %zu, id %u", i, k);
}

struct broken {
    const char *text, *why;
};

static inline void expect_broken(const struct broken broken[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tb_trace *trace = (struct tb_trace *)1;
        struct tb_why why;

        cr_expect_eq(tb_trace_parse("t", NULL, broken[i].text, strlen(broken[i].text), &trace, &why), -EINVAL, "%s", broken[i].why);
        cr_expect_null(trace);
        cr_expect_str_eq(why.text, broken[i].why);
    }
}

#endif
