# SPDX-License-Identifier: Apache-2.0
"""Where bytes wait: in another node's memory, there as int8, or in a file."""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from ._core import PAGES, Error, Handle, config, whole, writable
from ._memory import Placement, choice, verify
from ._native import ffi, lib
from ._topology import ANY

__all__ = ["Completion", "Tier", "TierStats"]

Key = int | bytes
_MASK = (1 << 64) - 1
_NS = 1_000_000_000
_under_way: set[Completion] = set()  # a root: what a tier reads or writes lives until that is done, and so does the tier


def _id(key: Key) -> Any:
    number = int.from_bytes(key, "little") if isinstance(key, bytes) else key
    if not 0 <= number < 1 << 128 or (isinstance(key, bytes) and len(key) != 16):
        raise Error(errno.EINVAL, "Tier", "a key is a number below 2^128, or 16 bytes")
    return ffi.new("struct locus_id *", {"word": [number & _MASK, number >> 64]})


class Completion:
    """An operation under way. `result()` waits for it, and so does `await`; both let the tier go on."""

    def __init__(self, tier: Tier, call: str, memory: Any) -> None:
        self._tier, self._call, self._memory = tier, call, memory
        self._result: int | None = None
        self._handle = ffi.new_handle(self)
        self.op = ffi.new("struct locus_py_op *")
        self.op.op.done = lib.locus_py_done
        self.op.handle = self._handle

    def finish(self, result: int) -> None:
        """The library's, when it is done. The memory is the caller's again."""
        self._result, self._memory = result, None
        _under_way.discard(self)

    def belongs_to(self, tier: Tier) -> bool:
        """Is it one of this tier's?"""
        return self._tier is tier

    def done(self) -> bool:
        """Is it complete? Something has to poll the tier until then: result(), await, or Tier.poll()."""
        return self._result is not None

    def exception(self) -> Error | None:
        """Why it failed; None: it did not, or is not complete."""
        return Error(self._result, self._call) if self._result else None

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is complete, or has failed, or for so long. Is it?"""
        until = None if timeout is None else time.monotonic() + timeout
        while self._result is None:
            left = 1.0 if until is None else until - time.monotonic()
            if left < 0:
                return False
            self._tier.poll(min(left, 1.0))
        return True

    def result(self, timeout: float | None = None) -> None:
        """Waits. TimeoutError if it is not complete by then; Error if it failed, which changes nothing."""
        if not self.wait(timeout):
            raise TimeoutError(f"{self._call}: not complete after {timeout} s")
        if self._result:
            raise Error(self._result, self._call)

    def __await__(self) -> Generator[Any, None, None]:
        """The same in a coroutine: others run while the file is at work."""
        while self._result is None:
            if not self._tier.poll(0):
                yield from asyncio.sleep(0.0005).__await__()
        self.result()


@ffi.def_extern()  # type: ignore[untyped-decorator]
def locus_py_done(op: Any, result: int) -> None:
    """The library's call, within one of the tier's."""
    ffi.from_handle(ffi.cast("struct locus_py_op *", op).handle).finish(result)


@dataclass(frozen=True)
class TierStats:
    """Objects and bytes of a tier now, and operations so far."""

    objects: int
    bytes: int
    bytes_held: int
    units: int
    units_free: int
    stores: int
    loads: int
    drops: int
    failed: int


class Tier(Handle):
    """Objects by key, stored and loaded as a whole, with a checksum. Open one with far(), int8() or file().

    Any thread may call it; a lock lets in one at a time.

    >>> tier = Tier.far(1 << 20)
    >>> tier.store(7, b"some bytes").result()
    >>> back = bytearray(10)
    >>> tier.load(7, back).result()
    >>> bytes(back), tier.find(7), tier.find(8)
    (b'some bytes', 10, None)
    """

    def __init__(self, pointer: Any, lowest: str) -> None:
        """Private: see the three below."""
        super().__init__(pointer, lib.locus_tier_close)
        self._lock = threading.RLock()
        self._name = lowest
        self.taken = False

    @property
    def pointer(self) -> Any:
        """The C object; an error while an Offload has it."""
        if self.taken:
            raise Error(errno.EBUSY, self._name, "an Offload has it, whose prefix cache alone uses it")
        return super().pointer

    @classmethod
    def far(cls, nbytes: int, *, node: int | None = None, page: str = "4k", unit_bytes: int = 0, checked: bool = True) -> Tier:
        """The memory of a node, near or far; None: this thread's. All of it is there at once."""
        return cls._in_memory(lib.locus_tier_far_open, "Tier.far", nbytes, node, page, unit_bytes, checked)

    @classmethod
    def int8(cls, nbytes: int, *, node: int | None = None, page: str = "4k", unit_bytes: int = 0, checked: bool = True) -> Tier:
        """The same for float16 numbers, which it keeps in half of the bytes, with int8's error (locus/int8.h)."""
        return cls._in_memory(lib.locus_tier_int8_open, "Tier.int8", nbytes, node, page, unit_bytes, checked)

    @classmethod
    def _in_memory(cls, call: Any, name: str, nbytes: int, node: int | None, page: str, unit_bytes: int, checked: bool) -> Tier:
        why = ffi.new("char[512]")
        wanted = config("locus_tier_far_config", bytes=nbytes, unit_bytes=unit_bytes, node=ANY if node is None else node,
                        page=choice(PAGES, page, "page"), unchecked=not checked, why=why, why_bytes=512)
        return cls(_open(call, wanted, why, name), name)

    @classmethod
    def file(cls, path: str | os.PathLike[str], nbytes: int = 0, *, unit_bytes: int = 0, depth: int = 0, zstd_level: int = 0) -> Tier:
        """A file, which is made with `nbytes` if it is not there. What is acknowledged is on the device."""
        why, name = ffi.new("char[512]"), ffi.new("char[]", os.fsencode(path))
        wanted = config("locus_tier_file_config", path=name, bytes=nbytes, unit_bytes=unit_bytes, depth=depth, zstd_level=zstd_level,
                        why=why, why_bytes=512)
        return cls(_open(lib.locus_tier_file_open, wanted, why, "Tier.file"), "Tier.file")

    def _start(self, call: str, memory: Any, begin: Any) -> Completion:
        completion = Completion(self, f"{self._name}.{call}", memory)
        with self._lock:
            pointer = self.pointer
            _under_way.add(completion)
            error = begin(pointer, ffi.addressof(completion.op, "op"))
        if error:
            _under_way.discard(completion)
            raise Error(error, f"{self._name}.{call}", self._why(error))
        return completion

    def _why(self, error: int) -> str:
        words = {
            errno.ENOSPC: "it has no room for this object now: drop others",
            errno.EFBIG: "the object is larger than the tier could ever hold",
            errno.EBUSY: "another store or drop of this key is under way",
            errno.EINVAL: "an object has bytes; of int8 an even number at an even address",
        }
        return words.get(-error) or ffi.string(lib.locus_tier_why(self.pointer)).decode()

    def store(self, key: Key, data: Any) -> Completion:
        """Keeps a copy of a buffer, an array or a tensor. It must not change until that is done."""
        address, count, kept = whole(data, "Tier.store")
        return self._start("store", kept, lambda tier, op: lib.locus_tier_store(tier, _id(key)[0], ffi.cast("void *", address), count, op))

    def load(self, key: Key, into: Any) -> Completion:
        """Copies the object into memory that has room for it."""
        address, count, kept = writable(into, "Tier.load")
        return self._start("load", kept, lambda tier, op: lib.locus_tier_load(tier, _id(key)[0], ffi.cast("void *", address), count, op))

    def drop(self, key: Key) -> Completion:
        """Forgets the object."""
        return self._start("drop", None, lambda tier, op: lib.locus_tier_drop(tier, _id(key)[0], op))

    def find(self, key: Key) -> int | None:
        """Bytes of the object, or None."""
        out = ffi.new("uint64_t *")
        with self._lock:
            return None if lib.locus_tier_find(self.pointer, _id(key)[0], out) else int(out[0])

    def poll(self, wait_s: float = 0.0) -> int:
        """Delivers what is complete, waiting for the first if need be. How many."""
        with self._lock:
            return int(lib.locus_tier_poll(self.pointer, int(wait_s * _NS)))

    def verify(self) -> Placement | None:
        """Where its pages are; None: it is a file."""
        region = lib.locus_tier_region(self.pointer)
        return verify(region) if region else None

    def stats(self) -> TierStats:
        """Its counts."""
        out = ffi.new("struct locus_tier_stats *")
        lib.locus_tier_stats(self.pointer, out)
        return TierStats(out.objects, out.bytes, out.bytes_held, out.units, out.units_free, out.stores, out.loads, out.drops, out.failed)

    def close(self) -> None:
        """Waits for what is under way, and gives it up. A file keeps its objects."""
        with self._lock:
            while any(completion.belongs_to(self) for completion in _under_way):
                self.poll(1.0)
            super().close()


def _open(call: Any, wanted: Any, why: Any, name: str) -> Any:
    out = ffi.new("struct locus_tier **")
    error = call(out, wanted)
    if error:
        raise Error(error, name, ffi.string(why).decode())
    return out[0]


@atexit.register
def _finish_all() -> None:
    while _under_way:
        next(iter(_under_way)).wait()
