# SPDX-License-Identifier: Apache-2.0
"""Reads a machine's nodes from a copy of its /sys and /proc. It shares no code with topo/, and asks neither hwloc nor the kernel here.

    python3 expected.py FOLDER     prints expected.tsv: the machines in that folder, a line a node

Columns: the machine; the node; its kind; its CPUs; its memory in KiB; its distance to each node. "-" is none, or not known: of
distances, where there is no file, or 0. Of what is no whole machine there is one line, with why in place of the kind.

The kernel's words that it follows: a node that is online has a folder (Documentation/ABI/stable/sysfs-devices-node); cpumap are words
of 32 bits, the highest first; a CPU is online unless its own file says 0. Memory without CPUs is a GPU's if NVIDIA's driver names the
node, if the firmware has a generic initiator there, or if every node with CPUs is 80 or more away (topo/topo_node.h says why).
"""
import pathlib, re, sys

NODES, CPUS = "sys/devices/system/node", "sys/devices/system/cpu"


class Incomplete(Exception):
    pass


def text(path):
    return path.read_bytes().split(b"\0")[0].decode().strip() if path.is_file() else None


def numbers(words):
    """0-3,8 as a set"""
    ranges = (word.split("-") for word in words.split(",") if word)
    return {number for first, *last in ranges for number in range(int(first), int((last or [first])[0]) + 1)}


def bits(words):
    mask = int(words.replace(",", ""), 16)
    return {bit for bit in range(mask.bit_length()) if mask >> bit & 1}


def ranges(numbers):
    """the reverse; nothing is -"""
    words, rest = [], sorted(numbers)
    while rest:
        first = last = rest.pop(0)
        while rest and rest[0] == last + 1:
            last = rest.pop(0)
        words.append(f"{first}-{last}" if last > first else str(first))
    return ",".join(words) or "-"


def folders(path, name):
    return {int(found.name[len(name):]) for found in path.glob(name + "*") if re.fullmatch(name + r"\d+", found.name)}


def cpus_online(root):
    present = folders(root / CPUS, "cpu")
    if not present:
        raise Incomplete(f"it lacks {CPUS}")
    return {cpu for cpu in present if text(root / CPUS / f"cpu{cpu}/online") != "0"}


def memory(root, path):
    found = re.search(r"MemTotal:\s+(\d+) kB", text(root / path) or "")
    if not found:
        raise Incomplete(f"it lacks {path}")
    return int(found[1])


def gpus(root):
    status = (text(path) for path in root.glob("proc/driver/nvidia/gpus/*/numa_status"))
    return {int(found[1]) for found in (re.search(r"Node:\s+(\d+)", words or "") for words in status) if found}


def kind(root, node, nodes):
    cpus, kib, distances = nodes[node]
    if cpus:
        return "DRAM" if kib else "CPU-only"
    if not kib:
        return "empty"
    row = sorted(nodes).index(node)
    near = [int(others[row]) for own, _, others in nodes.values() if own and others[row] != "-"]
    initiators = numbers(text(root / NODES / "has_generic_initiator") or "")
    is_gpu = node in gpus(root) or node in initiators or (near and min(near) >= 80)
    return "GPU memory" if is_gpu else "memory-only"


def machine(root):
    online = cpus_online(root)
    listed = text(root / NODES / "online")
    names = folders(root / NODES, "node") if listed is None else numbers(listed)
    if not names:
        yield 0, "DRAM", ranges(online), memory(root, "proc/meminfo"), "-"
        return
    nodes = {}
    for node in sorted(names):
        folder = root / NODES / f"node{node}"
        cpulist = text(folder / "cpulist")
        cpus = numbers(cpulist) if cpulist is not None else bits(text(folder / "cpumap"))
        distances = (text(folder / "distance") or "- " * len(names)).split()
        distances = ["-" if distance == "0" else distance for distance in distances]
        if len(distances) != len(names):
            raise Incomplete(f"node {node} has {len(distances)} distances to {len(names)} node" + "s" * (len(names) > 1))
        nodes[node] = cpus & online, memory(root, f"{NODES}/node{node}/meminfo"), distances
    for node, (cpus, kib, distances) in nodes.items():
        yield node, kind(root, node, nodes), ranges(cpus), kib, " ".join(distances)


def main(folder):
    for root in sorted(path for path in pathlib.Path(folder).iterdir() if path.is_dir()):
        try:
            lines = list(machine(root))
        except Incomplete as why:
            lines = [("-", f"no machine: {why}", "-", "-", "-")]
        for line in lines:
            print(root.name, *line, sep="\t")


main(*sys.argv[1:])
