// SPDX-License-Identifier: Apache-2.0
//
// recommend: see recommend.h.
#include "testbed/report/recommend.h"

#define NAMED 4u                // of those that tie; more are counted

void tb_recommend_add(struct tb_recommend *recommend, const char *name)
{
    if (recommend->count < TB_RECOMMENDED_MAX)
        recommend->names[recommend->count++] = name;
}

static void say_tie(struct tb_words *words, const struct tb_recommend *tie)
{
    uint32_t named = tie->count <= NAMED + 1 ? tie->count : NAMED;
    tb_say(words, "No difference between ");
    for (uint32_t i = 0; i < named; i++)
        tb_say(words, "%s%s", i == 0 ? "" : i + 1 == tie->count ? " and " : ", ", tie->names[i]);
    if (named < tie->count)
        tb_say(words, " and %u more", tie->count - named);
    tb_say(words, ": %s.", tie->why);
    if (tie->separates)
        tb_say(words, " %s would tell them apart.", tie->separates);
    if (*tie->because)
        tb_say(words, " %s.", tie->because);
}

void tb_say_recommend(struct tb_words *words, const struct tb_recommend *recommend)
{
    const char *doubt = recommend->few     ? "Too few rounds to tell, 6 are the least (--rounds)"
                        : recommend->noisy ? "Too noisy to tell: end what else runs, and measure again"
                                           : NULL;
    if (recommend->count > 1) {
        say_tie(words, recommend);
        if (doubt)
            tb_say(words, " %s.", doubt);
        return;
    }
    if (doubt)
        tb_say(words, "%s. By the medians alone, %s is ahead", doubt, recommend->names[0]);
    else
        tb_say(words, "Use %s", recommend->names[0]);
    tb_say(words, "%s%s.", *recommend->because ? ": " : "", recommend->because);
}
