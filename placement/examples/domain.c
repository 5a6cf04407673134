// SPDX-License-Identifier: Apache-2.0
//
// A home on each node of this machine, and where its memory is.
#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    struct locus_domain_config config = {.size = sizeof config};
    struct locus_domain *domain;
    config.lanes = 2;
    config.blocks = 64;
    config.block_bytes = 65536;
    config.exhausted = LOCUS_EXHAUSTED_BORROW;
    int error = locus_domain_open(&domain, &config);
    if (error) {
        char why[400];
        locus_domain_why(&config, error, why, sizeof why);
        fprintf(stderr, "no domain: %s\n", why);
        return 1;
    }
    unsigned homes = locus_domain_homes(domain);
    struct locus_home_report *reports = calloc(homes, sizeof *reports);
    error = reports ? locus_domain_check(domain, reports) : 1;
    for (unsigned i = 0; i < homes && !error; i++) {
        bool well = reports[i].condition == LOCUS_HOME_OK;
        printf("node %d is %swell\n", reports[i].node, well ? "" : "not ");
    }
    free(reports);
    locus_domain_close(domain);
    return error != 0;
}
