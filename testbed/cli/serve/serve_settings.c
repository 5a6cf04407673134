// SPDX-License-Identifier: Apache-2.0
//
// serve_settings: see serve_settings.h. The cause is found by trying: a word that nothing goes before is refused for what it is,
// and otherwise for what came before it.
#include "testbed/cli/serve/serve_settings.h"

#include <stdio.h>
#include <string.h>

#include "testbed/base/cli.h"
#include "testbed/base/words.h"
#include "testbed/serving/keep.h"

static const struct tb_serving_settings nothing = {.watermark_percent = -1};

static void say_values(struct tb_words *words, const char *option)
{
    static const struct {
        const char *option, *unit;
        double least, most;
    } numbers[] = {
        {"load", "a percentage", 1, 1000},
        {"watermark", "a percentage", 0, 99},
        {"requests", "a number of requests", 1, UINT32_MAX},
        {"read-ps", "a number of picoseconds", TB_READ_PS_LEAST, TB_READ_PS_MOST},
        {"step-us", "a whole number of microseconds", 1, TB_STEP_US_MOST},
        {"far", "a number of blocks", 1, TB_KEPT_BLOCKS_MAX},
        {"file", "a number of blocks", 1, TB_KEPT_BLOCKS_MAX},
        {"far-gbs", "a number of GB/s", TB_TIER_GBS_LEAST, TB_TIER_GBS_MOST},
        {"file-gbs", "a number of GB/s", TB_TIER_GBS_LEAST, TB_TIER_GBS_MOST},
        {"far-us", "a number of microseconds", TB_TIER_US_LEAST, TB_TIER_US_MOST},
        {"file-us", "a number of microseconds", TB_TIER_US_LEAST, TB_TIER_US_MOST},
        {"token-us", "a number of microseconds", TB_TIER_US_LEAST, TB_TIER_US_MOST},
    };
    const struct tb_shape *shape;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(option, numbers[i].option) == 0)
            tb_say(words, "%s from %.10g to %.10g%s", numbers[i].unit, numbers[i].least, numbers[i].most,
                   strcmp(option, "load") == 0 ? ", or all" : "");
    if (strcmp(option, "victim") == 0)
        tb_say(words, "last, largest or cheapest");
    for (size_t i = 0; strcmp(option, "shape") == 0 && (shape = tb_shape_at(i)); i++)
        tb_say(words, "%s%s", i ? ", " : "", shape->name);
}

static error_t refuse(struct argp_state *state, const struct tb_serve_said *said, const char *option, const char *argument,
                      const char *word, tb_serve_read_fn *read)
{
    struct tb_serving_settings settings = nothing;
    struct tb_words values = {0};
    if (!read(&settings, word)) {
        say_values(&values, option);
        return tb_cli_bad(state, "--%s: '%s' is none of its values: %s", option, argument, values.text);
    }
    for (unsigned i = 0; i < said->count; i++)
        if (strcmp(said->one[i].option, option) == 0)
            return tb_cli_bad(state, "--%s is given twice: leave one out", option);
    for (unsigned i = 0; i < said->count; i++) {
        settings = nothing;
        said->one[i].read(&settings, said->one[i].word);
        if (!read(&settings, word))
            return tb_cli_bad(state, "--%s does not go with --%s: leave one out", option, said->one[i].option);
    }
    return tb_cli_bad(state, "--%s: the cell says that already", option);
}

error_t tb_serve_setting(struct argp_state *state, struct tb_serve_said *said, struct tb_serving_settings *settings,
                         const char *option, const char *word, const char *argument, const char *unit, tb_serve_read_fn *read)
{
    char whole[sizeof said->one->word];
    bool fits = snprintf(whole, sizeof whole, "%s%s%s", word, argument, unit) < (int)sizeof whole;
    if (!fits || !read(settings, whole))
        return refuse(state, said, option, argument, fits ? whole : "", read);
    if (said->count < TB_SERVE_SAID_MAX) {
        said->one[said->count].option = option;
        said->one[said->count].read = read;
        strcpy(said->one[said->count++].word, whole);
    }
    return 0;
}
