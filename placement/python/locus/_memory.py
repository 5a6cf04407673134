# SPDX-License-Identifier: Apache-2.0
"""Memory with a verified placement, and where any memory is."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._core import PAGES, Error, Handle, check, config, explain, owned, span
from ._native import ffi, lib
from ._topology import ANY

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Placement", "Region", "Where", "where"]

POLICIES: dict[str, int] = {}
while name := lib.locus_policy_name(len(POLICIES)):
    POLICIES[ffi.string(name).decode()] = len(POLICIES)


@dataclass(frozen=True)
class Where:
    """On which nodes memory lies, in pages of 4 KiB."""

    pages: int
    pages_present: int
    """of these, on some node; the others were never written, or were given back"""
    on: dict[int, int]
    """pages by node"""

    def elsewhere(self, node: int) -> int:
        """Present pages that are not on `node`."""
        return self.pages_present - self.on.get(node, 0)


def where(thing: Any) -> Where:
    """Asks the kernel where the pages of a tensor, an array or a buffer are. Nothing is faulted in, and nothing moves.

    >>> found = where(bytearray(1 << 20))
    >>> found.pages_present <= found.pages
    True
    """
    address, count = span(thing)
    if not count:
        return Where(0, 0, {})
    out = ffi.new("struct locus_where *")
    check(lib.locus_where(ffi.cast("void *", address), count, out), "where", "move_pages is forbidden here, or missing")
    return Where(out.pages, out.pages_present, {out.on[i].node: out.on[i].pages for i in range(out.nodes_count)})


@dataclass(frozen=True)
class Placement:
    """Three facts: what was requested, what the kernel granted, and where the pages are (in units of 4 KiB)."""

    requested_policy: str
    requested_nodes: tuple[int, ...]
    granted_policy: str | None
    """None: the kernel does not say"""
    granted_nodes: tuple[int, ...]
    page_bytes: int
    thp_advised: bool
    pages: int
    pages_present: int | None
    """None: move_pages is forbidden here"""
    pages_elsewhere: int | None
    """present on a node that was not asked for"""
    on: dict[int, int]
    numa_maps_agrees: bool | None
    """the second witness; None: there is none"""


def node_set(nodes: Iterable[int]) -> Any:
    """The library's set of nodes."""
    out = ffi.new("struct locus_nodes *")
    for node in nodes:
        if not 0 <= node < lib.LOCUS_NODES_MAX:
            raise Error(errno.EINVAL, "nodes", f"{node} is no number of a node: they are 0 to {lib.LOCUS_NODES_MAX - 1}")
        lib.locus_nodes_add(out, node)
    return out[0]


def _listed(nodes: Any) -> tuple[int, ...]:
    found, node = [], lib.locus_nodes_next(ffi.addressof(nodes), 0)
    while node >= 0:
        found.append(node)
        node = lib.locus_nodes_next(ffi.addressof(nodes), node + 1)
    return tuple(found)


def choice(of: dict[str, int], name: str, what: str) -> int:
    """The library's number for a word."""
    if name not in of:
        raise Error(errno.EINVAL, what, f"{name!r} is none of {', '.join(of)}")
    return of[name]


def placed(node: int | None, nodes: Sequence[int], policy: str, page: str) -> dict[str, Any]:
    """The fields of a config that say where memory shall be."""
    return {
        "node": ANY if node is None else node,
        "nodes": node_set(nodes),
        "policy": choice(POLICIES, policy, "policy"),
        "page": choice(PAGES, page, "page"),
    }


def verify(region: Any) -> Placement:
    """As locus_region_verify()."""
    out = ffi.new("struct locus_placement *")
    check(lib.locus_region_verify(region, out), "verify")
    wanted, granted, verified = out.requested, out.granted, out.verified
    names = {number: word for word, number in POLICIES.items()}
    nodes = _listed(wanted.nodes) or (() if wanted.node == ANY else (wanted.node,))
    unknown = verified.verify_errno != 0
    return Placement(
        requested_policy=names[wanted.policy],
        requested_nodes=nodes,
        granted_policy=None if granted.policy_errno else names[granted.policy],
        granted_nodes=_listed(granted.nodes),
        page_bytes=granted.page_bytes,
        thp_advised=granted.thp_advised,
        pages=verified.pages,
        pages_present=None if unknown else verified.pages_present,
        pages_elsewhere=None if unknown else verified.pages_elsewhere,
        on={verified.on[i].node: verified.on[i].pages for i in range(verified.nodes)},
        numa_maps_agrees=verified.numa_maps_agrees if verified.numa_maps_read and not unknown else None,
    )


class Memory:
    """Bytes that numpy, torch and DLPack take without a copy. They stay until the last view of them is gone.

    `memory` is a memoryview, which `torch.frombuffer` and `numpy.frombuffer` take; `numpy.asarray(...)` and `from_dlpack(...)`
    take the object itself, as bytes.
    """

    def __init__(self, address: Any, count: int, *keep: Any) -> None:
        """`keep`: what the memory belongs to."""
        self._address = owned(ffi.cast("char *", address), None, *keep)
        self._count = count

    def _bytes(self, first: int = 0, count: int | None = None) -> memoryview:
        """A part of it."""
        count = self._count - first if count is None else count
        if not (0 <= first <= self._count and 0 <= count <= self._count - first):
            raise IndexError(f"bytes {first} to {first + count} of {self._count}")
        return memoryview(ffi.buffer(owned(self._address + first, None, self._address), count))

    @property
    def memory(self) -> memoryview:
        """All of it."""
        return self._bytes()

    @property
    def nbytes(self) -> int:
        """How many bytes."""
        return self._count

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """For numpy, which keeps the memory, and not this object: that may be closed before."""
        return {"version": 3, "typestr": "|u1", "shape": (self._count,), "data": self.memory}

    def __dlpack__(self, **how: Any) -> Any:
        """For from_dlpack(), by way of numpy."""
        return self._array().__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host's memory."""
        return (1, 0)

    def _array(self) -> np.ndarray[Any, Any]:
        try:
            import numpy as np  # noqa: PLC0415
        except ImportError:
            raise Error(errno.ENOSYS, "DLPack", "it needs numpy: pip install numpy, or take .memory") from None
        return np.asarray(self)


class Mapped(Handle, Memory):
    """An object of the library whose memory can be looked at."""

    def _bytes(self, first: int = 0, count: int | None = None) -> memoryview:
        assert self.pointer
        return super()._bytes(first, count)

    def close(self) -> None:
        """Gives it up; views keep the memory."""
        super().close()
        self._address = None


class Region(Mapped):
    """One span of memory between guard pages, placed on a node.

    >>> with_views = Region(1 << 16, populate=True)
    >>> with_views.memory[:3] = b"abc"
    >>> with_views.verify().pages_present
    16
    """

    def __init__(
        self,
        nbytes: int,
        *,
        node: int | None = None,
        nodes: Sequence[int] = (),
        policy: str = "by-node",
        page: str = "4k",
        populate: bool = False,
        windows: bool = False,
    ) -> None:
        """`policy`: by-node binds to the node that is named; bind, preferred, interleave ... (locus/policy.h).

        `page`: 4k, thp, 2m or 1g. `populate`: fault all pages in now. `windows`: as a file in memory (locus/window.h).
        """
        wanted = config("locus_region_config", bytes=nbytes, populate=populate, windows=windows,
                        **placed(node, nodes, policy, page))
        out = ffi.new("struct locus_region **")
        error = lib.locus_region_open(out, wanted)
        if error:
            raise explain(lib.locus_region_why, wanted, error, "Region")
        Handle.__init__(self, out[0], lib.locus_region_close)
        Memory.__init__(self, lib.locus_region_base(out[0]), lib.locus_region_bytes(out[0]), self._pointer)

    def verify(self) -> Placement:
        """Where its pages are, by two witnesses; nothing is faulted in."""
        return verify(self.pointer)
