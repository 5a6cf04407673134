# SPDX-License-Identifier: Apache-2.0
"""The scheduler's side: which block is in which tier, and what sinks or is dropped when one is full.

vLLM stores a block as soon as it is computed. It goes to the first tier, and as long as the last one is a file with free room, a
copy goes there at once, for the next process. When a tier is full, the policy names a block. It sinks to the next tier, or is
dropped if a lower one has it already. What is found further down is copied up again, and stays where it was.

The index decides, and workers obey: it knows each tier's units, and sends orders. A worker that could not obey (a full disk, a
block that had to make room before it was copied) reports the block as lost. So ranks agree. The index may be wrong about a block
for some steps; that costs a load that fails, whose request is computed.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vllm.v1.kv_offload.base import (
    LoadStoreSpec,
    LookupResult,
    OffloadingManager,
    OffloadKey,
    PrepareStoreOutput,
    ReqContext,
    RequestOffloadingContext,
    get_offload_group_idx,
    make_offload_key,
)
from vllm.v1.metrics.cache_hit_source import CacheHitSource

from .._core import owned
from .._native import ffi, lib
from .metrics import Stats
from .tiers import KEY_BYTES, TierConfig, refuse

COPY, SINK, DROP_FROM, CLEAR, NOTHING = range(5)
_NONE = 0xFFFFFFFF  # LOCUS_EVICT_NONE


def key_of(offload_key: OffloadKey) -> bytes:
    """The hash that vLLM has of a block, and its group, as a tier's key."""
    return hashlib.blake2b(offload_key, digest_size=KEY_BYTES).digest()


@dataclass
class Order:
    """What a worker has to do with a block that it has."""

    what: int
    key: bytes = b""
    at: int = 0
    to: int = 0
    group: int = 0


@dataclass
class Blocks(LoadStoreSpec):
    """Blocks of a job, in the order of vLLM's: their keys, and numbers.

    Of a store the tier for each; of a load 1 if it is also copied to the first tier.
    """

    request: str
    keys: list[bytes]
    tiers: list[int]


@dataclass(frozen=True)
class TierFound:
    """A tier as a worker has opened it."""

    units: int
    units_of: tuple[int, ...]
    keys: tuple[bytes, ...]


@dataclass(eq=False, slots=True)
class _Slot:
    key: bytes
    number: int
    units: int
    group: int
    parent: bytes | None
    ready: bool = False
    pins: int = 0
    gone: bool = False


class _Policy:
    """One of the library's (locus/evict.h), by name."""

    def __init__(self, name: str, blocks: int) -> None:
        ops = lib.locus_evict_find(name.encode())
        if not ops:
            raise refuse(f"there is no policy {name!r}: chain, lru")
        self.ops, out = ops, ffi.new("void **")
        error = ops.open(out, blocks)
        if error:
            raise MemoryError(f"locus.vllm: no memory for the policy of {blocks} blocks")
        self.state = owned(out[0], ops.close)

    def request(self, keys: Sequence[bytes]) -> None:
        if self.ops.request and keys:
            self.ops.request(self.state, time.monotonic_ns(), ffi.from_buffer("struct locus_id[]", b"".join(keys)), len(keys))

    def miss(self, key: bytes) -> None:
        if self.ops.miss:
            self.ops.miss(self.state, ffi.from_buffer("struct locus_id[]", key)[0])

    def hit(self, number: int) -> None:
        self.ops.hit(self.state, number)

    def insert(self, slot: _Slot, parent: int, fresh: bool) -> None:
        self.ops.insert(self.state, slot.number, ffi.from_buffer("struct locus_id[]", slot.key)[0], parent, fresh)

    def victim(self) -> int:
        return int(self.ops.victim(self.state))

    def remove(self, number: int) -> None:
        self.ops.remove(self.state, number)


class Shelf:
    """What one tier has. A slot with pins is in use, and never a victim; the policy ranks the others."""

    def __init__(self, found: TierFound, policy: str) -> None:
        self.units_free, self.units_of = found.units, found.units_of
        most = max(1, found.units // min(found.units_of))
        self.policy = _Policy(policy, most)
        self.slots: dict[bytes, _Slot] = {}
        self._below: dict[bytes, dict[bytes, None]] = {}
        self._owner: list[_Slot | None] = [None] * most
        self._numbers = list(range(most - 1, -1, -1))

    def ready(self, key: bytes) -> bool:
        """Can it be loaded from here?"""
        slot = self.slots.get(key)
        return slot is not None and slot.ready and not slot.gone

    def add(self, key: bytes, group: int, parent: bytes | None, *, ready: bool) -> _Slot:
        """There is room for it. One that is not ready has a pin."""
        slot = _Slot(key, self._numbers.pop(), self.units_of[group], group, parent, ready, int(not ready))
        self.units_free -= slot.units
        self.slots[key] = self._owner[slot.number] = slot
        if parent is not None:
            self._below.setdefault(parent, {})[key] = None
        if ready:
            self.policy.insert(slot, self._parent(slot), True)
        return slot

    def _parent(self, slot: _Slot) -> int:
        above = self.slots.get(slot.parent) if slot.parent is not None else None
        return above.number if above else _NONE

    def pin(self, slot: _Slot) -> None:
        """It is in use from now on."""
        if slot.pins == 0:
            self.policy.hit(slot.number)
        slot.pins += 1

    def unpin(self, slot: _Slot) -> None:
        """It is in use once less."""
        slot.pins -= 1
        if slot.pins:
            return
        if slot.gone:
            self._free(slot)
            return
        fresh, slot.ready = not slot.ready, True
        self.policy.insert(slot, self._parent(slot), fresh)

    def use(self, slot: _Slot) -> None:
        """A request found it."""
        if slot.pins == 0:
            self.policy.hit(slot.number)
            self.policy.insert(slot, self._parent(slot), False)

    def lose(self, key: bytes) -> None:
        """It is not there any more; as soon as nobody uses it, its room is free."""
        slot = self.slots.get(key)
        if slot is None:
            return
        if slot.pins:
            slot.gone = True
        else:
            self.policy.hit(slot.number)
            self._free(slot)

    def victim(self) -> _Slot | None:
        """What leaves next is gone from here; None: all is in use. Never one above another that is not in use."""
        number = self.policy.victim()
        if number == _NONE:
            return None
        slot = self._owner[number]
        assert slot is not None
        while (below := self._last_below(slot)) is not None:
            slot = below
        self.policy.remove(slot.number)
        self._free(slot)
        return slot

    def _last_below(self, slot: _Slot) -> _Slot | None:
        for key in reversed(self._below.get(slot.key, {})):
            below = self.slots[key]
            if below.pins == 0:
                return below
        return None

    def _free(self, slot: _Slot) -> None:
        del self.slots[slot.key]
        self._owner[slot.number] = None
        self._numbers.append(slot.number)
        self.units_free += slot.units
        if slot.parent is not None and (children := self._below.get(slot.parent)) is not None:
            children.pop(slot.key, None)
            if not children:
                del self._below[slot.parent]


@dataclass
class _Seen:
    """A request, how many of its hashes `parents` has, and whether the policies have seen its chain."""

    request: Any
    hashes: int = 0
    counted: bool = False
    parents: dict[bytes, bytes | None] = field(default_factory=dict)


class Index(OffloadingManager):
    """vLLM's OffloadingManager. One thread calls it, the scheduler's."""

    def __init__(self, tiers: Sequence[TierConfig], policy: str, hashes_per_block: Mapping[int, int]) -> None:
        """`hashes_per_block`: of each of vLLM's groups that is kept, by its number."""
        self.tiers, self.policy, self.hashes_per_block = tiers, policy, hashes_per_block
        self._place = {group: at for at, group in enumerate(hashes_per_block)}
        self.shelves: list[Shelf] = []
        self._empty: list[TierFound] = []
        self.orders: list[Order] = []
        self.stats = Stats()
        self._seen: dict[str, _Seen] = {}
        self._storing: dict[bytes, int] = {}
        self._loading: dict[tuple[str, bytes], list[int]] = {}

    def open(self, found: Sequence[Sequence[TierFound]]) -> None:
        """The workers' tiers are open: `found` has those of each rank. What only some ranks have is dropped."""
        for at, of_ranks in enumerate(zip(*found, strict=True)):
            self._empty.append(TierFound(min(one.units for one in of_ranks), of_ranks[0].units_of, ()))
            shelf = Shelf(self._empty[-1], self.policy)
            self.shelves.append(shelf)
            largest = max(range(len(shelf.units_of)), key=lambda group: shelf.units_of[group])
            common = set(of_ranks[0].keys).intersection(*(one.keys for one in of_ranks[1:]))
            for key in sorted(set().union(*(one.keys for one in of_ranks))):
                if key in common and shelf.units_free >= shelf.units_of[largest]:
                    shelf.add(key, largest, None, ready=True)  # of which group it is nobody knows
                else:
                    self.orders.append(Order(DROP_FROM, key, at))

    # --- requests

    def see(self, request: Any) -> None:
        """A request of vLLM's is about to be looked up: the policies learn its chain, once."""
        seen = self._seen.setdefault(request.request_id, _Seen(request))
        if seen.counted:
            return
        seen.counted = True
        for chain in self._chains(seen):
            for shelf in self.shelves:
                shelf.policy.request(chain)
                for key in chain:
                    slot = shelf.slots.get(key)
                    if slot is None:
                        shelf.policy.miss(key)
                    elif slot.ready and not slot.gone:
                        shelf.use(slot)

    def _chains(self, seen: _Seen) -> Iterator[list[bytes]]:
        """The request's keys by group, from its beginning, as far as it has full blocks. Notes what is above each."""
        hashes = seen.request.block_hashes
        for group, step in self.hashes_per_block.items():
            chain: list[bytes] = []
            for at in range(step - 1, len(hashes), step):
                key = key_of(make_offload_key(hashes[at], group))
                seen.parents[key] = chain[-1] if chain else None
                chain.append(key)
            yield chain
        seen.hashes = len(hashes)

    def _parent(self, key: bytes, context: ReqContext) -> bytes | None:
        seen = self._seen.get(context.req_id)
        if seen is None:
            return None
        if key not in seen.parents and len(seen.request.block_hashes) > seen.hashes:
            for _ in self._chains(seen):
                pass
        return seen.parents.get(key)

    def on_new_request(self, req_context: ReqContext) -> RequestOffloadingContext:
        """As vLLM says."""
        return RequestOffloadingContext()

    def on_request_finished(self, req_context: ReqContext) -> None:
        """It is forgotten."""
        self._seen.pop(req_context.req_id, None)

    # --- room

    def _room(self, at: int, units: int) -> bool:
        """Makes room in a tier, by sinking what the policy names."""
        shelf = self.shelves[at]
        while shelf.units_free < units:
            slot = shelf.victim()
            if slot is None:
                return False
            self._leave(at, slot)
        return True

    def _leave(self, at: int, slot: _Slot) -> None:
        below = at + 1
        if below < len(self.shelves) and not any(slot.key in shelf.slots for shelf in self.shelves[below:]):
            shelf = self.shelves[below]
            if self._room(below, shelf.units_of[slot.group]):
                shelf.add(slot.key, slot.group, slot.parent, ready=True)
                self.orders.append(Order(SINK, slot.key, at, below, slot.group))
                self.stats.count("sunk_blocks", 1, self.tiers[below].name)
                return
        self.orders.append(Order(DROP_FROM, slot.key, at))
        self.stats.count("dropped_blocks", 1, self.tiers[at].name)

    def _copy_ahead(self, slot: _Slot, at: int) -> None:
        """To the last tier, if that is a file with free room: the next process may want it."""
        last = len(self.shelves) - 1
        shelf = self.shelves[last]
        if at == last or self.tiers[last].kind != "file" or slot.key in shelf.slots:
            return
        if shelf.units_free < shelf.units_of[slot.group]:
            return
        shelf.add(slot.key, slot.group, slot.parent, ready=True)
        self.orders.append(Order(COPY, slot.key, at, last, slot.group))

    # --- vLLM's calls

    def _where(self, key: bytes) -> int | None:
        """The first tier from which it can be loaded."""
        for at, shelf in enumerate(self.shelves):
            if shelf.ready(key):
                return at
        return None

    def lookup(self, key: OffloadKey, req_context: ReqContext) -> LookupResult:
        """Is the block there, or about to be?"""
        name = key_of(key)
        if self._where(name) is not None:
            return LookupResult.HIT
        return LookupResult.HIT_PENDING if name in self._storing else LookupResult.MISS

    def get_load_source(self, key: OffloadKey, req_context: ReqContext) -> CacheHitSource:
        """For vLLM's metrics."""
        at = self._loading.get((req_context.req_id, key_of(key)), [0])[0]
        return CacheHitSource.DISK if self.tiers[at].kind == "file" else CacheHitSource.HOST

    def prepare_load(self, keys: Collection[OffloadKey], req_context: ReqContext) -> Blocks:
        """They stay until the load is complete. What is further down is copied to the first tier by the way."""
        found = Blocks(req_context.req_id, [key_of(key) for key in keys], [0] * len(keys))
        for name in found.keys:  # all of them before any makes room for its copy
            at = self._where(name)
            assert at is not None, "vLLM loads what lookup() has found"
            self.shelves[at].pin(self.shelves[at].slots[name])
            self._loading[req_context.req_id, name] = [at]
            self.stats.count("hit_blocks", 1, self.tiers[at].name)
        for number, key in enumerate(keys):
            found.tiers[number] = int(self._copy_up(found.keys[number], get_offload_group_idx(key), req_context))
        return found

    def _copy_up(self, name: bytes, group: int, context: ReqContext) -> bool:
        """To the first tier, if there is room, and it keeps blocks as they are."""
        tiers, first = self._loading[context.req_id, name], self.shelves[0]
        place = self._place[group]
        if name in first.slots or not self.tiers[tiers[0]].exact or not self._room(0, first.units_of[place]):
            return False  # (what int8 gives back is not what the key says, and stays there)
        first.add(name, place, self._parent(name, context), ready=False)
        tiers.append(0)
        return True

    def complete_load(self, keys: Collection[OffloadKey], req_context: ReqContext) -> None:
        """They may leave again."""
        for key in keys:
            name = key_of(key)
            for at in self._loading.pop((req_context.req_id, name), []):
                slot = self.shelves[at].slots.get(name)
                if slot is not None:
                    self.shelves[at].unpin(slot)

    def prepare_store(self, keys: Collection[OffloadKey], req_context: ReqContext) -> PrepareStoreOutput | None:
        """Of these, those that no tier has, and that one has room for: the first that does."""
        chosen, spec = [], Blocks(req_context.req_id, [], [])
        for key in keys:
            name, group = key_of(key), self._place[get_offload_group_idx(key)]
            if name in self._storing or any(name in shelf.slots for shelf in self.shelves):
                continue
            for at, shelf in enumerate(self.shelves):
                if self._room(at, shelf.units_of[group]):
                    shelf.add(name, group, self._parent(name, req_context), ready=False)
                    self._storing[name] = at
                    chosen.append(key)
                    spec.keys.append(name)
                    spec.tiers.append(at)
                    break
            else:
                self.stats.count("refused_blocks", 1, self.tiers[0].name)
        return PrepareStoreOutput(keys_to_store=chosen, store_spec=spec, evicted_keys=[])

    def complete_store(self, keys: Collection[OffloadKey], req_context: ReqContext, success: bool = True) -> None:
        """They can be found from now on."""
        for key in keys:
            name = key_of(key)
            at = self._storing.pop(name, None)
            slot = self.shelves[at].slots.get(name) if at is not None else None
            if at is None or slot is None:
                continue
            slot.gone |= not success
            self.shelves[at].unpin(slot)
            if not slot.gone:
                self._copy_ahead(slot, at)

    def lost(self, blocks: Iterable[tuple[int, bytes]]) -> None:
        """A worker does not have these in their tiers. Other ranks may: they drop them."""
        for at, name in blocks:
            if name in self.shelves[at].slots:
                self.shelves[at].lose(name)
                self.orders.append(Order(DROP_FROM, name, at))
                self.stats.count("lost_blocks", 1, self.tiers[at].name)

    def reset_cache(self) -> None:
        """All is forgotten. vLLM flushes its jobs, and says no more of them."""
        self.shelves = [Shelf(found, self.policy) for found in self._empty]
        self._storing.clear()
        self._loading.clear()
        self.orders = [Order(CLEAR)]

    def has_pending_work(self) -> bool:
        """Orders go with vLLM's next step, so there has to be one."""
        return bool(self.orders)

    def take_orders(self) -> list[Order]:
        """For the workers, in their order."""
        orders, self.orders = self.orders, []
        return orders

    def get_stats(self) -> Any:
        """What happened since the last call, and what there is now."""
        for tier, shelf in zip(self.tiers, self.shelves, strict=False):
            self.stats.gauge("blocks", len(shelf.slots), tier.name)
        return self.stats.take()
