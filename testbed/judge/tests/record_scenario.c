// SPDX-License-Identifier: Apache-2.0
//
// record_scenario: makes a run that never was below the current folder (record_fixture.h), and prints its log's path.
//
//   record_scenario postulate                its postulate, which a script may file before
//   record_scenario KIND HOST RUN [FACTOR [COMMIT [DIRTY [ROUNDS [SEED [ARM-B [unsealed | no-samples |
//                                                         two-nodes | guest]]]]]]]
//
// two-nodes and guest: what nodes_fixture.h makes of it. An official run goes to logs/, any other to build/logs/.

#include "testbed/judge/tests/nodes_fixture.h"
#include "testbed/judge/tests/record_fixture.h"

int main(int argc, char **argv)
{
    char path[512];
    struct record_fixture fixture = {
        .commit = FIXTURE_COMMIT, .dirty = "no", .factor = 1, .rounds = 20, .seed = 1, .invalid_round = -1};
    if (argc == 2 && strcmp(argv[1], "postulate") == 0)
        return fputs(fixture_postulate, stdout) < 0;
    if (argc < 4) {
        fprintf(stderr, "usage: record_scenario KIND HOST RUN [FACTOR [COMMIT [DIRTY [ROUNDS [SEED [ARM-B [unsealed]]]]]]]\n");
        return 2;
    }
    fixture.kind = argv[1];
    fixture.root = strcmp(argv[1], "official") ? "build/logs" : "logs";
    fixture.host = argv[2];
    fixture.run = argv[3];
    fixture.factor = argc > 4 ? strtod(argv[4], NULL) : 1;
    fixture.commit = argc > 5 ? argv[5] : FIXTURE_COMMIT;
    fixture.dirty = argc > 6 ? argv[6] : "no";
    fixture.rounds = argc > 7 ? atoi(argv[7]) : 20;
    fixture.seed = argc > 8 ? (unsigned)atoi(argv[8]) : 1;
    fixture.library = argc > 9 && strcmp(argv[9], "glibc") ? argv[9] : NULL;
    fixture.no_seal = argc > 10 && strcmp(argv[10], "unsealed") == 0;
    if (argc > 10 && strcmp(argv[10], "two-nodes") == 0)
        fixture.dress = fixture_dress_nodes;
    if (argc > 10 && strcmp(argv[10], "guest") == 0)
        fixture.dress = fixture_dress_guest;
    fixture.no_samples = argc > 10 && strcmp(argv[10], "no-samples") == 0;
    int rc = record_fixture_make(&fixture, path, sizeof path);
    if (rc) {
        fprintf(stderr, "record_scenario: %s: %s\n", path, strerror(-rc));
        return 1;
    }
    printf("log %s\n", path);
    return 0;
}
