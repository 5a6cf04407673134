# SPDX-License-Identifier: Apache-2.0
"""declarations.py FILE LIBRARY: takes the file as cffi does, finds each of its functions in the library, and prints a C program
that compiles against the headers only if they say the same: sizes, offsets, constants and prototypes.
"""
import pathlib
import re
import sys

import cffi  # type: ignore[import-untyped]

text = pathlib.Path(sys.argv[1]).read_text()
ffi = cffi.FFI()
ffi.cdef(text)
library = ffi.dlopen(sys.argv[2])


def offsets(name, fields, path="", base=0):
    """A struct's members, also those of the structs without a name in it."""
    for field, member in fields:
        yield f"offsetof({name}, {path}{field}) == {base + member.offset}"
        inner = member.type.item if member.type.kind == "array" else member.type
        if inner.kind == "struct" and "$" in inner.cname:
            element = "[0]" if member.type.kind == "array" else ""
            yield from offsets(name, inner.fields, f"{path}{field}{element}.", base + member.offset)


def facts():
    for name in ffi.list_types()[1]:
        struct = ffi.typeof(f"struct {name}")
        if struct.fields is not None:
            yield f"sizeof(struct {name}) == {ffi.sizeof(struct)}"
            yield from offsets(f"struct {name}", struct.fields)
    for name in re.findall(r"^enum (\w+)", text, re.MULTILINE):
        for value, constant in ffi.typeof(f"enum {name}").elements.items():
            yield f"{constant} == {value}"
    for constant in re.findall(r"^#define (\w+)", text, re.MULTILINE):
        yield f"{constant} == {getattr(library, constant)}"


prototypes = re.findall(r"^(?!typedef)\w[^;{}#]*\blocus_\w+\([^;{}]*\);", text, re.MULTILINE)
for prototype in prototypes:
    getattr(library, re.findall(r"\blocus_\w+(?=\()", prototype)[0])
assert len(prototypes) > 100, prototypes
print("#include <locus/locus.h>", "#include <stddef.h>", *prototypes, sep="\n")
for fact in facts():
    print(f'_Static_assert({fact}, "{fact}");')
