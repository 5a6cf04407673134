# SPDX-License-Identifier: Apache-2.0
"""Builds locus/_native: the library and its declarations, by cffi.

`make` builds liblocus.a and the declarations as it does for everybody, so there is one list of sources and flags. CC and SAN
choose a variant as usual. cffi compiles the calls (API mode), so each size, offset and prototype is the compiler's; it needs no
header parsed at import, takes the limited API, so that one wheel serves every Python from 3.10 on, and releases the GIL around
each call. nanobind would need Python 3.12 for that.
"""

import os
import pathlib
import re
import subprocess

import cffi

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# What the library calls, and what native.c has.
MORE = """
struct locus_py_op { struct locus_tier_op op; void *handle; };
extern "Python" void locus_py_refused(void *, enum locus_free_error, locus_block, uint64_t);
extern "Python" int locus_py_step(struct locus_owner *, void *);
extern "Python" void locus_py_done(struct locus_tier_op *, int);
int locus_py_many(struct locus_tier *, uint32_t, const struct locus_id[], uint32_t, const struct locus_piece[], uint32_t,
                  int32_t[]);
uint64_t locus_py_keys(const struct locus_tier *, struct locus_id[], uint64_t);
"""


def version() -> str:
    """The library's version is the package's."""
    header = (ROOT / "placement/include/locus/version.h").read_text()
    found = re.search(r'^#define LOCUS_VERSION "(.*)"$', header, re.MULTILINE)
    if not found:
        raise SystemExit("placement/python: this is no checkout of LOCUS, whose sources the package is made of")
    return found[1]


def build() -> dict[str, str]:
    """What `make native` says: names and values."""
    variant = [f"{name}={os.environ[name]}" for name in ("CC", "SAN") if os.environ.get(name)]
    command = ["make", "-s", "-C", str(ROOT), *variant, "native"]
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        raise SystemExit("placement/python: the library was not built (above). `make deps` installs what it needs")
    return dict(line.split(": ", 1) for line in made.stdout.splitlines() if re.match(r"[a-z]+: ", line))


native = build()
# The interpreter is not linked with a sanitizer, so its library is shared, and has to be preloaded.
sanitizer = [f"-fsanitize={os.environ['SAN']}"] if os.environ.get("SAN") else []
shared = ["-shared-libasan"] if sanitizer and "clang" in os.environ.get("CC", "") else []
ffi = cffi.FFI()
ffi.cdef((ROOT / native["declarations"]).read_text() + MORE)
ffi.set_source(
    "locus._native",
    (HERE / "native.c").read_text(),
    include_dirs=[str(ROOT), str(ROOT / "placement/include"), str(ROOT / "topo")],
    define_macros=[("_GNU_SOURCE", None), ("Py_LIMITED_API", "0x030a0000")],
    extra_compile_args=["-O2", "-Wno-discarded-qualifiers", *sanitizer],
    extra_objects=[str(ROOT / native["archive"])],
    extra_link_args=["-Wl,--exclude-libs,ALL", "-pthread", *native["libraries"].split(), *sanitizer, *shared],
    py_limited_api=True,
)
