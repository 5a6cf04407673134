// SPDX-License-Identifier: Apache-2.0
//
// trace: every format is read exactly, and each kind of broken file is reported in one sentence with file and line.
//
// If the recorded traces are available (LOCUS_TRACES, by default ../shared/traces), they are checked against independently
// computed figures.
#include "testbed/workload/tests/trace_expect.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *fixture(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "testbed/tests/fixtures/%s", name);
    return path;
}

static struct tb_trace *parse_good(const char *text)
{
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_assert_eq(tb_trace_parse("t", NULL, text, strlen(text), &trace, &why), 0, "%s", why.text);
    cr_expect_str_empty(why.text);
    return trace;
}

Test(trace, azure_is_read_to_the_last_digit)
{
    struct tb_trace *trace = parse_good(HEADER GOOD "2023-11-16 18:15:46.6805901,0,109\n"
                                                    "2023-11-16 18:15:47,4294967295,0\n");

    cr_expect_str_eq(trace->format, "Azure 2023 CSV");
    cr_expect_str_eq(trace->path, "t");
    cr_assert_eq(trace->count, 3);
    expect_record(trace, 0, 0, 374, 44, 2);
    expect_record(trace, 1, 100, 0, 109, 3);
    expect_record(trace, 2, 319410000, 4294967295, 0, 4);
    tb_trace_close(trace);
}

Test(trace, azure_time_crosses_days_and_leap_days)
{
    static const struct {
        const char *from, *to;
        uint64_t seconds;
    } spans[] = {
        {"2023-12-31 23:59:59", "2024-01-01 00:00:00", 1},
        {"2024-02-28 00:00:00", "2024-03-01 00:00:00", 2 * 86400},
        {"2023-02-28 00:00:00", "2023-03-01 00:00:00", 86400},
        {"2000-02-28 00:00:00", "2000-03-01 00:00:00", 2 * 86400},
        {"2100-02-28 00:00:00", "2100-03-01 00:00:00", 86400},
        {"1970-01-01 00:00:00", "2023-11-16 18:15:46", 1700158546},
        {"1970-01-01 00:00:00+00:00", "2553-12-31 23:59:59.999999999+00:00", 18429292799},
    };

    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), HEADER "%s,1,1\n%s,1,1\n", spans[i].from, spans[i].to);

        struct tb_trace *trace = parse_good(text);

        cr_expect_eq(trace->requests[1].arrival_ns / 1000000000, spans[i].seconds, "%s", spans[i].to);
        tb_trace_close(trace);
    }
}

Test(trace, mooncake_is_read_with_and_without_hash_ids)
{
    struct tb_trace *trace = parse_good(JSON "{\"output_length\":0,\"input_length\":1,\"timestamp\":3005,\"more\":null}\n"
                                             "  {\"timestamp\":3005,\"input_length\":0,\"output_length\":7,\"hash_ids\":[]}");

    cr_expect_str_eq(trace->format, "Mooncake JSON Lines");
    cr_assert_eq(trace->count, 3);
    expect_record(trace, 0, 0, 6758, 500, 1);
    expect_record(trace, 1, UINT64_C(3000000000), 1, 0, 2);
    expect_record(trace, 2, UINT64_C(3000000000), 0, 7, 3);
    tb_trace_close(trace);
}

#define PROMPT(tokens, ids) "{\"timestamp\":0,\"input_length\":" tokens ",\"output_length\":1,\"hash_ids\":[" ids "]}\n"
#define CHAIN1(ids) PROMPT("1", ids)
#define CHAIN2(ids) PROMPT("2", ids)
#define CHAIN3(ids) PROMPT("3", ids)
#define CHAIN4(ids) PROMPT("4", ids)

Test(trace, hash_ids_are_kept_in_order)
{
    struct tb_trace *trace = parse_good(CHAIN3("5,3,9") CHAIN1(
        "") "{\"timestamp\":0,\"input_length\":1,\"output_length\":1}\n" CHAIN4("5,3,-1,9223372036854775807"));
    struct tb_why why;

    expect_ids(trace, 0, 3, (uint64_t[]){5, 3, 9});
    expect_ids(trace, 1, 0, NULL);
    expect_ids(trace, 2, 0, NULL);
    expect_ids(trace, 3, 4, (uint64_t[]){5, 3, UINT64_MAX, INT64_MAX});
    cr_expect_eq(trace->ids_count, 7);
    cr_expect_eq(tb_trace_chained(trace, &why), 0, "%s", why.text);
    cr_expect_str_empty(why.text);
    tb_trace_close(trace);
}

// The order of the numbers says nothing; that an id follows always the same one does.
Test(trace, ids_that_are_no_chains_are_explained_to_those_who_ask)
{
    static const struct {
        const char *text, *why;
    } traces[] = {
        {CHAIN3("9,4,7") CHAIN2("9,1") CHAIN2("2,4"), "t:3: hash_ids: 4 follows 2, and before that it follows 9: the ids are no "
                                                      "chains"},
        {CHAIN2("1,2") CHAIN1("2"), "t:2: hash_ids: 2 is the first, and before that it follows 1: the ids are no chains"},
        {CHAIN1("1") CHAIN1("2") CHAIN2("2,1"), "t:3: hash_ids: 1 follows 2, and before that it is the first: the ids are no "
                                                "chains"},
        {CHAIN2("18446744073709551615,18446744073709551615"), "t:1: hash_ids: 18446744073709551615 follows 18446744073709551615, "
                                                              "and before that it is the first: the ids are no chains"},
        {CHAIN2("-1,-1"), "t:1: hash_ids: -1 follows -1, and before that it is the first: the ids are no chains"},
        {CHAIN2("0,0"), "t:1: hash_ids: 0 follows 0, and before that it is the first: the ids are no chains"},
        {CHAIN1(""), "t: no request has hash_ids"},
        {HEADER GOOD, "t: no request has hash_ids"},
    };

    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        struct tb_trace *trace = parse_good(traces[i].text);
        struct tb_why why;

        cr_expect_eq(tb_trace_chained(trace, &why), -EINVAL);
        cr_expect_str_eq(why.text, traces[i].why);
        tb_trace_close(trace);
    }
}

Test(trace, ids_are_64_bits_with_a_sign_or_without)
{
    struct tb_trace *trace = parse_good("{\"hash_ids\":[0,18446744073709551615, 9223372036854775808,9223372036854775807 ,"
                                        "-9223372036854775808],\"a\":{\"hash_ids\":[1e30,\"\\\"[\"]},\"timestamp\":0,"
                                        "\"input_length\":5,\"output_length\":1}\n" PROMPT("2", "10000000000000000000,-1"));
    static const char *const too_big[] = {
        PROMPT("1", "18446744073709551616"),
        PROMPT("1", "-9223372036854775809"),
        PROMPT("1", "018446744073709551615"),
        PROMPT("1", "99999999999999999999"),
        "{\"more\":18446744073709551615,\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1]}",
        "{\"more\":{\"hash_ids\":[18446744073709551615]},\"timestamp\":0,\"input_length\":1,\"output_length\":1}",
        "{\"timestamp\":18446744073709551615,\"input_length\":1,\"output_length\":1,\"hash_ids\":[18446744073709551615]}",
    };

    expect_ids(trace, 0, 5, (uint64_t[]){0, UINT64_MAX, UINT64_C(1) << 63, INT64_MAX, UINT64_C(1) << 63});
    expect_ids(trace, 1, 2, (uint64_t[]){UINT64_C(10000000000000000000), UINT64_MAX});
    tb_trace_close(trace);
    for (size_t i = 0; i < sizeof(too_big) / sizeof(too_big[0]); i++) {
        struct tb_why why;

        cr_expect_eq(tb_trace_parse("t", NULL, too_big[i], strlen(too_big[i]), &trace, &why), -EINVAL, "%s", too_big[i]);
        cr_expect(strstr(why.text, "t:1: not valid JSON at column "), "%s", why.text);
    }
}

Test(trace, a_string_is_no_id_however_long)
{
    static const char text[] = PROMPT("1", "\"18446744073709551615\"");
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_expect_eq(tb_trace_parse("t", NULL, text, strlen(text), &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t:1: hash_ids: element 1 is not a whole number");
}

Test(trace, the_size_of_an_id_is_what_fits_every_request)
{
    static const struct {
        const char *text;
        uint32_t least, most, taken;
    } traces[] = {
        {PROMPT("320", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20"), 16, 16, 16},
        {PROMPT("1200", "1,2,3") PROMPT("513", "1,9") PROMPT("512", "1"), 512, 512, 512},
        {PROMPT("1200", "1,2,3"), 400, 599, 512},
        {PROMPT("40", "1,2,3,4") PROMPT("12", "1"), 12, 13, 0}, // no power of two
        {PROMPT("512", "1") PROMPT("9", "1"), 512, UINT32_MAX, 512}, // any above: an id is a whole prompt
        {PROMPT("513", "1"), 513, UINT32_MAX, 1024},
        {PROMPT("4294967295", "1"), UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {PROMPT("2147483649", "1"), 2147483649, UINT32_MAX, 0},
        {PROMPT("3", "1,2,3"), 1, 1, 1},
        {PROMPT("100", "") PROMPT("1200", "1,2,3") PROMPT("7", ""), 400, 599, 512}, // none say nothing
    };

    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        struct tb_trace *trace = parse_good(traces[i].text);

        cr_expect_eq(trace->id_tokens_least, traces[i].least, "%zu: %u", i, trace->id_tokens_least);
        cr_expect_eq(trace->id_tokens_most, traces[i].most, "%zu: %u", i, trace->id_tokens_most);
        cr_expect_eq(trace->id_tokens, traces[i].taken, "%zu: %u", i, trace->id_tokens);
        tb_trace_close(trace);
    }
}

Test(trace, ids_of_no_size_are_explained)
{
    static const struct broken broken[] = {
        {PROMPT("1", "1") PROMPT("3", "1,2,3,4"), "t:2: 4 hash_ids for a prompt of 3 tokens: an id stands for at least one"},
        {PROMPT("0", "1"), "t:1: 1 hash_ids for a prompt of 0 tokens: an id stands for at least one"},
        {PROMPT("10", "1,2,3,4,5,6,7"), "t:1: no size of an id gives 7 hash_ids for a prompt of 10 tokens"},
        {PROMPT("1200", "1,2,3") PROMPT("600", "4"), "t:2: 1 hash_ids for 600 tokens: an id has at least 600, and by line 1 at "
                                                     "most 599"},
        {PROMPT("5", "7") PROMPT("512", "4") PROMPT("320", "1,2"), "t:3: 2 hash_ids for 320 tokens: an id has at most 319, and by "
                                                                   "line 2 at least 512"},
    };

    expect_broken(broken, sizeof(broken) / sizeof(broken[0]));
}

Test(trace, what_the_prompts_leave_open_the_user_settles)
{
    static const struct {
        const char *text;
        uint32_t said, taken;
        const char *why;
    } cases[] = {
        {PROMPT("1200", "1,2,3"), 0, 512, ""},
        {PROMPT("1200", "1,2,3"), 400, 400, ""},
        {PROMPT("1200", "1,2,3"), 599, 599, ""},
        {CHAIN1("9") PROMPT("1200", "1,2,3"), 399, 512,
         "t:2: by these hash_ids an id stands for at least 400 tokens, not 399 "
         "(--id-tokens)"},
        {CHAIN1("9") PROMPT("1200", "1,2,3"), 600, 512,
         "t:2: by these hash_ids an id stands for at most 599 tokens, not 600 "
         "(--id-tokens)"},
        {PROMPT("40", "1,2,3,4") PROMPT("12", "1"), 0, 0,
         "t: an id may stand for 12 to 13 tokens, none of them a power of two: "
         "say which (--id-tokens)"},
        {PROMPT("40", "1,2,3,4") PROMPT("12", "1"), 13, 13, ""},
        {CHAIN1(""), 0, 0, ""},
        {CHAIN1(""), 16, 0, "t: no request has hash_ids, so none stands for 16 tokens (--id-tokens)"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tb_trace *trace = parse_good(cases[i].text);
        struct tb_why why;

        cr_expect_eq(tb_trace_settle_ids(trace, cases[i].said, &why), *cases[i].why ? -EINVAL : 0, "case %zu", i);
        cr_expect_str_eq(why.text, cases[i].why);
        cr_expect_eq(trace->id_tokens, cases[i].taken, "case %zu: %u", i, trace->id_tokens);
        tb_trace_close(trace);
    }
}

Test(trace, what_is_left_out_is_said_and_counted)
{
    struct tb_trace *trace = parse_good(HEADER GOOD "2023-11-16 18:15:47,0,5\n2023-11-16 18:15:47,5,0\n2023-11-16 18:15:48,0,1\n");
    char text[TB_LEFT_OUT];

    cr_expect_eq(tb_trace_left_out(trace, 0, text, sizeof(text)), 1);
    cr_expect_str_eq(text, "3 requests are left out: 2 without a prompt, 1 without an output");
    cr_expect_eq(tb_trace_left_out(trace, 2, text, sizeof(text)), 1);
    cr_expect_str_eq(text, "1 request is left out: 1 without a prompt, 0 without an output");
    cr_expect_eq(tb_trace_left_out(trace, 1, text, sizeof(text)), 1);
    cr_expect_str_empty(text);
    tb_trace_close(trace);
}

Test(trace, crlf_and_a_missing_last_newline_are_accepted)
{
    struct tb_trace *csv = parse_good("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:15:46.6805900,374,44\r\n"
                                      "2023-11-16 18:15:46.6805900,5,6");
    struct tb_trace *json = parse_good("{\"timestamp\":0,\"input_length\":1,\"output_length\":2}\r\n"
                                       "{\"timestamp\":0,\"input_length\":3,\"output_length\":4}\r");

    cr_assert_eq(csv->count, 2);
    expect_record(csv, 0, 0, 374, 44, 2);
    expect_record(csv, 1, 0, 5, 6, 3);
    cr_assert_eq(json->count, 2);
    expect_record(json, 1, 0, 3, 4, 2);
    tb_trace_close(csv);
    tb_trace_close(json);
}

#define TIME_BAD(text) "t:2: TIMESTAMP \"" text "\" is not a time like 2023-11-16 18:15:46.6805900"
#define TIME_NONE(text) TIME_BAD(text) ", and no number of seconds"
#define UNKNOWN(line, header)                                                                                                      \
    "t:" line ": \"" header "\" is the header of no known trace, and no JSON object: say which columns have what "                 \
    "(--map time=COLUMN,prompt=COLUMN,output=COLUMN)"

Test(trace, broken_csv_is_explained)
{
    static const struct broken broken[] = {
        {"", "t: is empty"},
        {HEADER, "t: has a header but no requests"},
        {"TIMESTAMP,ContextTokens,GeneratedTokens", "t: has a header but no requests"},
        {"\n \n", "t: has no requests"},
        {"\n" HEADER, "t: has a header but no requests"},
        {"time,in,out\n", UNKNOWN("1", "time,in,out")},
        {"\ntime;in;out\n", UNKNOWN("2", "time;in;out")},
        {"TIMESTAMP,GeneratedTokens\n", "t:1: the header \"TIMESTAMP,GeneratedTokens\" has no column ContextTokens"},
        {"Response tokens,Timestamp,Model\n", "t:1: the header \"Response tokens,Timestamp,Model\" has no column Request tokens"},
        {"TIMESTAMP,a,ContextTokens,GeneratedTokens,a,ContextTokens\n", "t:1: the header has a column ContextTokens 2 times"},
        {"TIMESTAMP,\"ContextTokens\n", "t:1: a quote in the header is not closed, or followed by more than a comma"},
        {HEADER "2023-11-16 18:15:46,\"5\"6,1\n", "t:2: a quote is not closed, or followed by more than a comma"},
        {HEADER "2023-11-16 18:15:46,\"5,1\n", "t:2: a quote is not closed, or followed by more than a comma"},
        {HEADER "2023-11-16 18:15:46,\"5\"\"6\",1\n", "t:2: ContextTokens \"5\"\"6\" is not a number"},
        {HEADER "2023-11-16 18:15:46,374\n", "t:2: 2 columns instead of 3 (TIMESTAMP,ContextTokens,GeneratedTokens)"},
        {HEADER "2023\n", "t:2: 1 column instead of 3 (TIMESTAMP,ContextTokens,GeneratedTokens)"},
        {HEADER "2023-11-16 18:15:46,374,44,\n", "t:2: 4 columns instead of 3 (TIMESTAMP,ContextTokens,GeneratedTokens)"},
        {HEADER "2023-11-16 18:15:46,374,\n", "t:2: GeneratedTokens is missing"},
        {HEADER "2023-11-16 18:15:46,,1\n", "t:2: ContextTokens is missing"},
        {HEADER "2023-11-16 18:15:46,374,12x\n", "t:2: GeneratedTokens \"12x\" is not a number"},
        {HEADER "2023-11-16 18:15:46,+5,1\n", "t:2: ContextTokens \"+5\" is not a number"},
        {HEADER "2023-11-16 18:15:46, 5,1\n", "t:2: ContextTokens \" 5\" is not a number"},
        {HEADER "2023-11-16 18:15:46,-,1\n", "t:2: ContextTokens \"-\" is not a number"},
        {HEADER "2023-11-16 18:15:46,5.0,1\n", "t:2: ContextTokens \"5.0\" is not a number"},
        {HEADER "2023-11-16 18:15:46,-5,1\n", "t:2: ContextTokens \"-5\" is negative"},
        {HEADER "2023-11-16 18:15:46,4294967296,1\n", "t:2: ContextTokens \"4294967296\" is too large"},
        {HEADER "2023-11-16 18:15:46,18446744073709551617,1\n", "t:2: ContextTokens \"18446744073709551617\" is too large"},
        {HEADER "2023-11-16 18:15:46,\x01\xff,1\n", "t:2: ContextTokens \"??\" is not a number"},
        {HEADER "2023-11-16 18:15:46,0123456789012345678901234567890123456789x,1\n",
         "t:2: ContextTokens \"0123456789012345678901234567890123456789...\" is not a number"},
        {HEADER "2023-11-16 18:15:46,0,0\n", "t:2: the request has neither prompt nor output tokens"},
        {HEADER GOOD GOOD "2023-11-16 18:15:46.6805899,1,1\n",
         "t:4: the request arrives before the one in line 3: sort the requests by time"},
    };

    expect_broken(broken, sizeof(broken) / sizeof(broken[0]));
}

Test(trace, times_that_are_none_are_explained)
{
    static const struct broken broken[] = {
        {HEADER ",1,1\n", "t:2: TIMESTAMP is missing"},
        {HEADER "now,1,1\n", TIME_NONE("now")},
        {HEADER "1x,1,1\n", TIME_NONE("1x")},
        {HEADER "-5,1,1\n", TIME_NONE("-5")},
        {HEADER "nan,1,1\n", TIME_NONE("nan")},
        {HEADER "1e300,1,1\n", TIME_NONE("1e300")},
        {HEADER "5,1,1\n6-,1,1\n", "t:3: TIMESTAMP \"6-\" is no number of seconds"},
        {HEADER "5,1,1\n2023-11-16 18:15:46,1,1\n", "t:3: TIMESTAMP \"2023-11-16 18:15:46\" is no number of seconds"},
        {HEADER "1700158546123,1,1\n-1,1,1\n", "t:3: TIMESTAMP \"-1\" is no number of milliseconds"},
        {HEADER "2023-11-16,1,1\n", TIME_BAD("2023-11-16")},
        {HEADER "2023-13-16 18:15:46,1,1\n", TIME_BAD("2023-13-16 18:15:46")},
        {HEADER "2023-00-16 18:15:46,1,1\n", TIME_BAD("2023-00-16 18:15:46")},
        {HEADER "2023-02-29 18:15:46,1,1\n", TIME_BAD("2023-02-29 18:15:46")},
        {HEADER "2023-11-00 18:15:46,1,1\n", TIME_BAD("2023-11-00 18:15:46")},
        {HEADER "1969-12-31 23:59:59,1,1\n", TIME_BAD("1969-12-31 23:59:59")},
        {HEADER "2554-01-01 00:00:00,1,1\n", TIME_BAD("2554-01-01 00:00:00")},
        {HEADER "2023-11-16 24:15:46,1,1\n", TIME_BAD("2023-11-16 24:15:46")},
        {HEADER "2023-11-16 18:60:46,1,1\n", TIME_BAD("2023-11-16 18:60:46")},
        {HEADER "2023-11-16 18:15:60,1,1\n", TIME_BAD("2023-11-16 18:15:60")},
        {HEADER "2023-11-16 18:15:4,1,1\n", TIME_BAD("2023-11-16 18:15:4")},
        {HEADER "2023-11-16 18:15:46.,1,1\n", TIME_BAD("2023-11-16 18:15:46.")},
        {HEADER "2023-11-16 18:15:46.1234567890,1,1\n", TIME_BAD("2023-11-16 18:15:46.1234567890")},
        {HEADER "2023-11-16 18:15:46.5+0100,1,1\n", TIME_BAD("2023-11-16 18:15:46.5+0100")},
        {HEADER "2023-11-16 18:15:46.5+01:60,1,1\n", TIME_BAD("2023-11-16 18:15:46.5+01:60")},
        {HEADER "2023-11-16 18:15:46 +01:00,1,1\n", TIME_BAD("2023-11-16 18:15:46 +01:00")},
        {HEADER "1970-01-01 00:30:00+01:00,1,1\n", TIME_BAD("1970-01-01 00:30:00+01:00")},
        {HEADER "2023-11-16 18:15:46x,1,1\n", TIME_BAD("2023-11-16 18:15:46x")},
    };

    expect_broken(broken, sizeof(broken) / sizeof(broken[0]));
}

#define KEYS ": say which keys have what (--map time=KEY,prompt=KEY,output=KEY)"
#define LINE_OF_JQ " is none: testbed/workload/README.md has a line of jq for that"

Test(trace, broken_jsonl_is_explained)
{
    static const struct broken broken[] = {
        {JSON "[1]\n", "t:2: not a JSON object"},
        {JSON "17\n", "t:2: not a JSON object"},
        {JSON "{\"timestamp\":5,\"input_length\":1}\n", "t:2: output_length is missing"},
        {"{\"input_length\":1,\"output_length\":1}\n", "t:1: timestamp is missing" KEYS},
        {"{}", "t:1: timestamp is missing" KEYS},
        {"{\"delay\":5,\"input_length\":1,\"output_length\":1}\n", "t:1: timestamp is missing, and delay" LINE_OF_JQ},
        {"{\"timestamp\":5,\"text_input\":\"a\",\"output_length\":1}\n", "t:1: input_length is missing, and text_input" LINE_OF_JQ},
        {BAILIAN("true"), "t:1: timestamp is neither a number nor a time"},
        {BAILIAN("0.5") BAILIAN("\"0.5s\""), "t:2: timestamp \"0.5s\" is no number of seconds"},
        {OBJECT("0", "\"7\"", "1"), "t:1: input_length is not a whole number"},
        {OBJECT("0.5", "7", "1"), "t:1: timestamp is not a whole number of milliseconds (if it is seconds: --map "
                                  "time=timestamp:s,prompt=input_length,output=output_length)"},
        {OBJECT("0", "7", "null"), "t:1: output_length is not a whole number"},
        {OBJECT("-1", "7", "1"), "t:1: timestamp \"-1\" is no number of milliseconds"},
        {OBJECT("0", "7", "-3"), "t:1: output_length -3 is negative"},
        {OBJECT("0", "4294967296", "1"), "t:1: input_length 4294967296 is too large"},
        {OBJECT("18446744073710", "1", "1"), "t:1: timestamp \"18446744073710\" is no number of milliseconds"},
        {OBJECT("0", "0", "0"), "t:1: the request has neither prompt nor output tokens"},
        {OBJECT("7", "1", "1") OBJECT("6", "1", "1"),
         "t:2: the request arrives before the one in line 1: sort the requests by time"},
        {"{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":5}", "t:1: hash_ids is not an array"},
        {"{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[1,\"2\"]}",
         "t:1: hash_ids: element 2 is not a whole number"},
    };
    static const char *const no_json[] = {
        JSON "{\"timestamp\":",
        JSON "{\"timestamp\":99999999999999999999,\"input_length\":1,\"output_length\":1}",
        JSON "{\"timestamp\":1,\"timestamp\":1,\"input_length\":1,\"output_length\":1}",
        JSON "{\"timestamp\":9,\"input_length\":1,\"output_length\":1} x",
        JSON "{\"\xff\":1}",
    };

    expect_broken(broken, sizeof(broken) / sizeof(broken[0]));
    for (size_t i = 0; i < sizeof(no_json) / sizeof(no_json[0]); i++) {
        struct tb_trace *trace = NULL;
        struct tb_why why;

        cr_expect_eq(tb_trace_parse("t", NULL, no_json[i], strlen(no_json[i]), &trace, &why), -EINVAL);
        cr_expect_eq(strncmp(why.text, "t:2: not valid JSON at column ", 30), 0, "%s", why.text);
        cr_expect_null(strchr(why.text, '\n'));
    }
}

Test(trace, nul_bytes_are_refused_with_their_line)
{
    static const char csv[] = HEADER GOOD "2023-11-16 18:15:46.7,1,\0001\n", json[] = JSON "{\"timestamp\0\":1}";
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_expect_eq(tb_trace_parse("t", NULL, csv, sizeof(csv) - 1, &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t:3: there is a NUL byte: this is not a text file");
    cr_expect_eq(tb_trace_parse("t", NULL, json, sizeof(json) - 1, &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t:2: there is a NUL byte: this is not a text file");
    cr_expect_null(trace);
}

Test(trace, text_need_not_be_terminated)
{
    static const char text[] = HEADER GOOD "2023-11-16 18:15:47,1,123456";
    size_t bytes = strlen(text) - 3;
    char *exact = malloc(bytes); // so that ASan sees a read beyond it
    struct tb_trace *trace = NULL;
    struct tb_why why;

    memcpy(exact, text, bytes);
    cr_assert_eq(tb_trace_parse("t", NULL, exact, bytes, &trace, &why), 0);
    free(exact);
    cr_expect_eq(trace->requests[1].output_tokens, 123);
    tb_trace_close(trace);
    tb_trace_close(NULL);
}

Test(trace, broken_line_7_of_a_file_is_named)
{
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_expect_eq(tb_trace_load(fixture("broken-line-7.csv"), NULL, &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "testbed/tests/fixtures/broken-line-7.csv:7: GeneratedTokens \"12x\" is not a number");
    cr_expect_eq(tb_trace_load(fixture("broken-line-7.jsonl"), NULL, &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "testbed/tests/fixtures/broken-line-7.jsonl:7: output_length is missing");
    cr_expect_null(trace);
}

Test(trace, files_of_both_formats_are_loaded)
{
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_assert_eq(tb_trace_load(fixture("small.csv"), NULL, &trace, &why), 0, "%s", why.text);
    cr_assert_eq(trace->count, 4);
    expect_record(trace, 3, 1100000000, 33, 7, 5);
    tb_trace_close(trace);
    cr_assert_eq(tb_trace_load(fixture("small.jsonl"), NULL, &trace, &why), 0, "%s", why.text);
    cr_assert_eq(trace->count, 7);
    expect_record(trace, 6, UINT64_C(9000000000), 700, 61, 7);
    tb_trace_close(trace);
}

Test(trace, files_that_cannot_be_read_are_explained)
{
    static const struct {
        const char *name;
        int error;
        const char *why;
    } files[] = {
        {"empty.csv", -EINVAL, "testbed/tests/fixtures/empty.csv: is empty"},
        {"no-such.csv", -ENOENT, "testbed/tests/fixtures/no-such.csv: cannot be read: No such file or directory"},
        {".", -EISDIR, "testbed/tests/fixtures/.: cannot be read: Is a directory"},
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct tb_trace *trace = NULL;
        struct tb_why why;

        cr_expect_eq(tb_trace_load(fixture(files[i].name), NULL, &trace, &why), files[i].error);
        cr_expect_str_eq(why.text, files[i].why);
        cr_expect_null(trace);
    }
}

Test(trace, too_large_is_refused_before_it_is_read)
{
    char path[] = "/tmp/locus-trace-XXXXXX";
    int file = mkstemp(path);
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_assert_geq(file, 0);
    cr_assert_eq(ftruncate(file, ((off_t)1 << 30) + 1), 0); // a hole: takes no space
    cr_expect_eq(tb_trace_load(path, NULL, &trace, &why), -EFBIG);
    cr_expect_not_null(strstr(why.text, ": is larger than 1024 MiB"));
    close(file);
    unlink(path);
    cr_expect_eq(tb_trace_parse("t", NULL, HEADER, ((size_t)1 << 30) + 1, &trace, &why), -EFBIG);
    cr_expect_str_eq(why.text, "t: is larger than 1024 MiB");
}

Test(trace, long_paths_leave_room_for_the_reason)
{
    static char path[5000];
    struct tb_trace *trace = NULL;
    struct tb_why why;

    memset(path, 'p', 4999);
    cr_expect_eq(tb_trace_parse(path + 1000, NULL, HEADER "x", strlen(HEADER) + 1, &trace, &why), -EINVAL);
    cr_expect_eq(strncmp(why.text, "...ppp", 6), 0);
    cr_expect_not_null(strstr(why.text, "ppp:2: 1 column instead of 3"));
    cr_expect_eq(tb_trace_parse(path, NULL, HEADER GOOD, strlen(HEADER GOOD), &trace, &why), -ENAMETOOLONG);
}

// The file in $LOCUS_TRACES, or a skip.
static struct tb_trace *recorded(const char *name)
{
    const char *folder = getenv("LOCUS_TRACES");
    char path[4096];
    struct tb_trace *trace = NULL;
    struct tb_why why;

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "../shared/traces", name);
    if (access(path, R_OK) != 0)
        cr_skip_test("the recorded traces are not here (LOCUS_TRACES=folder)");
    cr_assert_eq(tb_trace_load(path, NULL, &trace, &why), 0, "%s", why.text);
    return trace;
}

static double wasted_percent(const struct tb_trace *trace, uint64_t per_block)
{
    uint64_t tokens = 0, blocks = 0;

    for (size_t i = 0; i < trace->count; i++) {
        uint64_t length = (uint64_t)trace->requests[i].prompt_tokens + trace->requests[i].output_tokens;

        tokens += length;
        blocks += (length + per_block - 1) / per_block;
    }
    return 100 * (1 - (double)tokens / (double)(blocks * per_block));
}

static void check_fragmentation(const char *name, size_t count, const double expected[5])
{
    struct tb_trace *trace = recorded(name);

    cr_expect_eq(trace->count, count);
    for (int i = 0; i < 5; i++) {
        double found = wasted_percent(trace, UINT64_C(8) << i);

        cr_expect_lt(fabs(found - expected[i]), 0.0005001, "%d tokens: %.4f %%", 8 << i, found);
    }
    tb_trace_close(trace);
}

Test(trace, azure_conv_wastes_what_was_computed_apart)
{
    check_fragmentation("AzureLLMInferenceTrace_conv.csv", 19366, (double[]){0.255, 0.544, 1.122, 2.206, 4.376});
}

Test(trace, azure_code_wastes_what_was_computed_apart)
{
    check_fragmentation("AzureLLMInferenceTrace_code.csv", 8819, (double[]){0.168, 0.367, 0.729, 1.513, 3.035});
}

Test(trace, mooncake_conversation_is_read_whole)
{
    struct tb_trace *trace = recorded("conversation_trace.jsonl");

    cr_expect_eq(trace->count, 12031);
    cr_expect_eq(trace->ids_count, 288500);
    expect_record(trace, 0, 0, 6758, 500, 1);
    cr_expect_lt(trace->requests[12030].arrival_ns, UINT64_C(3600000000000));
    tb_trace_close(trace);
}

Test(trace, own_sample_is_sound)
{
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_assert_eq(tb_trace_load("testbed/workload/sample.csv", NULL, &trace, &why), 0, "%s", why.text);
    cr_expect_eq(trace->count, 400);
    cr_expect_gt(trace->requests[399].arrival_ns, UINT64_C(100000000000));
    tb_trace_close(trace);
}

// The recorded one and ours are of 512 tokens, and nothing else.
Test(trace, ids_of_the_traces_that_are_known_have_512_tokens)
{
    static const char *const paths[] = {"testbed/workload/turns.jsonl", "conversation_trace.jsonl"};
    const char *folder = getenv("LOCUS_TRACES");

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        struct tb_trace *trace = NULL;
        struct tb_why why;
        char path[4096];

        snprintf(path, sizeof(path), "%s%s%s", i ? folder ? folder : "../shared/traces" : "", i ? "/" : "", paths[i]);
        if (i && access(path, R_OK) != 0)
            continue;
        cr_assert_eq(tb_trace_load(path, NULL, &trace, &why), 0, "%s", why.text);
        cr_expect_eq(trace->id_tokens_least, 512);
        cr_expect_eq(trace->id_tokens_most, 512);
        cr_expect_eq(trace->id_tokens, 512);
        tb_trace_close(trace);
    }
}
