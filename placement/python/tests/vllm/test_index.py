# SPDX-License-Identifier: Apache-2.0
"""The index alone, at random: what it believes is what workers that obey it have."""

from __future__ import annotations

import random
import unittest
from types import SimpleNamespace
from typing import Any

from engines import near
from vllm.v1.kv_offload.base import LookupResult, ReqContext, make_offload_key

from locus.vllm.index import COPY, DROP_FROM, SINK, Index, TierFound, key_of
from locus.vllm.tiers import tiers_of

KINDS = [near(), {"kind": "far", "size": "1MiB", "node": 0}, {"kind": "file", "size": "1MiB", "path": "/nowhere"}]


class Model:
    """A worker that does what it is told, at once."""

    def __init__(self, units: list[int]) -> None:
        self.units, self.has = units, [set() for _ in units]

    def obey(self, orders: list[Any]) -> None:
        for order in orders:
            if order.what in (COPY, SINK):
                assert order.key in self.has[order.at]
                self.add(order.to, order.key)
            if order.what in (DROP_FROM, SINK):
                self.has[order.at].discard(order.key)

    def add(self, at: int, key: bytes) -> None:
        self.has[at].add(key)


class Random(unittest.TestCase):
    def run_of(self, seed: int, policy: str, units: list[int]) -> Index:
        chance = random.Random(seed)
        index = Index(tiers_of({"tiers": KINDS[3 - len(units) :]}), policy, {0: 1})
        index.open([[TierFound(count, (1,), ()) for count in units]])
        model, chains = Model(units), [[f"{seed} {one} {at}".encode() * 4 for at in range(1 + one % 7)] for one in range(30)]
        stored: set[bytes] = set()
        for number in range(600):
            chain = chance.choice(chains)
            context = ReqContext(f"r{number}")
            keys = [make_offload_key(one, 0) for one in chain]
            index.see(SimpleNamespace(request_id=context.req_id, block_hashes=chain))
            found = 0
            while found < len(keys) and index.lookup(keys[found], context) is LookupResult.HIT:
                found += 1
            if found:
                spec = index.prepare_load(keys[:found], context)
                for key, promoted in zip(spec.keys, spec.tiers, strict=True):
                    self.assertTrue(any(key in has for has in model.has), "it was said to be there")
                    if promoted:
                        model.obey(index.take_orders())
                        model.add(0, key)
                index.complete_load(keys[:found], context)
            output = index.prepare_store(keys[found:], context)
            assert output is not None
            orders = index.take_orders()
            model.obey(orders)
            for key, at in zip(output.store_spec.keys, output.store_spec.tiers, strict=True):
                model.add(at, key)
                stored.add(key)
            index.complete_store(output.keys_to_store, context)
            index.on_request_finished(context)
            model.obey(index.take_orders())
            if chance.random() < 0.05 and model.has[0]:
                lost = chance.choice(sorted(model.has[0]))
                model.has[0].discard(lost)
                index.lost([(0, lost)])
                model.obey(index.take_orders())
            for shelf, has, most in zip(index.shelves, model.has, units, strict=True):
                self.assertEqual(set(shelf.slots), has)
                self.assertEqual(shelf.units_free, most - len(has))
                self.assertGreaterEqual(shelf.units_free, 0)
        self.assertGreater(len(stored), min(sum(units) // 2, 100))
        return index

    def test_calls_agree_with_a_model_of_workers(self) -> None:
        for policy in ("chain", "lru"):
            for units in ([20], [8, 12], [4, 6, 30], [50, 50, 500]):
                for seed in range(3):
                    with self.subTest(f"{policy} {units} {seed}"):
                        self.run_of(seed, policy, units)

    def test_a_block_never_leaves_before_those_below_it(self) -> None:
        for policy in ("chain", "lru"):
            index = Index(tiers_of({"tiers": KINDS[:1]}), policy, {0: 1})
            index.open([[TierFound(6, (1,), ())]])
            chains = [[f"{one} {at}".encode() * 8 for at in range(4)] for one in range(5)]
            for number, chain in enumerate(chains):
                context = ReqContext(f"r{number}")
                index.see(SimpleNamespace(request_id=context.req_id, block_hashes=chain))
                keys = [make_offload_key(one, 0) for one in chain]
                index.complete_store(index.prepare_store(keys, context).keys_to_store, context)
                for other in chains[: number + 1]:
                    there = [key_of(make_offload_key(one, 0)) in index.shelves[0].slots for one in other]
                    self.assertEqual(there, sorted(there, reverse=True), "a prefix is left")

    def test_what_is_in_use_never_leaves(self) -> None:
        index = Index(tiers_of({"tiers": KINDS[:1]}), "lru", {0: 1})
        index.open([[TierFound(3, (1,), ())]])
        context, keys = ReqContext("a"), [make_offload_key(bytes([one]) * 32, 0) for one in range(8)]
        index.complete_store(index.prepare_store(keys[:2], context).keys_to_store, context)
        index.prepare_load(keys[:2], context)
        self.assertEqual(index.prepare_store(keys[2:5], context).keys_to_store, keys[2:3], "one is free, and no other leaves")
        self.assertIs(index.lookup(keys[2], context), LookupResult.HIT_PENDING)
        index.lost([(0, key_of(keys[0]))])
        self.assertIs(index.lookup(keys[0], context), LookupResult.MISS, "it is lost, although in use")
        self.assertEqual(index.shelves[0].units_free, 0)
        index.complete_load(keys[:2], context)
        self.assertEqual(index.shelves[0].units_free, 1)

    def test_ranks_agree_on_what_all_of_them_have(self) -> None:
        index = Index(tiers_of({"tiers": KINDS[2:]}), "lru", {0: 1})
        a, b, c = (key_of(make_offload_key(bytes([one]) * 32, 0)) for one in range(3))
        index.open([[TierFound(9, (1,), (a, b))], [TierFound(8, (1,), (b, c))]])
        self.assertEqual(set(index.shelves[0].slots), {b})
        self.assertEqual({order.key for order in index.take_orders()}, {a, c})
        self.assertEqual(index.shelves[0].units_free, 7)
        index.reset_cache()
        self.assertEqual((index.shelves[0].units_free, len(index.take_orders())), (8, 1))
