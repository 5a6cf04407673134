# SPDX-License-Identifier: Apache-2.0
"""The worker's side: two threads move blocks while vLLM computes.

The *mover* does vLLM's jobs, loads before stores, between vLLM's KV cache and the tiers, without a copy in between. The *sinker*
obeys the index's orders: it copies blocks from a tier to a lower one. A block stays in its tier until it is in the lower one, and a
load takes it from wherever it is. If the mover needs room that a block has not left yet, that block goes at once and is lost: a
slow disk costs hits, and never makes the engine wait.

A block that a tier does not have, or whose checksum is wrong, makes its request's load a failed one. vLLM then looks for the
request's prefix again, as if the block had never been there.
"""

from __future__ import annotations

import errno
import mmap
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from vllm.logger import init_logger
from vllm.v1.kv_offload.base import CanonicalKVCaches, GPULoadStoreSpec, LoadStoreSpec, OffloadingWorker, TransferResult

from .._memory import Region
from .index import CLEAR, COPY, DROP_FROM, NOTHING, SINK, Blocks, Order, TierFound
from .metrics import Stats
from .tiers import DROP, LOAD, STORE, Opened, Pieces, blocks_in, wipe

logger = init_logger("vllm.locus")
_STAGE_BYTES = 64 << 20
_STAGE_BLOCKS = 16
_REST_S = 0.001
_DRAIN_S = 5.0  # how long a shutdown copies what is to be copied


class KvCache:
    """vLLM's KV cache: where the pieces of a block are."""

    def __init__(self, caches: CanonicalKVCaches) -> None:
        self.tensors = [one.tensor for one in caches.tensors]
        self._first, self._step, self._bytes = [], [], []
        for refs in caches.group_data_refs:
            tensors = [self.tensors[ref.tensor_idx] for ref in refs]
            self._first.append(np.array([tensor.data_ptr() for tensor in tensors], dtype=np.uint64))
            self._step.append(np.array([tensor.stride(0) for tensor in tensors], dtype=np.uint64))
            self._bytes.append(np.array([ref.page_size_bytes for ref in refs], dtype=np.uint64))

    @property
    def block_bytes(self) -> list[int]:
        """Of a block of each group."""
        return [int(sizes.sum()) for sizes in self._bytes]

    def pieces(self, group: int, blocks: np.ndarray[Any, Any]) -> Pieces:
        """One for each layer."""
        out = np.empty((len(blocks), len(self._first[group]), 2), dtype=np.uint64)
        out[:, :, 0] = self._first[group] + blocks.astype(np.uint64)[:, None] * self._step[group]
        out[:, :, 1] = self._bytes[group]
        return out


@dataclass(eq=False)
class _Job:
    number: int
    load: bool
    spec: Blocks
    blocks: np.ndarray[Any, Any]
    groups: np.ndarray[Any, Any]
    began: float = field(default_factory=time.perf_counter)
    failed: bool = False
    moved: int = 0
    took_s: float = 0.0


class Worker(OffloadingWorker):
    """vLLM's OffloadingWorker. vLLM's thread calls it; `lost` and `failed` are for the connector."""

    def __init__(self, tiers: Sequence[Opened], caches: CanonicalKVCaches) -> None:
        self.tiers, self.cache, self.stats = tiers, KvCache(caches), Stats()
        self._changed = threading.Condition()
        self._loads: deque[_Job] = deque()
        self._stores: deque[_Job] = deque()
        self._orders: deque[Order] = deque()
        self._sinking: list[Order] = []
        self._active: set[int] = set()
        self._copies: dict[bytes, Order] = {}
        self._drops: dict[tuple[int, bytes], Order] = {}
        self._said: set[tuple[str, str]] = set()
        self._finished: list[_Job] = []
        self._failed: set[str] = set()
        self._lost: list[tuple[int, bytes]] = []
        self._ending = False
        largest = max(self.cache.block_bytes)
        rows = max(1, min(_STAGE_BLOCKS, _STAGE_BYTES // largest))
        step = -(-largest // mmap.PAGESIZE) * mmap.PAGESIZE  # whole pages, which a file moves without a copy
        self._stage = torch.frombuffer(Region(rows * step).memory, dtype=torch.int8)[: rows * step].view(rows, step)
        self._threads = [threading.Thread(target=self._run, args=(one,), name=f"locus-{one.__name__[1:]}", daemon=True)
                         for one in (self._move, self._sink)]
        for thread in self._threads:
            thread.start()

    def found(self) -> list[TierFound]:
        """For the index."""
        groups = range(len(self.cache.block_bytes))
        found = []
        for tier in self.tiers:
            with tier.lock:
                found.append(TierFound(tier.units, tuple(tier.units_of(group) for group in groups), tuple(blocks_in(tier))))
        return found

    # --- vLLM's calls

    def submit_store(self, job_id: int, src_spec: GPULoadStoreSpec, dst_spec: LoadStoreSpec) -> bool:
        """As vLLM says."""
        return self._submit(job_id, False, dst_spec, src_spec)

    def submit_load(self, job_id: int, src_spec: LoadStoreSpec, dst_spec: GPULoadStoreSpec) -> bool:
        """As vLLM says."""
        return self._submit(job_id, True, src_spec, dst_spec)

    def _submit(self, number: int, load: bool, spec: LoadStoreSpec, at: GPULoadStoreSpec) -> bool:
        assert isinstance(spec, Blocks)
        assert len(spec.keys) == len(at.block_ids), "a chunk of vLLM's is one block"
        job = _Job(number, load, spec, at.block_ids, np.repeat(np.arange(len(at.group_sizes)), at.group_sizes))
        with self._changed:
            self._active.add(number)
            (self._loads if load else self._stores).append(job)
            self._changed.notify_all()
        return True

    def get_finished(self) -> list[TransferResult]:
        """All as successes: vLLM knows no other. `take_failed` has the requests of those that were none."""
        with self._changed:
            finished, self._finished = self._finished, []
        self._failed.update(job.spec.request for job in finished if job.failed)
        return [TransferResult(job.number, True, job.moved, job.took_s) for job in finished]

    def wait(self, job_ids: set[int]) -> None:
        """Until vLLM may write into the blocks of these jobs."""
        with self._changed:
            self._changed.wait_for(lambda: not job_ids & self._active or self._ending)

    def rest(self) -> None:
        """Nothing is to be computed now. vLLM would call again and again, and the two threads would hardly get the GIL."""
        with self._changed:
            if (self._active or self._orders or self._sinking) and not self._finished:
                self._changed.wait(_REST_S)

    def take_failed(self) -> set[str]:
        """Requests whose load has failed."""
        failed, self._failed = self._failed, set()
        return failed

    def take_lost(self) -> list[tuple[int, bytes]]:
        """Blocks that a tier does not have, against what the index thinks."""
        with self._changed:
            lost, self._lost = self._lost, []
        return lost

    def obey(self, orders: Sequence[Order]) -> None:
        """The index's orders, which are older than the jobs that follow. Nothing is done here: vLLM computes next."""
        for order in orders:
            if order.what == CLEAR:
                self._clear()
        with self._changed:
            for order in orders:
                if order.what != CLEAR:
                    self._later(order)
            self._changed.notify_all()

    def _later(self, order: Order) -> None:
        """Puts it into the queue. What leaves a tier, and is still to be copied from there, leaves when it is."""
        copy = self._copies.get(order.key)
        if order.what == DROP_FROM and copy is not None and copy.at == order.at:
            copy.what = SINK
            return
        if order.what == COPY:
            self._copies[order.key] = order
        elif order.what == DROP_FROM:
            self._drops[order.at, order.key] = order
        self._orders.append(order)

    def _clear(self) -> None:
        """All tiers are empty, and nothing is under way to one."""
        with self._changed:
            for waiting in (self._orders, self._copies, self._drops):
                waiting.clear()
            self._changed.wait_for(lambda: not self._sinking)
        for tier in self.tiers:
            with tier.lock:
                tier.many(DROP, blocks_in(tier))

    def take_stats(self) -> Any:
        """What happened since the last call, and what waits."""
        with self._changed:
            for tier in self.tiers:
                self.stats.gauge("bytes", tier.bytes_used(), tier.name)
            self.stats.gauge("queue", len(self._loads) + len(self._stores), "jobs")
            self.stats.gauge("queue", len(self._orders), "orders")
            return self.stats.take()

    def shutdown(self) -> None:
        """Ends the threads, and gives the memory up; a file keeps what it has."""
        with self._changed:
            until = time.monotonic() + _DRAIN_S
            while (self._stores or self._orders or self._sinking) and time.monotonic() < until:
                self._changed.wait(until - time.monotonic())
            self._ending = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for tier in self.tiers:
            with tier.lock:
                tier.close()

    # --- threads

    def _run(self, work: Callable[[], bool]) -> None:
        while work():
            pass

    def _move(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._loads or self._stores or self._ending)
            if self._ending:
                return False
            job = (self._loads or self._stores).popleft()
        try:
            job.moved = self._load(job) if job.load else self._store(job)
        except Exception:  # the engine must not wait for ever
            logger.exception("a job of the tiers has failed")
            self._lose(job, job.spec.keys)
        with self._changed:
            job.took_s = time.perf_counter() - job.began
            self._active.discard(job.number)
            self._finished.append(job)
            self._changed.notify_all()
        return True

    def _lose(self, job: _Job, keys: Sequence[bytes]) -> None:
        """Whatever tier has them: what is there cannot be used."""
        job.failed = job.load
        with self._changed:
            self._lost.extend((at, key) for key in keys for at in range(len(self.tiers)))

    def _load(self, job: _Job) -> int:
        keys, moved = job.spec.keys, 0
        missing = np.ones(len(keys), dtype=bool)
        for at, tier in enumerate(self.tiers):
            began, before = time.perf_counter(), moved
            for group in np.unique(job.groups[missing]):
                with tier.lock:
                    here = np.array([i for i in np.flatnonzero(missing & (job.groups == group)) if tier.has(keys[i])], dtype=int)
                    results = tier.many(LOAD, [keys[i] for i in here], self.cache.pieces(group, job.blocks[here]))
                missing[here[results == 0]] = False
                moved += int((results == 0).sum()) * self.cache.block_bytes[group]
                self._say_lost(at, [keys[i] for i in here[results != 0]], results[results != 0])
            if moved > before:
                with self._changed:
                    self.stats.count("load_bytes", moved - before, tier.name)
                    self.stats.observe("load_seconds", time.perf_counter() - began, tier.name)
        if missing.any():
            self._lose(job, [keys[i] for i in np.flatnonzero(missing)])
            for group in np.unique(job.groups[missing]):
                wipe(self.cache.pieces(group, job.blocks[missing & (job.groups == group)]))
        self._put(job, np.flatnonzero(~missing & (np.array(job.spec.tiers) == 1)), 0)
        return moved

    def _store(self, job: _Job) -> int:
        moved = 0
        tiers = np.array(job.spec.tiers)
        for at in np.unique(tiers):
            moved += self._put(job, np.flatnonzero(tiers == at), int(at))
        return moved

    def _put(self, job: _Job, which: np.ndarray[Any, Any], at: int) -> int:
        """Stores some of a job's blocks to a tier."""
        tier, moved = self.tiers[at], 0
        with self._changed:
            for i in which:  # it left, and is back before it was dropped
                order = self._drops.pop((at, job.spec.keys[i]), None)
                if order is not None:
                    order.what = NOTHING
        for group in np.unique(job.groups[which]):
            mine = which[job.groups[which] == group]
            for again in range(2):
                with tier.lock:
                    results = tier.many(STORE, [job.spec.keys[i] for i in mine], self.cache.pieces(group, job.blocks[mine]))
                moved += int((results == 0).sum()) * self.cache.block_bytes[group]
                full = results == -errno.ENOSPC
                if again or not full.any():
                    break
                self._make_room(at, int(full.sum()))
                self._say_lost(at, [job.spec.keys[i] for i in mine[(results != 0) & ~full]], results[(results != 0) & ~full])
                mine = mine[full]
            self._say_lost(at, [job.spec.keys[i] for i in mine[results != 0]], results[results != 0])
        if moved:
            with self._changed:
                self.stats.count("store_bytes", moved, tier.name)
        return moved

    def _make_room(self, at: int, count: int) -> None:
        """What is to leave this tier goes at once, copied or not. If nothing is, the sinker may be about to drop some."""
        with self._changed:
            waiting = [order for order in self._orders if order.what in (SINK, DROP_FROM) and order.at == at][:count]
            keys = [order.key for order in waiting]
            for order in waiting:
                if order.what == SINK:
                    self._copies.pop(order.key, None)
                    self._lost.append((order.to, order.key))
                self._drops.pop((at, order.key), None)
                order.what = NOTHING
            if not waiting:
                self._changed.wait_for(lambda: not any(order.at == at for order in self._sinking) or self._ending)
        with self.tiers[at].lock:
            self.tiers[at].many(DROP, keys)

    def _say_lost(self, at: int, keys: Sequence[bytes], results: np.ndarray[Any, Any]) -> None:
        if not keys:
            return
        with self._changed:
            self._lost.extend((at, key) for key in keys)
        why = self.tiers[at].why() or _WORDS.get(-int(results[0]), f"error {-int(results[0])}")
        if (self.tiers[at].name, why) not in self._said:  # once; vllm:locus_tier_lost_blocks counts them
            self._said.add((self.tiers[at].name, why))
            logger.warning("tier %s: blocks are lost and will be computed again: %s", self.tiers[at].name, why)

    def _sink(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._orders or self._ending)
            if self._ending:
                return False
            batch = self._batch()
            self._sinking = batch
        try:
            self._carry_out(batch)
        except Exception:  # the next order may go better
            logger.exception("an order of the tiers has failed")
        with self._changed:
            self._sinking = []
            self._changed.notify_all()
        return True

    def _batch(self) -> list[Order]:
        """The next orders that are alike."""
        first = self._orders.popleft()
        batch = [first]
        while self._orders and len(batch) < len(self._stage):
            order = self._orders[0]
            if (order.what, order.at, order.to, order.group) != (first.what, first.at, first.to, first.group):
                break
            batch.append(self._orders.popleft())
        for order in batch:
            if self._copies.get(order.key) is order:
                del self._copies[order.key]
            if self._drops.get((order.at, order.key)) is order:
                del self._drops[order.at, order.key]
        return batch

    def _carry_out(self, batch: list[Order]) -> None:
        what, at, to = batch[0].what, batch[0].at, batch[0].to
        keys = [order.key for order in batch]
        if what == NOTHING:
            return
        if what == DROP_FROM:
            with self.tiers[at].lock:
                self.tiers[at].many(DROP, keys)
        else:
            self._copy(keys, at, to, batch[0].group)
            if what == SINK:
                with self.tiers[at].lock:
                    self.tiers[at].many(DROP, keys)

    def _copy(self, keys: list[bytes], at: int, to: int, group: int) -> None:
        nbytes = self.cache.block_bytes[group]
        staged = np.array([[[row.data_ptr(), nbytes]] for row in self._stage[: len(keys)]], dtype=np.uint64)
        with self.tiers[to].lock:
            wanted = np.array([i for i, key in enumerate(keys) if not self.tiers[to].has(key)], dtype=int)
        with self.tiers[at].lock:
            read = self.tiers[at].many(LOAD, [keys[i] for i in wanted], staged[wanted])
        with self._changed:
            self._lost.extend((to, keys[i]) for i in wanted[read != 0])
        wanted = wanted[read == 0]
        with self.tiers[to].lock:
            written = self.tiers[to].many(STORE, [keys[i] for i in wanted], staged[wanted])
        self._say_lost(to, [keys[i] for i in wanted[written != 0]], written[written != 0])


_WORDS = {
    errno.ENOSPC: "it has no room, as blocks come faster than they can leave",
    errno.ENOENT: "it does not have them any more",
    errno.EBADMSG: "their checksums are not those of their bytes",
    errno.EBUSY: "another store of them is under way",
    errno.ERANGE: "a number is too large for int8, or none",
    errno.EIO: "the device has failed",
}
