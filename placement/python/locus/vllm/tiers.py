# SPDX-License-Identifier: Apache-2.0
"""The tiers: how they are configured and opened, and the object in a file that says whose blocks it has.

A tier here is called for many blocks at once and answers when all are done, so that a call releases the GIL once. Each has a lock,
because several threads call it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._core import PAGES, Error
from .._memory import Placement, verify
from .._native import ffi, lib
from .._tier import Tier
from .._topology import Node, topology

STORE, LOAD, DROP = range(3)
KEY_BYTES = 16
_KINDS = ("near", "far", "int8", "file")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_FIELDS = {"kind", "size", "node", "page", "path", "checksum"}
_WHOSE = hashlib.blake2b(b"locus.vllm: whose blocks are in this file", digest_size=KEY_BYTES).digest()
_BUSY_S = 10.0  # how long a file may be held by what is left of a killed process

Pieces = np.ndarray[Any, Any]
"""(objects, pieces of each, 2): addresses and bytes, as struct locus_piece has them."""


def refuse(why: str) -> Error:
    """What a user has to change."""
    return Error(errno.EINVAL, "locus.vllm", why)


@dataclass(frozen=True)
class TierConfig:
    """A tier as the user wants it."""

    kind: str
    size: int
    node: int | None = None
    page: str = "4k"
    path: str = ""
    checksum: bool = True

    @property
    def name(self) -> str:
        """For logs and metrics."""
        return self.kind if self.node is None else f"{self.kind}:{self.node}"

    @property
    def exact(self) -> bool:
        """Do bytes come back as they were?"""
        return self.kind != "int8"


def _bytes(given: Any) -> int:
    """`"4GiB"`, `"4g"` or a number of bytes."""
    if isinstance(given, int) and not isinstance(given, bool):
        return given
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", str(given).strip().lower())
    if not found:
        raise refuse(f"a tier's size is {given!r}: write it as \"8GiB\", or as a number of bytes")
    return int(float(found[1]) * _UNITS[found[2]])


def _tier(given: Any) -> TierConfig:
    if not isinstance(given, Mapping) or given.get("kind") not in _KINDS:
        raise refuse(f"a tier is an object whose kind is one of {', '.join(_KINDS)}, not {json.dumps(given)}")
    if unknown := sorted(set(given) - _FIELDS):
        raise refuse(f"a tier has no {unknown[0]!r}: it has {', '.join(sorted(_FIELDS))}")
    kind, size = given["kind"], _bytes(given.get("size", 0))
    if size <= 0:
        raise refuse(f'the tier {kind} has no size: "size": "8GiB", of which each rank has as much')
    if (kind == "file") != bool(given.get("path")):
        raise refuse("a tier of kind file has a path, and no other kind has one")
    if kind == "file" and not {"node", "page", "checksum"}.isdisjoint(given):
        raise refuse("a file has neither node nor page, and always a checksum")
    if not isinstance(given.get("checksum", True), bool):
        raise refuse(f"a tier's checksum is true or false, not {given['checksum']!r}")
    if given.get("page", "4k") not in PAGES:
        raise refuse(f"a tier's page is one of {', '.join(PAGES)}, not {given['page']!r}")
    node = given.get("node")
    if node is not None and (not isinstance(node, int) or node < 0):
        raise refuse(f"a tier's node is a number, not {node!r}")
    return TierConfig(kind, size, node, given.get("page", "4k"), given.get("path", ""), given.get("checksum", True))


def tiers_of(extra: Mapping[str, Any]) -> list[TierConfig]:
    """The tiers of `kv_connector_extra_config`, from the first to the last."""
    given = extra.get("tiers")
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise refuse('kv_connector_extra_config has no tiers: {"tiers": [{"kind": "near", "size": "8GiB"}]}')
    found = [_tier(one) for one in given]
    if not all(tier.exact for tier in found[:-1]):
        raise refuse("int8 can only be the last tier: what sinks from it would have lost precision in the next one")
    if any(tier.kind == "file" for tier in found[:-1]):
        raise refuse("a file can only be the last tier")
    if len({tier.name + tier.path for tier in found}) < len(found):
        raise refuse("two tiers are the same: give them different nodes or paths")
    return found


def own_node() -> int | None:
    """The node whose CPUs this process is bound to; None: there are several."""
    cpus = os.sched_getaffinity(0)
    nodes = [node.node for node in topology().nodes if cpus & set(node.cpus)]
    return nodes[0] if len(nodes) == 1 else None


def other_node(own: int | None) -> int:
    """The nearest node with memory that is not this one."""
    machine = topology()
    at = [node.node for node in machine.nodes].index(machine.nodes[0].node if own is None else own)

    def distance(node: Node) -> int:
        return machine.distances[at][machine.nodes.index(node)]

    others = [node for node in machine.nodes if node.total_bytes and node.allowed and node is not machine.nodes[at]]
    if not others:
        raise refuse("a tier is far, and there is no other node whose memory this process may use: leave it out, or name a node")
    return min(others, key=distance).node


def unit_bytes(kind: str, object_bytes: int) -> int:
    """A power of two of which an object takes many, so that little of the last one is empty, and a file not too many."""
    least, parts = (1 << 16, 128) if kind == "file" else (1 << 12, 32)
    most = 1 << 26 if kind == "file" else 1 << 21
    unit = least
    while unit * parts < object_bytes and unit < most:
        unit *= 2
    return unit


class Opened:
    """A tier that is open, for objects of the KV groups' sizes."""

    def __init__(self, wanted: TierConfig, object_bytes: Sequence[int], node: int | None) -> None:
        """`node`: this worker's."""
        self.wanted, self.name, self.lock = wanted, wanted.name, threading.Lock()
        self.object_bytes = tuple(object_bytes)
        unit = unit_bytes(wanted.kind, self._held(max(object_bytes)))
        if wanted.kind == "file":
            tier = self._file(unit)
        else:
            if wanted.node is not None:
                node = wanted.node
            elif wanted.kind == "far":
                node = other_node(node)
            kind = Tier.far if wanted.exact else Tier.int8
            tier = kind(wanted.size, node=node, page=wanted.page, unit_bytes=unit, checked=wanted.checksum)
        self.node = None if wanted.kind == "file" else node
        stats = tier.stats()
        self.units, self.unit_bytes = stats.units, unit
        self._pointer = tier.take()

    def _file(self, unit: int) -> Tier:
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                return Tier.file(self.wanted.path, self.wanted.size, unit_bytes=unit)
            except Error as error:
                if error.errno != errno.EBUSY or time.monotonic() > until:
                    raise
            time.sleep(0.05)

    def _held(self, nbytes: int) -> int:
        return nbytes

    def units_of(self, group: int) -> int:
        """What an object of the group takes."""
        return -(-self._held(self.object_bytes[group]) // self.unit_bytes)

    def many(self, what: int, keys: Sequence[bytes], pieces: Pieces | None = None) -> np.ndarray[Any, Any]:
        """Stores, loads or drops; the result of each: 0, or a negative errno. The caller has the lock."""
        results = np.zeros(len(keys), dtype=np.int32)
        if keys:
            each = 0 if pieces is None else pieces.shape[1]
            memory = ffi.NULL if pieces is None else ffi.from_buffer("struct locus_piece[]", pieces)
            joined = ffi.from_buffer("struct locus_id[]", b"".join(keys))
            error = lib.locus_py_many(self._pointer, what, joined, len(keys), memory, each, ffi.from_buffer("int32_t[]", results))
            if error:
                results[:] = error
        return results

    def has(self, key: bytes) -> bool:
        """Is the object here? The caller has the lock."""
        return bool(lib.locus_tier_find(self._pointer, ffi.from_buffer("struct locus_id[]", key)[0], ffi.NULL) == 0)

    def objects(self) -> list[bytes]:
        """The keys of all objects. The caller has the lock."""
        count = lib.locus_py_keys(self._pointer, ffi.NULL, 0)
        out = ffi.new("struct locus_id[]", max(count, 1))
        lib.locus_py_keys(self._pointer, out, count)
        joined = bytes(ffi.buffer(out))
        return [joined[at : at + KEY_BYTES] for at in range(0, KEY_BYTES * count, KEY_BYTES)]

    def bytes_used(self) -> int:
        """Of its objects."""
        out = ffi.new("struct locus_tier_stats *")
        lib.locus_tier_stats(self._pointer, out)
        return int(out.bytes_held)

    def why(self) -> str:
        """Why it takes no more, or nothing."""
        return str(ffi.string(lib.locus_tier_why(self._pointer)).decode())

    def placement(self) -> Placement | None:
        """Where its memory is; None: it is a file."""
        region = lib.locus_tier_region(self._pointer)
        return verify(region) if region else None

    def close(self) -> None:
        """The caller has the lock, and makes no more calls."""
        self._pointer = None


class Int8(Opened):
    """float16, bfloat16 or float32 numbers as int8: half or a quarter of the bytes, with int8's error (locus/int8.h)."""

    def __init__(self, wanted: TierConfig, object_bytes: Sequence[int], node: int | None, dtype: torch.dtype) -> None:
        if dtype not in (torch.float16, torch.bfloat16, torch.float32):
            raise refuse(f"int8 is for KV of float16, bfloat16 or float32, not {dtype}: leave the tier out")
        self.dtype = dtype
        super().__init__(wanted, object_bytes, node)

    def _held(self, nbytes: int) -> int:
        return int(lib.locus_int8_bytes(nbytes // self.dtype.itemsize))

    def units_of(self, group: int) -> int:
        """A unit has whole groups of 64 numbers, in 66 bytes."""
        numbers = self.object_bytes[group] // self.dtype.itemsize
        return -(-numbers // (self.unit_bytes // 66 * 64))

    def many(self, what: int, keys: Sequence[bytes], pieces: Pieces | None = None) -> np.ndarray[Any, Any]:
        """By way of float16, one object after the other."""
        if pieces is None:
            return super().many(what, keys)
        return np.array([self._one(what, key, part)[0] for key, part in zip(keys, pieces, strict=True)], dtype=np.int32)

    def _one(self, what: int, key: bytes, pieces: Pieces) -> np.ndarray[Any, Any]:
        halves = torch.empty(int(pieces[:, 1].sum()) // self.dtype.itemsize, dtype=torch.float16)
        whole = pieces_of([halves])
        parts = torch.split(halves, [int(count) // self.dtype.itemsize for count in pieces[:, 1]])
        tensors = [memory_of(address, count).view(self.dtype) for address, count in pieces.tolist()]
        if what == STORE:
            for part, tensor in zip(parts, tensors, strict=True):
                part.copy_(tensor)
        results = super().many(what, [key], whole)
        if what == LOAD and results[0] == 0:
            for part, tensor in zip(parts, tensors, strict=True):
                tensor.copy_(part)
        return results


def pieces_of(tensors: Iterable[torch.Tensor]) -> Pieces:
    """Each is an object in one piece."""
    return np.array([[[tensor.data_ptr(), tensor.nbytes]] for tensor in tensors], dtype=np.uint64)


def memory_of(address: int, nbytes: int) -> torch.Tensor:
    """Somebody's bytes."""
    return torch.frombuffer(ffi.buffer(ffi.cast("char *", address), nbytes), dtype=torch.int8)


def wipe(pieces: Pieces) -> None:
    """What a refused load has left there. Attention also reads beyond a sequence's end, where 0 times NaN would be NaN."""
    for address, nbytes in pieces.reshape(-1, 2).tolist():
        memory_of(address, nbytes).zero_()


def claim(tier: Opened, whose: Mapping[str, Any]) -> bool:
    """Says in a new file whose blocks it has; refuses a file of others. True: it is new. The caller has the lock."""
    text = json.dumps(whose, sort_keys=True).encode()
    room = torch.zeros(1 << 14, dtype=torch.uint8)
    if tier.has(_WHOSE):
        result = int(tier.many(LOAD, [_WHOSE], pieces_of([room]))[0])
        if result:
            raise Error(result, f"locus.vllm: {tier.wanted.path}", "what it has cannot be read: remove it, or give another path")
        found = json.loads(bytes(room.numpy()).rstrip(b"\0"))
        if wrong := [key for key in sorted({*found, *whose}) if found.get(key) != whose.get(key)]:
            told = "; ".join(f"{key}: {_short(found.get(key))} there, {_short(whose.get(key))} here" for key in wrong)
            raise refuse(f"the blocks in {tier.wanted.path} are of another engine ({told}): give another path, or remove the file")
        return False
    if tier.objects():
        raise refuse(f"{tier.wanted.path} has objects, but is no file of locus.vllm: give another path")
    room = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    result = int(tier.many(STORE, [_WHOSE], pieces_of([room]))[0])
    if result:
        raise Error(result, f"locus.vllm: {tier.wanted.path}")
    return True


def blocks_in(tier: Opened) -> list[bytes]:
    """The keys of a tier's blocks. The caller has the lock."""
    return [key for key in tier.objects() if key != _WHOSE]


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
