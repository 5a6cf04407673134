# SPDX-License-Identifier: Apache-2.0
"""Kills an engine in the middle of its work, many times on one file: for test_life.py.

Each engine is a child that was forked after the imports. It runs prompts and compares tokens with those of an engine without tiers;
another answer, or an error, is its exit status. The parent kills it at a random moment, be it while it starts. The last one is left
alone, and must find blocks of those before it.
"""

import json
import os
import pathlib
import random
import signal
import sys
import time
import traceback
from typing import Any

from engines import Engine, file, near, prompt, transfer

PROMPTS = [prompt(1500 + 200 * number, 50 + number) for number in range(6)]
WRONG, FAILED = 3, 4


def child(place: str, answers: pathlib.Path, seed: int, last: bool) -> int:
    chance = random.Random(seed)
    tiers = transfer(near("1MiB"), file(place, "8MiB"))
    with Engine(tiers) as engine:
        wanted = json.loads(answers.read_text())
        found = 0
        for _ in range(1 if last else 1000):
            for number in chance.sample(range(len(PROMPTS)), len(PROMPTS)):
                tokens, cached = engine.cached(PROMPTS[number], count=8)
                found += cached[0] > 0
                if tokens[0] != wanted[number]:
                    return WRONG
            engine.forget()
    return 0 if not last or found else FAILED


def in_child(*given: Any) -> int:
    number = os.fork()
    if number == 0:
        status = FAILED
        try:
            status = child(*given)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return number


def answer(answers: pathlib.Path) -> None:
    with Engine() as engine:
        answers.write_text(json.dumps([engine.tokens(one, count=8)[0] for one in PROMPTS]))


def main() -> int:
    place, kills = sys.argv[1], int(sys.argv[2])
    answers = pathlib.Path(place + ".answers")
    answer(answers)  # here: so all imports are there before the forks, and each child is soon at work
    chance, ends = random.Random(1), {"killed": 0, "wrong": 0, "failed": 0}
    for number in range(kills):
        one = in_child(place, answers, number, False)
        time.sleep(chance.uniform(0.1, 3.0))
        os.kill(one, signal.SIGKILL)
        status = os.waitpid(one, 0)[1]
        ends["killed" if os.WIFSIGNALED(status) else "wrong" if os.WEXITSTATUS(status) == WRONG else "failed"] += 1
    ends["last"] = os.waitstatus_to_exitcode(os.waitpid(in_child(place, answers, kills, True), 0)[1])
    print(json.dumps(ends))
    return 0


sys.exit(main())
