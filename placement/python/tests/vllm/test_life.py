# SPDX-License-Identifier: Apache-2.0
"""Engines that follow one another, that are loaded for long, and that are killed leave nothing behind, and nothing wrong."""

from __future__ import annotations

import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import unittest

from engines import BLOCK, Engine, file, folder, near, prompt, transfer

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = int(os.environ.get("LOCUS_ENGINES", "6"))
LOAD_S = float(os.environ.get("LOCUS_LOAD_S", "20"))
KILLS = int(os.environ.get("LOCUS_KILLS", "6"))
WARM = 3
LOADED = [prompt(300 + 31 * number, 300 + number) for number in range(80)]


def resident_bytes() -> int:
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def held() -> dict[str, set[str]]:
    """What a process may forget: threads by name, open files, files in shared memory."""
    files = set()
    for one in pathlib.Path("/proc/self/fd").iterdir():
        try:
            files.add(str(one.readlink()))
        except OSError:
            continue
    names = {thread.name for thread in threading.enumerate()}
    shared = pathlib.Path("/dev/shm")  # noqa: S108
    return {"threads": {name for name in names if name.startswith("locus")}, "files": {name for name in files if "/kv" in name},
            "shared": {one.name for one in shared.iterdir()}}


class Life(unittest.TestCase):
    def test_engines_after_one_another_leave_nothing(self) -> None:
        wanted, sizes, before = None, [], held()
        with folder() as place:
            for number in range(WARM + ENGINES):
                with Engine(transfer(near("64MiB"), file(place / "kv"))) as engine:
                    self.assertEqual(held()["threads"], {"locus-move", "locus-sink"})
                    tokens, cached = engine.cached(prompt(2000), count=4)
                    wanted = wanted or tokens
                    self.assertEqual((tokens, cached), (wanted, [15 * BLOCK if number else 0]))
                self.assertEqual(held(), before)
                sizes.append(resident_bytes())
        grown = (sizes[-1] - sizes[WARM - 1]) / ENGINES
        print(f"# {ENGINES} engines: {grown / 1024:.0f} KiB more resident memory for each")
        self.assertLess(grown, 8 << 20)

    def load(self, engine: Engine, wanted: list[list[int]] | None, runs: int = 0) -> tuple[int, int]:
        """For a time, or so many times: what resident memory grew by in the second half, and how many times."""
        chance, until, sizes = random.Random(5), time.monotonic() + LOAD_S, []
        while len(sizes) < runs if runs else time.monotonic() < until:
            chosen = chance.sample(range(80), chance.randrange(1, 24))
            tokens = engine.tokens(*[LOADED[one] for one in chosen], count=12)
            if wanted:
                self.assertEqual(tokens, [wanted[one] for one in chosen])
            if chance.random() < 0.3:
                engine.forget()
            sizes.append(resident_bytes())
        return sizes[-1] - sizes[len(sizes) // 2], len(sizes)

    def test_load_for_long_leaves_nothing(self) -> None:
        with Engine(kv_mib=6) as plain:
            wanted = plain.tokens(*LOADED, count=12)
            grown_plain, runs = self.load(plain, wanted)
        with folder() as place, Engine(transfer(near("3MiB"), file(place / "kv", "6MiB")), kv_mib=6) as engine:
            grown, _ = self.load(engine, wanted, runs)
            engine.settle()
            index, worker = engine.index, engine.worker
            self.assertFalse(index._seen or index._storing or index._loading or worker._active or worker._copies)
            self.assertEqual([slot for shelf in index.shelves for slot in shelf.slots.values() if slot.pins], [])
            for shelf, tier in zip(index.shelves, worker.tiers, strict=True):
                self.assertEqual(set(shelf.slots) - set(tier.objects()), set(), "the index has what no tier has")
            print(f"# {runs} times up to 24 requests: in the second half {grown >> 10} KiB more, {grown_plain >> 10} without tiers")
            self.assertLess(grown, 2 * grown_plain + (64 << 20))

    def test_killed_engines_serve_nothing_wrong_and_the_next_one_starts(self) -> None:
        with folder() as place:
            done = subprocess.run([sys.executable, str(HERE / "kill_main.py"), str(place / "kv"), str(KILLS)], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            told = json.loads(done.stdout.splitlines()[-1])
            print(f"# {told}")
            self.assertEqual(told, {"killed": KILLS, "wrong": 0, "failed": 0, "last": 0}, done.stderr[-2000:])
