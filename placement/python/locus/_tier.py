# SPDX-License-Identifier: Apache-2.0
"""Where bytes wait: in another node's memory, there as int8, or in a file."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import errno
import os
import queue
import threading
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from ._core import PAGES, Error, Handle, config, whole, writable
from ._memory import Placement, choice, verify
from ._native import ffi, lib
from ._topology import ANY

__all__ = ["Completion", "Tier", "TierStats"]

Key = int | bytes
_MASK = (1 << 64) - 1
_LOOK_NS = 200_000  # how long a file is waited for before its thread looks for further requests
_under_way: set[Completion] = set()  # a root: what a tier reads or writes lives until that is done


def _id(key: Key) -> Any:
    number = int.from_bytes(key, "little") if isinstance(key, bytes) else key
    if not 0 <= number < 1 << 128 or (isinstance(key, bytes) and len(key) != 16):
        raise Error(errno.EINVAL, "Tier", "a key is a number below 2^128, or 16 bytes")
    return ffi.new("struct locus_id *", {"word": [number & _MASK, number >> 64]})


class Completion(concurrent.futures.Future[None]):
    """An operation under way: a future, which coroutines may await. Its result is None, or an Error, which changed nothing."""

    def __init__(self, call: str, memory: Any, thread: _Thread | None) -> None:
        super().__init__()
        self._call, self._memory, self._thread = call, memory, thread
        self._handle: Any = ffi.new_handle(self)
        self.op = ffi.new("struct locus_py_op *")
        self.op.op.done = lib.locus_py_done
        self.op.handle = self._handle
        _under_way.add(self)

    def finish(self, error: Error | None) -> None:
        """It is complete. The memory is the caller's again, and a cycle with the handle ends."""
        self._memory = self._handle = None
        if error:
            self.set_exception(error)
        else:
            self.set_result(None)
        _under_way.discard(self)

    def done_with(self, result: int) -> None:
        """The library's word, in the tier's thread."""
        if self._thread:
            self._thread.started -= 1
        self.finish(Error(result, self._call) if result else None)

    def cancel(self) -> bool:
        """It cannot be: the tier has the memory."""
        return False

    def __await__(self) -> Generator[Any, None, None]:
        """Others run while it is under way."""
        return asyncio.wrap_future(self).__await__()


@ffi.def_extern()  # type: ignore[untyped-decorator]
def locus_py_done(op: Any, result: int) -> None:
    """The library's call, within one of the tier's."""
    ffi.from_handle(ffi.cast("struct locus_py_op *", op).handle).done_with(result)


class _Thread(threading.Thread):
    """The one thread that calls a file's tier. (The kernel ends what a thread has asked for when that thread ends.)"""

    def __init__(self, pointer: Any) -> None:
        super().__init__(name="locus-tier", daemon=True)
        self.pointer = pointer
        self.started = 0  # and not complete
        self.requests: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()

    def run(self) -> None:
        """Starts what is asked for, and waits for what is under way, until it is told to end and nothing is."""
        told = False
        while not told or self.started:
            try:
                asked = self.requests.get(block=not self.started)
                told = told or asked is None
                if asked:
                    asked()
                    asked = None  # it holds the caller's memory
            except queue.Empty:
                lib.locus_tier_poll(self.pointer, _LOOK_NS)
        self.pointer = None


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

    Any thread may call it. Memory is copied within the call; a file has a thread of its own.

    >>> tier = Tier.far(1 << 20)
    >>> tier.store(7, b"some bytes").result()
    >>> back = bytearray(10)
    >>> tier.load(7, back).result()
    >>> bytes(back), tier.find(7), tier.find(8)
    (b'some bytes', 10, None)
    """

    def __init__(self, pointer: Any, name: str, *, file: bool = False) -> None:
        """Private: see the three below."""
        super().__init__(pointer, lib.locus_tier_close)
        self._lock = threading.RLock()
        self._name = name
        self._taken = False
        self._thread = _Thread(self._pointer) if file else None
        if self._thread:
            self._thread.start()
            self._stop = weakref.finalize(self, self._thread.requests.put, None)

    @property
    def pointer(self) -> Any:
        """The C object; an error while an Offload has it."""
        if self._taken:
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
    def file(
        cls, path: str | os.PathLike[str], nbytes: int = 0, *, unit_bytes: int = 0, depth: int = 0, zstd_level: int = 0
    ) -> Tier:
        """A file, which is made with `nbytes` if it is not there. What is acknowledged is on the device."""
        why, name = ffi.new("char[512]"), ffi.new("char[]", os.fsencode(path))
        wanted = config("locus_tier_file_config", path=name, bytes=nbytes, unit_bytes=unit_bytes, depth=depth,
                        zstd_level=zstd_level, why=why, why_bytes=512)
        return cls(_open(lib.locus_tier_file_open, wanted, why, "Tier.file"), "Tier.file", file=True)

    def _start(self, call: str, key: Key, memory: Any, begin: Callable[[Any, Any, Any], int]) -> Completion:
        name, thread = _id(key), self._thread

        def start() -> None:
            error = begin(pointer, name[0], ffi.addressof(completion.op, "op"))
            if error:
                completion.finish(Error(error, f"{self._name}.{call}", _why(pointer, error)))
            elif thread:
                thread.started += 1

        with self._lock:  # nothing is asked for behind a close
            pointer = self.pointer
            completion = Completion(f"{self._name}.{call}", memory, thread)
            thread.requests.put(start) if thread else start()
        return completion

    def _ask(self, what: Callable[[Any], Any]) -> Any:
        """The answer of a call that has one at once. A completion's callback asks from within the thread."""
        answer: concurrent.futures.Future[Any] = concurrent.futures.Future()
        with self._lock:
            pointer, thread = self.pointer, self._thread
            if not thread or thread is threading.current_thread():
                return what(pointer)
            thread.requests.put(lambda: answer.set_result(what(pointer)))
        return answer.result()

    def store(self, key: Key, data: Any) -> Completion:
        """Keeps a copy of a buffer, an array or a tensor. It must not change until that is done."""
        address, count, kept = whole(data, "Tier.store")
        return self._start("store", key, kept, lambda *to: lib.locus_tier_store(*to[:2], ffi.cast("void *", address), count, to[2]))

    def load(self, key: Key, into: Any) -> Completion:
        """Copies the object into memory that has room for it."""
        address, count, kept = writable(into, "Tier.load")
        return self._start("load", key, kept, lambda *to: lib.locus_tier_load(*to[:2], ffi.cast("void *", address), count, to[2]))

    def drop(self, key: Key) -> Completion:
        """Forgets the object."""
        return self._start("drop", key, None, lib.locus_tier_drop)

    def find(self, key: Key) -> int | None:
        """Bytes of the object, or None."""
        out, name = ffi.new("uint64_t *"), _id(key)
        return None if self._ask(lambda pointer: lib.locus_tier_find(pointer, name[0], out)) else int(out[0])

    def verify(self) -> Placement | None:
        """Where its pages are; None: it is a file."""
        region = lib.locus_tier_region(self.pointer)
        return verify(region) if region else None

    def stats(self) -> TierStats:
        """Its counts."""
        out = ffi.new("struct locus_tier_stats *")
        lib.locus_tier_stats(self.pointer, out)
        return TierStats(out.objects, out.bytes, out.bytes_held, out.units, out.units_free, out.stores, out.loads, out.drops,
                         out.failed)

    def _end_thread(self) -> None:
        """It ends when all is complete that was asked for."""
        if self._thread:
            self._stop()
            self._thread.join()

    def take(self) -> Any:
        """Gives it to an Offload: nobody else may call it. The C object."""
        with self._lock:
            pointer, self._taken = self.pointer, True
        self._end_thread()
        return pointer

    def close(self) -> None:
        """Waits for what is under way, and gives it up. A file keeps its objects."""
        with self._lock:
            super().close()
        self._end_thread()


def _why(pointer: Any, error: int) -> str:
    words = {
        errno.ENOSPC: "it has no room for this object now: drop others",
        errno.EFBIG: "the object is larger than the tier could ever hold",
        errno.EBUSY: "another store or drop of this key is under way",
        errno.EINVAL: "an object has bytes; of int8 an even number at an even address",
    }
    return words.get(-error) or ffi.string(lib.locus_tier_why(pointer)).decode()


def _open(call: Any, wanted: Any, why: Any, name: str) -> Any:
    out = ffi.new("struct locus_tier **")
    error = call(out, wanted)
    if error:
        raise Error(error, name, ffi.string(why).decode())
    return out[0]


os.register_at_fork(after_in_child=_under_way.clear)


@atexit.register
def _finish_all() -> None:
    concurrent.futures.wait(list(_under_way))
