# SPDX-License-Identifier: Apache-2.0
"""Equal blocks on a node, and windows that show a table's blocks as one array."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._core import Error, Handle, config, explain
from ._memory import Mapped, Memory, Placement, choice, placed, verify
from ._native import ffi, lib

if TYPE_CHECKING:
    from ._owner import Table

__all__ = ["Pool", "PoolStats", "Window", "WindowStats"]

NO_BLOCK = 0
_REUSE = {"lifo": lib.LOCUS_REUSE_LIFO, "fifo": lib.LOCUS_REUSE_FIFO, "runs": lib.LOCUS_REUSE_RUNS}
_REFUSED = {
    lib.LOCUS_FREE_DOUBLE: "double",
    lib.LOCUS_FREE_STALE: "stale",
    lib.LOCUS_FREE_FOREIGN: "foreign",
    lib.LOCUS_FREE_RANGE: "range",
    lib.LOCUS_FREE_NOT_HELD: "not held",
    lib.LOCUS_FREE_NOT_RETIRED: "not retired",
    lib.LOCUS_FREE_MISROUTED: "misrouted",
}
Refused = Callable[[str, int, int], None]
"""What on_refused takes: the kind of the refusal, the block's handle, the tag of its table."""


class Pending:
    """Exceptions of the user's functions that the library has called: raised when the library has returned."""

    def __init__(self) -> None:
        self.on_refused: Refused | None = None
        self._raised: list[BaseException] = []

    def refused(self, kind: str, block: int, tag: int) -> None:
        """The library refused a block."""
        if self.on_refused:
            try:
                self.on_refused(kind, block, tag)
            except BaseException as error:  # noqa: BLE001
                self._raised.append(error)

    def surface(self) -> None:
        """Raises the first one."""
        if self._raised:
            first, self._raised = self._raised[0], []
            raise first


@ffi.def_extern()  # type: ignore[untyped-decorator]
def locus_py_refused(context: Any, kind: int, block: int, tag: int) -> None:
    """The library's call, within a drain or another call of the owner's."""
    ffi.from_handle(context).refused(_REFUSED[kind], block, tag)


@dataclass(frozen=True)
class PoolStats:
    """Blocks of a pool. Exact in the owner's thread; elsewhere each figure is as of some moment."""

    blocks: int
    blocks_free: int
    blocks_cached: int
    outstanding: int
    outstanding_high: int
    distinct_high: int
    sharers: int
    allocated: int
    freed: int
    refused: dict[str, int]


class Pool(Mapped):
    """Equal blocks, handed out and taken back by one Owner. `memory` is all of them.

    A block is named by its handle, an int; `view(block)` is its memory.
    """

    def __init__(
        self,
        blocks: int,
        block_bytes: int,
        *,
        node: int | None = None,
        nodes: Sequence[int] = (),
        policy: str = "by-node",
        page: str = "4k",
        populate: bool = False,
        shared: bool = False,
        windows: bool = False,
        reuse: str = "lifo",
        tags: bool = False,
        home: int = 0,
    ) -> None:
        """`shared`: blocks may have several holders (fork, prefix cache). `windows`: Window may show them. Else as of Region."""
        wanted = config("locus_pool_config", blocks=blocks, block_bytes=block_bytes, populate=populate, shared=shared, home=home,
                        windows=windows, reuse=choice(_REUSE, reuse, "reuse"), tags=tags, **placed(node, nodes, policy, page))
        out = ffi.new("struct locus_pool **")
        error = lib.locus_pool_open(out, wanted)
        if error:
            raise explain(lib.locus_pool_why, wanted, error, "Pool")
        self.pending = Pending()
        self._context = ffi.new_handle(self.pending)
        lib.locus_pool_on_error(out[0], lib.locus_py_refused, self._context)
        Handle.__init__(self, out[0], lib.locus_pool_close, self._context, self.pending)
        region = lib.locus_pool_region(out[0])
        Memory.__init__(self, lib.locus_region_base(region), lib.locus_region_bytes(region), self._pointer)
        self.blocks, self.block_bytes, self.shared = blocks, block_bytes, shared

    def on_refused(self, function: Refused | None) -> None:
        """What hears of blocks that come home and are refused: freed twice, stale ...

        It is called within the owner's calls, and must not call the pool or its owner. What it raises is raised by that call when
        it is done.
        """
        self.pending.on_refused = function

    def view(self, block: int) -> memoryview:
        """The bytes of a block. Whether the handle is live, only the owner knows: this checks that the pool has such a block."""
        place = lib.locus_block_index(block)
        if block == NO_BLOCK or place >= self.blocks or lib.locus_block_home(block) != lib.locus_pool_home(self.pointer):
            raise Error(errno.EXDEV, "Pool.view", f"{block:#x} is no block of this pool")
        return self._bytes(place * self.block_bytes, self.block_bytes)

    def verify(self) -> Placement:
        """Where its pages are, by two witnesses; nothing is faulted in."""
        return verify(lib.locus_pool_region(self.pointer))

    def stats(self) -> PoolStats:
        """Its counts. Any thread."""
        out = ffi.new("struct locus_pool_stats *")
        lib.locus_pool_stats(self.pointer, out)
        refused = {word: out.refused[number] for number, word in _REFUSED.items() if out.refused[number]}
        return PoolStats(out.blocks, out.blocks_free, out.blocks_cached, out.outstanding, out.outstanding_high, out.distinct_high,
                         out.sharers, out.allocated, out.freed, refused)


@dataclass(frozen=True)
class WindowStats:
    """Mappings: of this window, of all windows of the process, and how many these may be (vm.max_map_count)."""

    mapped: int
    unmapped: int
    mappings: int
    mappings_all: int
    mappings_max: int


class Window(Mapped):
    """Rows of addresses, each of which shows the blocks of one table, one behind the other. The pages are the pool's.

    `planes`: in how many equal parts a block has its tokens; a row has all first parts, then all second ones ... (locus/window.h).
    Token t of plane p of row r begins at byte r * row_bytes + p * plane_bytes + t * (bytes of a token in a plane) of `memory`. What
    no table has is a hole: to touch it ends the process (SIGSEGV).
    """

    def __init__(self, pool: Pool, blocks: int, *, rows: int = 1, planes: int = 1) -> None:
        """`blocks`: that a row has room for, which costs addresses and no memory."""
        self._wanted = config("locus_window_config", pool=pool.pointer, rows=rows, planes=planes, blocks=blocks)
        out = ffi.new("struct locus_window **")
        error = lib.locus_window_open(out, self._wanted)
        if error:
            raise explain(lib.locus_window_why, self._wanted, error, "Window")
        Handle.__init__(self, out[0], lib.locus_window_close, pool.pointer)
        self.row_bytes: int = lib.locus_window_row_bytes(out[0])
        self.plane_bytes: int = lib.locus_window_plane_bytes(out[0])
        self.rows = rows
        Memory.__init__(self, lib.locus_window_base(out[0]), rows * self.row_bytes, self._pointer)

    def show(self, row: int, table: Table | None) -> None:
        """The row shows the table's blocks from now on; None: nothing. Only what has changed is mapped."""
        error = lib.locus_window_show(self.pointer, row, ffi.NULL if table is None else table.pointer)
        if error:
            raise explain(lib.locus_window_why, self._wanted, error, "Window.show")

    def stats(self) -> WindowStats:
        """Its counts."""
        out = ffi.new("struct locus_window_stats *")
        lib.locus_window_stats(self.pointer, out)
        return WindowStats(out.mapped, out.unmapped, out.mappings, out.mappings_all, out.mappings_max)
