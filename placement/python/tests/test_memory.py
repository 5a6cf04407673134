# SPDX-License-Identifier: Apache-2.0
"""Topology, regions, pools: what they say, and that views outlive what they were made of."""

import gc
import os
import resource
import subprocess
import sys
import textwrap
import unittest

import numpy as np

import locus

PAGE = 4096
MACHINE = locus.topology()
NODE = next(node.node for node in MACHINE.nodes if node.allowed)


def mapped_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * PAGE


class Topology(unittest.TestCase):
    def test_this_machine_has_an_allowed_node_with_memory(self) -> None:
        node = MACHINE.node(NODE)
        self.assertGreater(node.total_bytes, node.free_bytes)
        self.assertEqual(len(MACHINE.distances), len(MACHINE.nodes))
        with self.assertRaises(KeyError):
            MACHINE.node(1000)

    def test_a_source_that_is_none_is_named(self) -> None:
        with self.assertRaisesRegex(locus.Error, "no-such-folder"):
            locus.topology("/no-such-folder")

    def test_a_thread_can_be_pinned(self) -> None:
        code = f"import locus, os; locus.pin_node({NODE}); locus.pin_cpu(min(os.sched_getaffinity(0)))"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], check=False).returncode, 0)
        with self.assertRaisesRegex(locus.Error, "node 1000"):
            locus.pin_node(1000)


class Region(unittest.TestCase):
    def test_all_pages_lie_on_the_node_by_two_witnesses(self) -> None:
        for windows in (False, True):
            region = locus.Region(64 * PAGE, node=NODE, populate=True, windows=windows)
            found = region.verify()
            self.assertEqual((found.requested_nodes, found.granted_nodes, found.granted_policy), ((NODE,), (NODE,), "bind"))
            self.assertEqual((found.pages, found.pages_present, found.pages_elsewhere, found.on), (64, 64, 0, {NODE: 64}))
            self.assertIn(found.numa_maps_agrees, (True, None))
            self.assertEqual(locus.where(region).on, {NODE: 64})

    def test_numpy_and_dlpack_take_it_without_a_copy(self) -> None:
        region = locus.Region(2 * PAGE)
        views = [np.asarray(region), np.frombuffer(region.memory, np.uint8), np.from_dlpack(region)]
        for i, view in enumerate(views):
            region.memory[i] = i + 1
            self.assertEqual((view.ctypes.data, int(view[i])), (views[0].ctypes.data, i + 1))
        views[0][:3] = 9  # (an older numpy makes of DLPack what is read-only)
        self.assertEqual(bytes(region.memory[:3]), b"\t\t\t")

    def test_a_view_outlives_its_region_and_then_the_memory_goes(self) -> None:
        before = mapped_bytes()
        region = locus.Region(64 << 20)
        view = np.asarray(region)
        region.close()
        self.assertTrue(region.closed)
        with self.assertRaisesRegex(locus.Error, "is closed"):
            region.verify()
        with self.assertRaisesRegex(locus.Error, "is closed"):
            region.memory  # noqa: B018
        del region
        gc.collect()
        view[:] = 7
        self.assertEqual(int(view[-1]), 7)
        self.assertGreaterEqual(mapped_bytes() - before, 64 << 20)
        del view
        gc.collect()
        self.assertLess(mapped_bytes() - before, 1 << 20)

    def test_what_open_refuses_is_a_sentence(self) -> None:
        for options, word in (
            ({"nbytes": 0}, "bytes is 0"),
            ({"nbytes": PAGE, "policy": "near"}, "'near' is none of by-node"),
            ({"nbytes": PAGE, "page": "8k"}, "'8k' is none of 4k"),
            ({"nbytes": PAGE, "node": 1000}, "node 1000"),
            ({"nbytes": PAGE, "nodes": [5000], "policy": "bind"}, "5000 is no number of a node"),
            ({"nbytes": 1 << 50, "populate": True}, "MiB"),
            ({"nbytes": PAGE, "policy": "interleave", "node": NODE, "windows": True}, "interleaving"),
        ):
            with self.subTest(word), self.assertRaisesRegex(locus.Error, word):
                locus.Region(**options)

    @unittest.skipIf("asan" in os.environ.get("LD_PRELOAD", ""), "the sanitizer takes all address space itself")
    def test_too_little_memory_is_said_and_not_taken(self) -> None:
        code = "import locus; locus.Region(1 << 30)"
        limit = 1 << 29
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("RLIMIT_AS", done.stderr.splitlines()[-1])


    def test_a_right_to_mbind_that_is_missing_is_named(self) -> None:
        """A seccomp filter in a child, as of a container."""
        code = textwrap.dedent(f"""
            import ctypes, platform, struct, locus
            number = {{"x86_64": 237, "aarch64": 235}}[platform.machine()]
            rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7FFF0000)]
            code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
            class Program(ctypes.Structure):
                _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_void_p)]
            prctl = ctypes.CDLL(None).prctl
            if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(code)))):
                raise SystemExit(77)
            locus.Pool(1, {PAGE}, policy="first-touch")
            locus.Pool(4, {PAGE}, node={NODE}, policy="bind")
            """)
        done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 77:
            self.skipTest("seccomp filters are not available here")
        self.assertRegex(done.stderr.splitlines()[-1], "locus.*Error: Pool: memory policies are forbidden")


class Where(unittest.TestCase):
    def test_any_memory_is_found_and_strides_are_followed(self) -> None:
        array = np.ones((16, PAGE), np.uint8)
        found = locus.where(array)
        self.assertEqual((found.pages_present, sum(found.on.values())), (found.pages, found.pages), "it was written")
        self.assertIn(found.pages, (16, 17))
        self.assertIn(locus.where(array[::2]).pages, (15, 16))
        self.assertIn(locus.where(array[::-1]).pages, (16, 17))
        self.assertEqual(locus.where(array[:0]).pages, 0)
        self.assertLessEqual(locus.where(bytes(PAGE)).pages, 2)

    def test_what_has_no_memory_is_refused(self) -> None:
        with self.assertRaisesRegex(locus.Error, "int has no memory"):
            locus.where(3)
        with self.assertRaisesRegex(locus.Error, "strided"):
            locus.where(memoryview(bytes(64))[::2])


class Pool(unittest.TestCase):
    def test_a_block_is_its_part_of_the_memory(self) -> None:
        pool = locus.Pool(4, PAGE, node=NODE, populate=True)
        owner, table = locus.Owner(pool), locus.Table(4, 16)
        with owner:
            owner.grow(table, 3)
        for i, block in enumerate(table.blocks):
            pool.view(block)[:] = bytes([i]) * PAGE
        self.assertEqual(sorted(set(bytes(pool.memory[: 3 * PAGE]))), [0, 1, 2])
        self.assertEqual(pool.stats().outstanding, 3)
        self.assertEqual(pool.verify().pages_elsewhere, 0)
        for stranger in (0, table.blocks[0] | 63 << 58, 9 << 32 | 1):
            with self.assertRaisesRegex(locus.Error, "no block of this pool"):
                pool.view(stranger)

    def test_a_view_of_a_block_outlives_the_pool(self) -> None:
        pool = locus.Pool(4, PAGE)
        owner, table = locus.Owner(pool), locus.Table(4, 16)
        with owner:
            owner.grow(table, 1)
        view = pool.view(table.blocks[0])
        owner.close()
        pool.close()
        del pool, owner
        gc.collect()
        view[:] = b"\7" * PAGE
        self.assertEqual(view[-1], 7)

    def test_what_open_refuses_is_a_sentence(self) -> None:
        for options, word in (
            ({"blocks": 0, "block_bytes": PAGE}, "blocks is 0"),
            ({"blocks": 1, "block_bytes": 0}, "block_bytes is 0"),
            ({"blocks": 1, "block_bytes": PAGE, "reuse": "random"}, "none of lifo"),
            ({"blocks": 1 << 26, "block_bytes": 1 << 30, "populate": True}, "MiB"),
        ):
            with self.subTest(word), self.assertRaisesRegex(locus.Error, word):
                locus.Pool(**options)
