// SPDX-License-Identifier: Apache-2.0
//
// R1/R2 and D1/D2 (team.c): a member sees what the caller wrote before the job, and the caller what a member wrote in it. The words
// are plain, and nothing but the pairs orders them.
#include "placement/base/tests/litmus.h"
#include "testbed/decode/team.h"

#define THREADS 2u
#define JOBS 8u

struct letters {
    unsigned question;          // the caller's
    unsigned answers[THREADS];
};

static void answer(void *context, uint32_t who, uint32_t count)
{
    struct letters *letters = context;
    litmus_expect(count == THREADS, "all are there");
    letters->answers[who] = letters->question + who;
}

int main(int argc, char **argv)
{
    unsigned runs = litmus_runs(argc, argv);
    for (unsigned run = 0; run < runs; run++) {
        struct tb_team *team;
        struct letters letters = {0};
        litmus_expect(tb_team_open(&team, THREADS, NULL) == 0, "a team opens");
        for (unsigned job = 1; job <= JOBS; job++) {
            letters.question = job;
            tb_team_run(team, answer, &letters);
            for (unsigned who = 0; who < THREADS; who++)
                litmus_expect(letters.answers[who] == job + who, "each answers this question");
        }
        tb_team_close(team);
    }
    printf("%u runs\n", runs);
    return 0;
}
