# SPDX-License-Identifier: Apache-2.0
"""What the machine is, and where this thread runs."""

from __future__ import annotations

from dataclasses import dataclass

from ._core import Error, check
from ._native import ffi, lib

__all__ = ["ANY", "Node", "Topology", "pin_cpu", "pin_node", "topology"]

ANY: int = lib.LOCUS_NODE_ANY
_KINDS = {
    lib.LOCUS_NODE_DRAM: "dram",
    lib.LOCUS_NODE_MEMORY_ONLY: "memory-only",
    lib.LOCUS_NODE_CPU_ONLY: "cpu-only",
    lib.LOCUS_NODE_EMPTY: "empty",
    lib.LOCUS_NODE_GPU_MEMORY: "gpu-memory",
}


@dataclass(frozen=True)
class Node:
    """A NUMA node, by the number that Linux gives it."""

    node: int
    kind: str
    """dram, memory-only, cpu-only, empty or gpu-memory"""
    cpus: tuple[int, ...]
    total_bytes: int
    free_bytes: int
    reclaimable_bytes: int
    allowed: bool
    """May this process allocate there?"""


@dataclass(frozen=True)
class Topology:
    """A machine: its nodes, ascending, and their distances as the firmware says them (10 is local, 0 is not known)."""

    nodes: tuple[Node, ...]
    distances: tuple[tuple[int, ...], ...]

    def node(self, number: int) -> Node:
        """The node of this number, or KeyError."""
        for node in self.nodes:
            if node.node == number:
                return node
        raise KeyError(number)


def topology(source: str | None = None) -> Topology:
    """What this machine is, or one that is described: a folder with its /sys and /proc, an XML file of hwloc, or a synthetic one.

    >>> machine = topology("pack:2 [numa(memory=64GB)] core:4 pu:2")
    >>> [(node.node, node.kind, len(node.cpus)) for node in machine.nodes]
    [(0, 'dram', 8), (1, 'dram', 8)]
    """
    out, why = ffi.new("struct locus_topo **"), ffi.new("char[512]")
    error = lib.locus_topo_open(out, source.encode() if source else ffi.NULL, why, 512)
    if error:
        raise Error(error, "topology", ffi.string(why).decode())
    try:
        found = lib.locus_topo_nodes(out[0])
        count = lib.locus_topo_info(out[0]).nodes_count
        nodes = tuple(_node(found[i]) for i in range(count))
        numbers = [node.node for node in nodes]
        distances = tuple(tuple(lib.locus_topo_distance(out[0], a, b) for b in numbers) for a in numbers)
    finally:
        lib.locus_topo_close(out[0])
    return Topology(nodes, distances)


def _node(node: object) -> Node:
    memory = node.memory  # type: ignore[attr-defined]
    return Node(
        node=node.os_index,  # type: ignore[attr-defined]
        kind=_KINDS[node.kind],  # type: ignore[attr-defined]
        cpus=tuple(node.cpus[i] for i in range(node.cpus_count)),  # type: ignore[attr-defined]
        total_bytes=memory.total_bytes,
        free_bytes=memory.free_bytes,
        reclaimable_bytes=memory.reclaimable_bytes,
        allowed=node.allowed,  # type: ignore[attr-defined]
    )


def pin_node(node: int) -> None:
    """Binds the calling thread to the CPUs of a node, for good; threads that it starts inherit that."""
    check(lib.locus_pin_node(node), "pin_node", f"this process may not run on node {node}, or there is no such node")


def pin_cpu(cpu: int) -> None:
    """Binds the calling thread to one CPU."""
    check(lib.locus_pin_cpu(cpu), "pin_cpu", f"this process may not run on CPU {cpu}, or there is no such CPU")
