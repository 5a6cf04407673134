// SPDX-License-Identifier: Apache-2.0
//
// Memory on node 0, and where its pages are.
#include <locus/locus.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    struct locus_region_config config = {.size = sizeof config};
    struct locus_region *region;
    config.bytes = 1 << 20;
    config.node = 0;
    int error = locus_region_open(&region, &config);
    if (error) {
        char why[400];
        locus_region_why(&config, error, why, sizeof why);
        fprintf(stderr, "no region: %s\n", why);
        return 1;
    }
    memset(locus_region_base(region), 1, locus_region_bytes(region));

    static struct locus_placement is;
    error = locus_region_verify(region, &is);
    if (!error && !is.verified.verify_errno)
        printf("%d pages are elsewhere\n", (int)is.verified.pages_elsewhere);
    locus_region_close(region);
    return error != 0;
}
