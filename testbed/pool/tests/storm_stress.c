// SPDX-License-Identifier: Apache-2.0
//
// storm_stress [SECONDS [SEED]]: storms (storm.h) on small arenas, with another seed, number of threads and configuration each
// time, while another thread takes audits. The checker of contents and the sanitizers judge.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/pool/storm.h"
#include "testbed/stats/latency.h"
#include "testbed/stats/random.h"

static struct tb_storm *storm;
static bool failed;

static void tick(void *context, uint64_t now_ns) // by the thread that waits, while the others work
{
    static struct tb_pool_audit audit;
    const struct locus_pages_stats *stats = &audit.stats;
    (void)context;
    (void)now_ns;
    tb_storm_audit(storm, &audit);
    if (stats->pages_free > stats->pages || stats->pages_largest > stats->pages || stats->pages_pinned > stats->pages) {
        printf("an audit with %u free, %u in one stretch and %u pinned of %u pages\n", stats->pages_free, stats->pages_largest,
               stats->pages_pinned, stats->pages);
        failed = true;
    }
}

static void config_choose(struct tb_pool_config *config, struct tb_storm_config *how, uint64_t *random)
{
    *config = tb_pool_config_defaults;
    config->pages.page_bytes = 512 << 10;
    config->pages.page = LOCUS_PAGE_4K;
    config->pages.pages = 16 + (uint32_t)(tb_random_next(random) % 64);
    config->pages.magazine_pages = 1 + (uint32_t)(tb_random_next(random) % 16);
    config->pages.first_fit = tb_random_next(random) % 2;
    config->pages.score = locus_score_at((uint32_t)(tb_random_next(random) % 3)); // of two, or the default
    if (tb_random_next(random) % 4 == 0)
        config->pages.high_permille = config->pages.low_permille = 0;
    if (tb_random_next(random) % 3 == 0)
        config->pages.split = LOCUS_SPLIT_ENDS;
    *how = (struct tb_storm_config){.threads = 1 + (uint32_t)(tb_random_next(random) % 6),
                                    .seed = tb_random_next(random),
                                    .for_ns = 10000000000,
                                    .tick = tick};
}

static bool storm_once(uint64_t *random, uint64_t *calls)
{
    struct tb_pool_config config;
    struct tb_storm_config how;
    struct tb_storm_report report;
    char why[512];
    config_choose(&config, &how, random);
    if (tb_storm_open(&storm, &config, &how, why, sizeof why)) {
        printf("%s\n", why);
        return false;
    }
    int error = tb_storm_run(storm);
    if (error) {
        printf("seed %llu, %u threads: %s\n", (unsigned long long)how.seed, how.threads, strerror(-error));
        return false; // with threads that stand still nothing can be closed
    }
    tb_storm_rest(storm);
    tb_storm_report(storm, &report);
    *calls += report.calls;
    bool held = report.damaged == 0 && report.pins_lost == 0 && report.error == 0;
    if (!held)
        printf("seed %llu, %u threads, %u pages: damaged %llu, pins lost %llu, error %d: %s\n", (unsigned long long)how.seed,
               how.threads, config.pages.pages, (unsigned long long)report.damaged, (unsigned long long)report.pins_lost,
               report.error, report.first);
    tb_storm_close(storm);
    return held;
}

int main(int argc, char **argv)
{
    uint64_t end_ns = tb_latency_now_ns() + (uint64_t)((argc > 1 ? atof(argv[1]) : 3) * 1e9), calls = 0, storms = 0;
    uint64_t random = argc > 2 ? strtoull(argv[2], NULL, 10) : tb_latency_now_ns();
    printf("seed %llu\n", (unsigned long long)random);
    do {
        if (!storm_once(&random, &calls) || failed)
            return EXIT_FAILURE;
        storms++;
    } while (tb_latency_now_ns() < end_ns);
    printf("%llu storms, %llu calls\n", (unsigned long long)storms, (unsigned long long)calls);
    return EXIT_SUCCESS;
}
