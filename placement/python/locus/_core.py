# SPDX-License-Identifier: Apache-2.0
"""What all modules share: errors with the library's sentence, objects that end with their last user, other people's memory."""

from __future__ import annotations

import atexit
import errno
import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol, cast

from ._native import ffi, lib

__all__ = ["Error", "Handle", "check", "config", "explain", "owned", "span", "writable"]

PAGES = {"4k": lib.LOCUS_PAGE_4K, "thp": lib.LOCUS_PAGE_THP, "2m": lib.LOCUS_PAGE_2M, "1g": lib.LOCUS_PAGE_1G}
_WHY_BYTES = 512
_births = [0]  # how many forks this process has behind it


def _count_fork() -> None:
    _births[0] += 1


os.register_at_fork(after_in_child=_count_fork)

FORKED = "it was opened before this process was forked, and a child inherits none of its memory: open one in the child"
_SENTENCES = {
    errno.EPERM: "this thread does not hold the owner's role: `with owner:` adopts it",
    errno.EBUSY: "somebody else has it open, or holds the role",
    errno.ENOMEM: "there are too few free blocks, also when all that is on its way has come home",
    errno.EAGAIN: "blocks on their way home would suffice: drain, or open the owner with a longer wait_s",
    errno.ETIMEDOUT: "retired tables did not come home within wait_s",
    errno.ENOSPC: "the table has no room for so many blocks: extend() it",
    errno.EXDEV: "a block belongs to another home",
    errno.ENOENT: "there is none of this key",
    errno.EBADMSG: "its checksum is not that of the bytes, which were not used",
    errno.EMSGSIZE: "the object is larger than the room for it",
    errno.ENODEV: "there is no such node or CPU, or it went offline",
    errno.ERANGE: "a number is infinite or not a number, which int8 cannot keep",
    errno.EINVAL: "an argument is out of range, or the object is in another state",
}


class Error(OSError):
    """What the library refuses: `errno`, and a sentence that names the cause and the remedy."""

    def __init__(self, number: int, call: str, why: str = "") -> None:
        """`number`: the library's, of either sign."""
        number = abs(number)
        super().__init__(number, f"{call}: {why or _SENTENCES.get(number) or os.strerror(number)}")

    def __str__(self) -> str:
        """Without the number, which only programs want."""
        return str(self.strerror)


def explain(why: Callable[..., None], given: Any, error: int, call: str) -> Error:
    """The error of an open function, with the sentence of its *_why()."""
    text = ffi.new("char[]", _WHY_BYTES)
    why(given, error, text, _WHY_BYTES)
    return Error(error, call, ffi.string(text).decode())


def check(result: int, call: str, why: str = "") -> int:
    """A result that is not negative, or Error."""
    if result < 0:
        raise Error(result, call, why)
    return result


class _Anchor:
    """How an object of the library ends, and what has to outlive it.

    Anchors are in a set of this module, so no garbage collection comes to them, or to what they keep, while the object lives. It
    would take garbage apart in any order, and an owner must be closed before its pool. (A bound method is never taken apart.)
    """

    __slots__ = ("_anchors", "_birth", "_births", "_close", "_keep")
    all: ClassVar[set[_Anchor]] = set()

    def __init__(self, close: Callable[[Any], object] | None, keep: tuple[Any, ...]) -> None:
        self._close, self._keep = close, keep
        self._births, self._birth, self._anchors = _births, _births[0], _Anchor.all  # at the very end there are no globals
        self._anchors.add(self)

    def end(self, pointer: Any) -> None:
        """The last reference is gone. Not in a forked child, which has nothing of it; nor at exit, when the system frees all."""
        self._anchors.discard(self)
        if self._close and self._births[0] == self._birth:
            self._close(pointer)


def owned(pointer: Any, close: Callable[[Any], object] | None, *keep: Any) -> Any:
    """`pointer`, which is closed when nobody refers to it any more, and keeps `keep` alive until then."""
    return ffi.gc(pointer, _Anchor(close, keep).end)


@atexit.register
def _end() -> None:
    _births[0] += 1


def config(name: str, **fields: Any) -> Any:
    """A config struct of the library, with its size first, and with what it points to. None leaves a field as it is: 0."""
    struct = ffi.new(f"struct {name} *", {key: value for key, value in fields.items() if value is not None})
    struct.size = ffi.sizeof(struct[0])
    return owned(struct, None, fields)


class Handle:
    """An object of the library. It ends with its last user: a view of its memory, or an object that was made of it, is one."""

    def __init__(self, pointer: Any, close: Callable[[Any], object] | None, *keep: Any) -> None:
        """`keep`: what has to outlive it."""
        self._pointer: Any = owned(pointer, close, *keep)
        self._birth = _births[0]

    @property
    def pointer(self) -> Any:
        """The C object; an error if it is closed, or another process's."""
        if self._pointer is None:
            raise Error(errno.EBADF, type(self).__name__, "it is closed")
        if self._birth != _births[0]:
            raise Error(errno.ECHILD, type(self).__name__, FORKED)
        return self._pointer

    @property
    def closed(self) -> bool:
        """Was close() called?"""
        return self._pointer is None

    def close(self) -> None:
        """Gives it up. Its memory stays as long as a view of it does, and its users stay usable."""
        self._pointer = None


class _Sized(Protocol):
    nbytes: int


def _strided(first: int, shape: Sequence[int], strides: Sequence[int], item_bytes: int) -> tuple[int, int]:
    """The range of addresses that an array touches."""
    if 0 in shape:
        return first, 0
    steps = [(count - 1) * stride for count, stride in zip(shape, strides, strict=True)]
    low, high = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps)
    return first + low, high - low + item_bytes


def span(thing: Any) -> tuple[int, int]:
    """Address and bytes of what lies in this process's memory.

    A torch tensor, a numpy array (or whatever has __array_interface__), or an object with a buffer; of a strided array all from
    its first byte to its last one.
    """
    if hasattr(thing, "data_ptr"):
        if thing.device.type != "cpu":
            raise Error(errno.EINVAL, "locus", f"the tensor is on {thing.device}, and nodes have memory of the host only")
        item_bytes = thing.element_size()
        strides = [stride * item_bytes for stride in thing.stride()]
        return _strided(thing.data_ptr(), tuple(thing.shape), strides, item_bytes)
    array = getattr(thing, "__array_interface__", None)
    if array and isinstance(array.get("data"), tuple):
        item_bytes = int(array["typestr"][2:])
        strides = array.get("strides") or _c_strides(array["shape"], item_bytes)
        return _strided(array["data"][0], array["shape"], strides, item_bytes)
    try:
        with memoryview(array["data"] if array else thing) as view:
            contiguous, count = view.contiguous, view.nbytes
    except TypeError:
        raise Error(errno.EINVAL, "locus", f"{type(thing).__name__} has no memory to look at: take a tensor, an array or a "
                    "buffer") from None
    if not contiguous:
        raise Error(errno.EINVAL, "locus", "the buffer is strided: take a numpy array or a tensor")
    return int(ffi.cast("uintptr_t", ffi.from_buffer(array["data"] if array else thing))), count


def _c_strides(shape: Sequence[int], item_bytes: int) -> list[int]:
    strides, step = [], item_bytes
    for count in reversed(shape):
        strides.append(step)
        step *= count
    return strides[::-1]


def whole(thing: Any, call: str) -> tuple[int, int, Any]:
    """As span(), for an object whose bytes lie one behind the other; and what holds them there."""
    address, count = span(thing)
    has = cast("_Sized", thing).nbytes if hasattr(thing, "nbytes") else count
    if has != count:
        raise Error(errno.EINVAL, call, f"the array is strided ({has} bytes of {count}): make it contiguous")
    array = hasattr(thing, "data_ptr") or hasattr(thing, "__array_interface__")
    return address, count, thing if array else ffi.from_buffer(thing)


def writable(thing: Any, call: str) -> tuple[int, int, Any]:
    """As whole(), for memory that may be written."""
    array = getattr(thing, "__array_interface__", None)
    data = array["data"] if array else thing
    if isinstance(data, tuple):
        readonly = data[1]
    elif hasattr(thing, "data_ptr"):
        readonly = False
    else:
        with memoryview(data) as view:
            readonly = view.readonly
    if readonly:
        raise Error(errno.EINVAL, call, "the memory is read-only")
    return whole(thing, call)
