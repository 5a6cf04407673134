# SPDX-License-Identifier: Apache-2.0
"""vLLM as people run it: main, EngineCore and workers are processes, and a server answers over HTTP."""

from __future__ import annotations

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.request
from typing import Any

from engines import BLOCK, LONGEST, Engine, file, folder, model, near, prompt, transfer

HERE = pathlib.Path(__file__).resolve().parent
LONG = prompt(3900)
WAIT_S = 120


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONHASHSEED", "VLLM_ENABLE_V1_MULTIPROCESSING")}
    return {**kept, "VLLM_LOGGING_LEVEL": "INFO", **more}


class DefaultMode(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with Engine() as plain:
            cls.cold = plain.tokens(LONG)[0]

    def run_engine(self, place: pathlib.Path, more: dict[str, Any] | None = None, **variables: str) -> tuple[dict[str, Any], str]:
        wanted = {"tiers": transfer(near("32MiB"), file(place / "kv")), **(more or {})}
        done = subprocess.run([sys.executable, str(HERE / "engine_main.py"), json.dumps(wanted)], capture_output=True, text=True,
                              env=environment(**variables), timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        told = [line for line in done.stdout.splitlines() if line.startswith('{"tokens"')]
        return json.loads(told[-1]), done.stdout + done.stderr

    def test_of_three_processes_and_the_next_three_find_it(self) -> None:
        with folder() as place:
            first, log = self.run_engine(place, LOCUS_VLLM_KV="4k")
            self.assertEqual(first["tokens"], [self.cold] * 3)
            self.assertEqual(first["cached"], [0, 30 * BLOCK, 30 * BLOCK])
            self.assertRegex(log, r"vLLM's KV cache: 0\.03 GiB at [0-9a-f]+ .* verified \{\d+: 8192\} pages by node")
            self.assertRegex(log, r"rank 0: tier near: .* verified \{\d+: 8192\} pages by node")
            second, log = self.run_engine(place)
            self.assertEqual(second["tokens"], [self.cold] * 3)
            self.assertEqual(second["cached"], [30 * BLOCK] * 3)
            self.assertNotIn("vLLM's KV cache:", log, "the plug-in is off by default")
            self.assertRegex(log, r"tier file: .*, \d+ blocks of an earlier engine")

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_two_ranks_have_a_part_of_each_block_and_a_file_each(self) -> None:
        with folder() as place:
            first, _ = self.run_engine(place, {"ranks": 2}, VLLM_CPU_OMP_THREADS_BIND="0|1")
            self.assertEqual(first["tokens"][1:], first["tokens"][:1] * 2)
            self.assertEqual(first["cached"], [0, 30 * BLOCK, 30 * BLOCK])
            self.assertEqual(sorted(path.name for path in place.iterdir()), ["kv.0", "kv.1"])
            second, _ = self.run_engine(place, {"ranks": 2}, VLLM_CPU_OMP_THREADS_BIND="0|1")
            self.assertEqual((second["tokens"], second["cached"]), (first["tokens"], [30 * BLOCK] * 3))
            (place / "kv.1").unlink()  # what one rank has is of no use alone
            third, _ = self.run_engine(place, {"ranks": 2}, VLLM_CPU_OMP_THREADS_BIND="0|1")
            self.assertEqual((third["tokens"], third["cached"]), (first["tokens"], [0, 30 * BLOCK, 30 * BLOCK]))


class Server(unittest.TestCase):
    """`python -m vllm.entrypoints.openai.api_server`, on the loopback."""

    def ask(self, path: str, body: dict[str, Any] | None = None) -> str:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return answer.read().decode()

    def complete(self) -> str:
        return json.loads(self.ask("/v1/completions", {"model": "m", "prompt": LONG, "max_tokens": 32, "temperature": 0,
                                                       "ignore_eos": True}))["choices"][0]["text"]

    def start(self, place: pathlib.Path) -> subprocess.Popen[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        server = subprocess.Popen(
            [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", model(), "--served-model-name", "m", "--host",
             "127.0.0.1", "--port", str(self.port), "--dtype", "float32", "--enforce-eager", "--max-model-len", str(LONGEST),
             "--kv-cache-memory-bytes", str(32 << 20), "--kv-transfer-config",
             json.dumps(transfer(near("32MiB"), file(place / "kv")))],
            env=environment(VLLM_SERVER_DEV_MODE="1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        until = time.monotonic() + WAIT_S
        while True:
            self.assertIsNone(server.poll(), "the server has ended")
            self.assertLess(time.monotonic(), until, "the server is not ready")
            try:
                self.ask("/health")
                return server
            except OSError:
                time.sleep(0.3)

    def figure(self, name: str, label: str = "") -> float:
        found = re.findall(rf"^{name}(?:_total)?\{{.*{label}.*\}} (\S+)$", self.ask("/metrics"), re.MULTILINE)
        return sum(float(value) for value in found)

    def test_restores_after_a_restart_and_its_metrics_say_so(self) -> None:
        with folder() as place:
            server = self.start(place)
            try:
                first = self.complete()
                self.ask("/reset_prefix_cache", {})
                self.assertEqual(self.complete(), first)
                self.assertEqual(self.figure("vllm:external_prefix_cache_hits"), 30 * BLOCK)
                self.assertEqual(self.figure("vllm:locus_tier_hit_blocks", 'tier="near"'), 30)
                self.assertEqual(self.figure("vllm:locus_tier_load_seconds_count", 'tier="near"'), 1)
                self.assertGreater(self.figure("vllm:locus_tier_bytes", 'tier="near"'), 3e6)
                time.sleep(1)
            finally:
                server.terminate()
                server.wait()
            server = self.start(place)
            try:
                self.assertEqual(self.complete(), first)
                self.assertEqual(self.figure("vllm:locus_tier_hit_blocks", 'tier="file"'), 30)
                self.assertEqual(self.figure("vllm:locus_tier_lost_blocks"), 0)
            finally:
                server.terminate()
                server.wait()
