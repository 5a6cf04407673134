// SPDX-License-Identifier: Apache-2.0
//
// trace_formats: each format is read by the names of its columns or keys, whatever else the file has; one may be made by hand.
#include "testbed/workload/tests/trace_expect.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct understood {
    const char *text, *words;
    uint64_t last_ns;           // arrival of the last request
    uint32_t prompt, output;    // of the last request
};

static void expect_understood(const struct tb_trace_format *format, const struct understood *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tb_trace *trace = NULL;
        struct tb_why why;
        char words[TB_UNDERSTOOD];
        const char *text = expected[i].text;

        cr_assert_eq(tb_trace_parse("t", format, text, strlen(text), &trace, &why), 0, "%s", why.text);
        cr_expect_str_eq(tb_trace_understood(trace, words), expected[i].words);
        const struct tb_trace_request *last = &trace->requests[trace->count - 1];
        expect_record(trace, trace->count - 1, expected[i].last_ns, expected[i].prompt, expected[i].output, last->line);
        tb_trace_close(trace);
    }
}

#define S UINT64_C(1000000000)

Test(trace_formats, each_format_is_read_by_the_names_of_its_columns)
{
    static const struct understood formats[] = {
        {"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15T12:00:00.25Z,1,1500,20\n2024-10-15T13:00:00Z,0,7,8\n",
         "Azure multimodal 2024 CSV, 2 requests, 1 h", 3599750000000, 7, 8},
        {HEADER "2024-05-10 00:00:00.009930+00:00,10,5\n2024-05-11 00:00:00+00:00,2,3\n", "Azure 2024 CSV, 2 requests, 1 d",
         86400 * S - 9930000, 2, 3},
        {"Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n"
         "110.5,GPT-4,417,276,693,API log\n",
         "BurstGPT CSV, 2 requests, 1.8 min", 105500000000, 417, 276},
        {"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,-,0.3,a,1,2,3,b\n",
         "BurstGPT CSV, 1 request, 0 s", 0, 1, 2},
        {"arrived_at,num_prefill_tokens,num_decode_tokens\n0.0,374,44\n5e-05,3,1\n26.407057000000002,412,102\n",
         "vidur CSV, 3 requests, 26.4 s", 26407057000, 412, 102},
        {"request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n0,2,0,1.5,1,9,8\n"
         "1,2,0,2,1,7,6\n",
         "Splitwise CSV, 2 requests, 0.5 s", 500000000, 7, 6},
        {BAILIAN("61.114") BAILIAN("62"), "Bailian JSON Lines, 2 requests, 0.9 s", 886000000, 17, 132},
        {"{\"session_id\":\"a\",\"timestamp\":0.5,\"input_length\":300,\"output_length\":40}\n"
         "{\"session_id\":\"b\",\"timestamp\":1000,\"input_length\":3,\"output_length\":4}\n",
         "aiperf JSON Lines, 2 requests, 1 s", 999500000, 3, 4},
    };

    expect_understood(NULL, formats, sizeof(formats) / sizeof(formats[0]));
}

Test(trace_formats, columns_may_stand_in_any_order_among_others_and_lines_be_blank)
{
    static const struct understood same[] = {
        {"GeneratedTokens,TIMESTAMP,ContextTokens\n1,2023-11-16 18:15:46,2\n3,2023-11-16 18:15:47,4\n",
         "Azure 2023 CSV, 2 requests, 1 s", S, 4, 3},
        {",TIMESTAMP,ContextTokens,GeneratedTokens,\"a,b\"\n"
         "0,2023-11-16 18:15:46,2,1,\"x, \"\"y\"\"\"\n1,2023-11-16 18:15:47,\"4\",3,\n",
         "Azure 2023 CSV, 2 requests, 1 s", S, 4, 3},
        {"\xef\xbb\xbf\r\n" HEADER "\n2023-11-16 18:15:46,2,1\n \t\n2023-11-16 18:15:47,4,3\r\n\r\n\n",
         "Azure 2023 CSV, 2 requests, 1 s", S, 4, 3},
        {"\xef\xbb\xbf\n" JSON "\n" JSON "\r\n", "Mooncake JSON Lines, 2 requests, 0 s", 0, 6758, 500},
    };

    expect_understood(NULL, same, sizeof(same) / sizeof(same[0]));
}

Test(trace_formats, times_are_dates_or_count_from_anywhere)
{
    static const struct understood times[] = {
        {HEADER "2023-11-16T18:15:46.5Z,2,1\n2023-11-16 18:15:48,4,3\n", "Azure 2023 CSV, 2 requests, 1.5 s", 1500000000, 4, 3},
        {HEADER "2023-11-16 18:15:46+01:00,2,1\n2023-11-16T13:15:47-04:00,4,3\n", "Azure 2023 CSV, 2 requests, 1 s", S, 4, 3},
        {HEADER "0,2,1\n1e2,4,3\n", "Azure CSV, 2 requests, 1.7 min", 100 * S, 4, 3},
        {HEADER "1700158546,2,1\n1700158547,4,3\n", "Azure CSV, 2 requests, 1 s", S, 4, 3},
        {HEADER "1700158546.5,2,1\n1700158547.5,4,3\n", "Azure CSV, 2 requests, 1 s", S, 4, 3},
        {HEADER "1700158546123,2,1\n1700158547123,4,3\n", "Azure CSV in milliseconds, 2 requests, 1 s", S, 4, 3},
        {HEADER "1700158546123456,2,1\n1700158547123456,4,3\n", "Azure CSV in microseconds, 2 requests, 1 s", S, 4, 3},
        {HEADER "1700158546123456789,2,1\n1700158547123456790,4,3\n", "Azure CSV in nanoseconds, 2 requests, 1 s", S + 1, 4, 3},
    };

    expect_understood(NULL, times, sizeof(times) / sizeof(times[0]));
}

Test(trace_formats, a_format_may_be_made_by_hand)
{
    static const struct {
        const char *map;
        struct understood understood;
    } maps[] = {
        {"time=when,prompt=in,output=out",
         {"id,out,in,when\n0,1,2,2026-01-05 10:00:00\n1,3,4,2026-01-05 10:00:01\n", "mapped 2026 CSV, 2 requests, 1 s", S, 4, 3}},
        {"output=out,time=t:a:ms,prompt=in tokens",
         {"t:a,in tokens,out\n0,2,1\n1000.5,4,3\n", "mapped CSV, 2 requests, 1 s", 1000500000, 4, 3}},
        {"time=t:x,prompt=p,output=o", {"t:x,p,o\n0,2,1\n1,4,3\n", "mapped CSV, 2 requests, 1 s", S, 4, 3}},
        {"time=ts:us,prompt=p,output=o",
         {"{\"ts\":5,\"p\":2,\"o\":1}\n{\"ts\":1000005,\"p\":4,\"o\":3}\n", "mapped JSON Lines, 2 requests, 1 s", S, 4, 3}},
        {"time=ts:ns,prompt=p,output=o", {"{\"ts\":\"7\",\"p\":2,\"o\":1}\n", "mapped JSON Lines, 1 request, 0 s", 0, 2, 1}},
        {"time=timestamp:s,prompt=input_length,output=output_length",
         {OBJECT("0.5", "2", "1") OBJECT("2", "4", "3"), "mapped JSON Lines, 2 requests, 1.5 s", 1500000000, 4, 3}},
    };

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        struct tb_trace_map map;
        char why[128];

        cr_assert_eq(tb_trace_map_read(maps[i].map, &map, why, sizeof(why)), 0, "%s", why);
        expect_understood(&map.format, &maps[i].understood, 1);
    }
}

Test(trace_formats, ids_are_mapped_too)
{
    static const char text[] = "{\"t\":0,\"p\":3,\"o\":1,\"blocks\":[5,18446744073709551615,3],\"hash_ids\":7}\n";
    struct tb_trace_map map;
    struct tb_trace *trace = NULL;
    struct tb_why why;

    cr_assert_eq(tb_trace_map_read("time=t,prompt=p,output=o,ids=blocks", &map, why.text, sizeof(why.text)), 0);
    cr_assert_eq(tb_trace_parse("t", &map.format, text, strlen(text), &trace, &why), 0, "%s", why.text);
    expect_ids(trace, 0, 3, (uint64_t[]){5, UINT64_MAX, 3});
    tb_trace_close(trace);
    cr_expect_eq(tb_trace_parse("t", &map.format, "t,p,o\n", 6, &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t:1: ids (blocks) are read of JSON Lines alone");
    cr_expect_eq(tb_trace_parse("t", &map.format, "t,p\n", 4, &trace, &why), -EINVAL);
    cr_expect_str_eq(why.text, "t:1: the header \"t,p\" has no column o");
}

Test(trace_formats, a_map_that_is_none_is_explained)
{
    static const char *const maps[][2] = {
        {"", "it takes all of time=COLUMN,prompt=COLUMN,output=COLUMN"},
        {"time=a,prompt=b", "it takes all of time=COLUMN,prompt=COLUMN,output=COLUMN"},
        {"time=,prompt=b,output=c", "it takes all of time=COLUMN,prompt=COLUMN,output=COLUMN"},
        {"time=a,prompt=b,output=c,tokens=d", "'tokens' is not time, prompt, output or ids"},
        {"time=a,prompt,output=c", "'prompt' names no column"},
        {"time=a,prompt=b,output=c,prompt=d", "'prompt' is said twice"},
    };
    char why[128], longest[300];
    struct tb_trace_map map;

    for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
        cr_expect_eq(tb_trace_map_read(maps[i][0], &map, why, sizeof(why)), -EINVAL);
        cr_expect_str_eq(why, maps[i][1]);
    }
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    cr_expect_eq(tb_trace_map_read(longest, &map, why, sizeof(why)), -EINVAL);
    cr_expect_str_eq(why, "the names are too long");
}

Test(trace_formats, what_is_no_text_is_named_with_its_remedy)
{
    static const struct broken broken[] = {
        {"\xff\xfeT", "t: is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {"\xfe\xffT", "t: is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"},
        {"\xfd"
         "7zXZ",
         "t: is packed by xz: unpack it (xz -dc), and name the trace - to read it from a pipe"},
        {"BZh9", "t: is packed by bzip2: unpack it (bzip2 -dc), and name the trace - to read it from a pipe"},
        {"PK\3\4", "t: is a zip archive: unpack it"},
        {"PAR1", "t: is Parquet: CSV and JSON Lines are read"},
        {"version https://git-lfs.github.com/spec/v1\n", "t: is where Git LFS would put the file: git lfs pull fetches it"},
        {"[{}]", "t: is a JSON array: one object a line is read (jq -c '.[]')"},
    };

    expect_broken(broken, sizeof(broken) / sizeof(broken[0]));
}
