# SPDX-License-Identifier: Apache-2.0
"""LOCUS: KV-cache memory that stays on its NUMA node.

A Pool is blocks on a node. Its Owner fills a Table for each request, and finished tables come home by a Route, from any thread.
Window shows a table's blocks as one array; Prefix keeps blocks that later prompts begin with; Tier keeps bytes elsewhere.
`where(x)` says on which nodes any array or tensor lies. `locus.hf` is a cache for Hugging Face's transformers.
"""

from ._core import Error
from ._memory import Placement, Region, Where, where
from ._native import lib as _lib
from ._owner import Owner, OwnerStats, Route, Table
from ._pool import Pool, PoolStats, Window, WindowStats
from ._prefix import Offload, OffloadStats, Prefix, PrefixStats
from ._tier import Completion, Tier, TierStats
from ._topology import Node, Topology, pin_cpu, pin_node, topology

__all__ = [
    "Completion",
    "Error",
    "Node",
    "Offload",
    "OffloadStats",
    "Owner",
    "OwnerStats",
    "Placement",
    "Pool",
    "PoolStats",
    "Prefix",
    "PrefixStats",
    "Region",
    "Route",
    "Table",
    "Tier",
    "TierStats",
    "Topology",
    "Where",
    "Window",
    "WindowStats",
    "pin_cpu",
    "pin_node",
    "topology",
    "where",
]

_number = _lib.locus_version()
__version__ = f"{_number >> 16}.{_number >> 8 & 255}.{_number & 255}"
