# SPDX-License-Identifier: Apache-2.0
"""What goes wrong is said or computed again, and never becomes a token."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import subprocess
import unittest
from collections.abc import Iterator
from typing import Any

from engines import BLOCK, Engine, file, folder, near, prompt, transfer

import locus
from locus._native import ffi, lib

LONG = prompt(3900)
SHORT = prompt(1000, 1)


def spoil(tier: Any) -> None:
    """Changes a bit of each byte of a tier in memory."""
    region = lib.locus_tier_region(tier._pointer)
    memory = ffi.buffer(lib.locus_region_base(region), lib.locus_region_bytes(region))
    memory[:] = bytes(byte ^ 64 for byte in memory[:])


class Spoiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with Engine() as plain:
            cls.cold = plain.tokens(LONG, SHORT)

    def test_bytes_change_tokens_without_a_checksum(self) -> None:
        with Engine(transfer(near("8MiB", checksum=False))) as engine:
            self.assertEqual(engine.tokens(LONG, SHORT), self.cold)
            engine.settle()
            engine.forget()
            spoil(engine.worker.tiers[0])
            self.assertNotEqual(engine.tokens(LONG), self.cold[:1])

    def test_bytes_are_computed_again_with_one(self) -> None:
        with Engine(transfer(near("8MiB"))) as engine:
            self.assertEqual(engine.tokens(LONG, SHORT), self.cold)
            engine.settle()
            engine.forget()
            spoil(engine.worker.tiers[0])
            tokens, cached = engine.cached(LONG, SHORT)
            self.assertEqual(tokens, self.cold)
            self.assertEqual(cached, [0, 0])
            engine.settle()
            engine.forget()
            self.assertEqual(engine.cached(LONG, SHORT), (self.cold, [30 * BLOCK, 7 * BLOCK]))

    def test_a_block_in_the_middle_costs_what_is_behind_it(self) -> None:
        with Engine(transfer(near("8MiB"))) as engine:
            engine.tokens(LONG)
            engine.settle()
            for _ in range(3):
                engine.forget()
                engine.worker.tiers[0].many(2, list(engine.index.shelves[0].slots)[11:12])  # the index does not know
                tokens, cached = engine.cached(LONG)
                self.assertEqual(tokens, self.cold[:1])
                self.assertLess(cached[0], 30 * BLOCK)
                engine.settle()

    def test_groups_of_layers_are_computed_again_together(self) -> None:
        with Engine(name="sliding") as plain:
            cold = plain.tokens(LONG)
        with Engine(transfer(near("16MiB")), name="sliding") as engine:
            engine.tokens(LONG)
            engine.settle()
            engine.forget()
            spoil(engine.worker.tiers[0])
            self.assertEqual(engine.tokens(LONG), cold)

    def test_file_is_computed_again(self) -> None:
        with folder() as place, Engine(transfer(file(place / "kv", "16MiB"))) as engine:
            self.assertEqual(engine.tokens(LONG), self.cold[:1])
            engine.settle()
            engine.forget()
            raw = bytearray((place / "kv").read_bytes())
            half = len(raw) // 8
            raw[half:] = bytes(byte ^ 64 for byte in raw[half:])
            with (place / "kv").open("r+b") as opened:
                opened.write(raw)
            self.assertEqual(engine.tokens(LONG), self.cold[:1])


class Restarted(unittest.TestCase):
    def test_an_engine_finds_what_an_earlier_one_computed(self) -> None:
        for tiers in ([], [near("2MiB")], [near("64MiB")]):
            with self.subTest(tiers), folder() as place:
                with Engine(transfer(*tiers, file(place / "kv"))) as first:
                    cold = first.tokens(LONG, SHORT)
                with Engine(transfer(*tiers, file(place / "kv"))) as second:
                    self.assertEqual(second.cached(LONG, SHORT), (cold, [30 * BLOCK, 7 * BLOCK]))
                    second.settle()
                    second.forget()
                    self.assertEqual(second.cached(LONG, SHORT), (cold, [30 * BLOCK, 7 * BLOCK]))

    def test_a_file_of_another_engine_is_refused_in_a_sentence(self) -> None:
        others: list[tuple[str, dict[str, Any]]] = [
            ("model", {"seed": 2}), ("type", {"dtype": "bfloat16"}), ("tokens in a block", {"block_size": 64}),
            ("bytes of a block", {"name": "sliding"}), ("keys", {"prefix_caching_hash_algo": "sha256_cbor"})]
        with folder() as place:
            with Engine(transfer(file(place / "kv"))) as engine:
                engine.tokens(SHORT)
            for what, other in others:
                with self.subTest(what):
                    self.assertIn(f"{what}: ", refused(transfer(file(place / "kv")), **other))
            with Engine(transfer(file(place / "kv"))) as engine:
                self.assertEqual(engine.cached(SHORT)[1], [7 * BLOCK], "a refusal has left the file as it was")

    def test_keys_that_do_not_repeat_are_refused(self) -> None:
        with folder() as place:
            self.assertIn("sha256", refused(transfer(file(place / "kv")), prefix_caching_hash_algo="xxhash"))


def refused(tiers: dict[str, Any], **more: Any) -> str:
    """Why there is no such engine."""
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            Engine(tiers, **more).close()
        except Exception as error:
            return str(error)
        finally:
            abandoned()
    raise AssertionError("it was not refused")


def abandoned() -> None:
    """An engine that did not come to be leaves vLLM's process groups behind."""
    from engines import forget_engine
    from vllm.distributed import cleanup_dist_env_and_memory
    from vllm.distributed.kv_transfer import kv_transfer_state

    kv_transfer_state._KV_CONNECTOR_AGENT = None
    cleanup_dist_env_and_memory()
    forget_engine()


class BadInput(unittest.TestCase):
    def test_is_refused_in_a_sentence(self) -> None:
        for why, tiers in (
            ("has no tiers", {}),
            ("kind is one of", {"tiers": [{"kind": "gpu", "size": "1GiB"}]}),
            ("no 'pth'", {"tiers": [{"kind": "file", "pth": "/x", "size": "1GiB"}]}),
            ("size is '1 apple'", {"tiers": [{"kind": "near", "size": "1 apple"}]}),
            ("has no size", {"tiers": [{"kind": "near"}]}),
            ("has a path", {"tiers": [{"kind": "file", "size": "1GiB"}]}),
            ("page is one of", {"tiers": [{"kind": "near", "size": "1GiB", "page": "3m"}]}),
            ("only be the last", {"tiers": [{"kind": "int8", "size": "1GiB"}, {"kind": "near", "size": "1GiB"}]}),
            ("only be the last", {"tiers": [{"kind": "file", "size": "1GiB", "path": "/x"}, {"kind": "near", "size": "1GiB"}]}),
            ("are the same", {"tiers": [{"kind": "near", "size": "1GiB"}] * 2}),
            ("no policy 'mru'", {"tiers": [near()], "policy": "mru"}),
            ("leave block_size", {"tiers": [near()], "block_size": 256}),
            ("node", {"tiers": [near(node=99)]}),
            *([("no other node", {"tiers": [{"kind": "far", "size": "1GiB"}]})] if len(locus.topology().nodes) == 1 else []),
        ):
            with self.subTest(why):
                wanted = transfer()
                wanted["kv_connector_extra_config"] = tiers
                self.assertIn(why, refused(wanted))

    def test_too_little_memory_is_refused_in_a_sentence(self) -> None:
        self.assertRegex(refused(transfer(near("4TiB"))), "(MiB|GiB|memory)")

    def test_a_file_that_is_cut_off_is_refused(self) -> None:
        with folder() as place:
            with Engine(transfer(file(place / "kv"))) as engine:
                engine.tokens(SHORT)
            os.truncate(place / "kv", 1 << 20)
            self.assertIn(str(place / "kv"), refused(transfer(file(place / "kv"))))

    def test_a_file_of_others_is_refused(self) -> None:
        with folder() as place:
            (place / "kv").write_bytes(b"not ours" * 1000)
            self.assertIn(str(place / "kv"), refused(transfer(file(place / "kv"))))
            (place / "open").touch(0o666)
            os.chmod(place / "open", 0o666)
            self.assertIn(str(place / "open"), refused(transfer(file(place / "open"))))
            if os.geteuid() == 0:
                (place / "root").touch(0o600)
                os.chown(place / "root", 12345, -1)
                self.assertIn(str(place / "root"), refused(transfer(file(place / "root"))))

    def test_a_full_file_system_is_refused(self) -> None:
        with small_file_system() as place:
            if place is None:
                self.skipTest("mount is not allowed here")
            self.assertIn("kv", refused(transfer(file(place / "kv", "64MiB"))))
            self.assertEqual(list(place.iterdir()), [], "nothing is left of the attempt")

    def test_two_engines_on_one_file_are_told_so(self) -> None:
        from locus.vllm import tiers

        with folder() as place:
            before, tiers._BUSY_S = tiers._BUSY_S, 0.2
            try:
                with Engine(transfer(file(place / "kv"))) as engine:
                    engine.tokens(SHORT)
                    other = tiers.TierConfig("file", 256 << 20, path=str(place / "kv"))
                    with self.assertRaisesRegex(OSError, "kv"):
                        tiers.Opened(other, [4096], None)
            finally:
                tiers._BUSY_S = before


@contextlib.contextmanager
def small_file_system() -> Iterator[pathlib.Path | None]:
    """Of 8 MiB."""
    with folder() as place:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)], capture_output=True, check=False)
        if mounted.returncode:
            yield None
            return
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)
