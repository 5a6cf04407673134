// SPDX-License-Identifier: Apache-2.0
//
// config_fuzz: libFuzzer on the reader of configurations. A text is taken as a whole, and then an arena could be opened so; or it
// is refused in one line with its place, and nothing is taken.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/pool/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void hold(bool truth)
{
    if (!truth)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char beginning[] = "pool.yaml:";
    struct tb_pool_config config = {.alignment_bytes = 7};
    const struct locus_pages_config *pages = &config.pages;
    char why[1024];
    int rc = tb_pool_config_parse("pool.yaml", (const char *)data, bytes, &config, why, sizeof why);
    hold(rc == 0 || rc == -EINVAL);
    hold((rc == 0) == (why[0] == '\0') && !strchr(why, '\n'));
    hold(rc == 0 || (strncmp(why, beginning, strlen(beginning)) == 0 && config.alignment_bytes == 7));
    if (rc)
        return 0;
    hold(pages->page_bytes >= 512 << 10 && pages->page_bytes <= 4 << 20 && pages->pages >= 1 && pages->pages <= LOCUS_PAGES_MAX);
    hold(pages->magazine_pages >= 1 && pages->magazine_pages <= LOCUS_MAGAZINE_MAX && pages->score);
    hold(pages->high_permille <= 1000);
    hold(pages->low_permille < pages->high_permille || (pages->low_permille == 0 && pages->high_permille == 0));
    hold(config.pin_overdue_ns > 0 && config.pin_timeout_ns > 0 && config.alignment_bytes > 0 && config.alignment_bytes <= 4096);
    return 0;
}
