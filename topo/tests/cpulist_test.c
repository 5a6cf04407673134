// SPDX-License-Identifier: Apache-2.0
//
// cpulist: what the kernel writes, lists and masks, is read exactly, and everything else is refused.
#include "topo/cpulist.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

static int parse(const char *text, struct topo_idset *out)
{
    return topo_cpulist_parse(text, strlen(text), out);
}

// Writes the set as a list again, number by number: an independent inverse.
static void check(const char *text, const unsigned *ids, unsigned count)
{
    struct topo_idset set;
    cr_assert_eq(parse(text, &set), 0, "\"%s\" was refused", text);
    cr_assert_eq(topo_idset_count(&set), count, "\"%s\" holds %u", text, topo_idset_count(&set));
    for (unsigned i = 0; i < count; i++)
        cr_assert(topo_idset_has(&set, ids[i]), "\"%s\" lacks %u", text, ids[i]);
}

Test(cpulist, reads_numbers_and_ranges)
{
    check("0\n", (unsigned[]){0}, 1);
    check("0-3,8,10-11\n", (unsigned[]){0, 1, 2, 3, 8, 10, 11}, 7);
    check("63-64", (unsigned[]){63, 64}, 2);
    check("7-7", (unsigned[]){7}, 1);
    check("8191", (unsigned[]){8191}, 1);
}

Test(cpulist, reads_nothing_as_the_empty_set)
{
    check("", NULL, 0);
    check("\n", NULL, 0);
}

Test(cpulist, forgets_what_was_in_the_set_before)
{
    struct topo_idset set;
    memset(&set, 0xff, sizeof(set));
    cr_assert_eq(parse("5", &set), 0);
    cr_assert_eq(topo_idset_count(&set), 1);
}

Test(cpulist, rejects_reversed_range)
{
    struct topo_idset set;
    cr_assert_eq(parse("3-1", &set), -EINVAL);
    cr_assert_eq(parse("0,9-8", &set), -EINVAL);
}

Test(cpulist, rejects_garbage)
{
    static const char *const bad[] = {",",  "0,",   ",0", "0,,1",  "-1",   "1-",    "1-2-3", "a",  "0x3",  " 0",
                                      "0 ", "0, 1", "+1", "1\n\n", "1\n2", "0-3:2", "1;2",   "--", "0-,2", "\n0"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct topo_idset set;
        cr_assert_eq(parse(bad[i], &set), -EINVAL, "\"%s\" was accepted", bad[i]);
    }
}

Test(cpulist, rejects_numbers_out_of_range)
{
    static const char *const large[] = {"8192", "0-8192", "4294967296", "18446744073709551616", "0-99999999999999999999999999"};
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        struct topo_idset set;
        cr_assert_eq(parse(large[i], &set), -ERANGE, "\"%s\" was accepted", large[i]);
    }
}

Test(cpulist, stops_at_the_given_length)
{
    struct topo_idset set;
    cr_assert_eq(topo_cpulist_parse("1-23", 3, &set), 0);
    cr_assert_eq(topo_idset_count(&set), 2);
    cr_assert_eq(topo_cpulist_parse("1\0,2", 4, &set), -EINVAL, "a zero byte is not a terminator");
}

static int parse_map(const char *text, struct topo_idset *out)
{
    return topo_cpumap_parse(text, strlen(text), out);
}

Test(cpumap, reads_words_the_highest_first)
{
    struct topo_idset set;
    cr_assert_eq(parse_map("00000000,00000d0f\n", &set), 0);
    cr_assert(topo_idset_count(&set) == 7 && topo_idset_has(&set, 3) && topo_idset_has(&set, 8) && topo_idset_has(&set, 11));
    cr_assert_eq(parse_map("8,00000001,80000000", &set), 0);
    cr_assert(topo_idset_count(&set) == 3 && topo_idset_has(&set, 31) && topo_idset_has(&set, 32) && topo_idset_has(&set, 67));
    cr_assert_eq(parse_map("0", &set), 0);
    cr_assert_eq(topo_idset_count(&set), 0, "memory without CPUs");
}

Test(cpumap, rejects_what_no_kernel_writes)
{
    static const char *const bad[] = {"",          "\n",        ",",   "f,", ",00000001", "1,1",   "1,,00000001",
                                      "123456789", "1,0000001", "0x1", "A",  " 1",        "1\n\n", "1-2"};
    struct topo_idset set;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(parse_map(bad[i], &set), -EINVAL, "\"%s\" was accepted", bad[i]);
}

Test(cpumap, rejects_cpus_out_of_range)
{
    char text[8 + 256 * 9 + 1] = "00000001";
    struct topo_idset set;
    for (int word = 0; word < 256; word++)
        strcat(text, ",00000000");
    cr_assert_eq(parse_map(text, &set), -ERANGE, "bit 8192");
    text[7] = '0';
    cr_assert_eq(parse_map(text, &set), 0);
}
