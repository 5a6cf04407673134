# SPDX-License-Identifier: Apache-2.0
#
# lie.py FILE: from now on the file accepts all writes but keeps showing its original content, like a knob that firmware or a
# hypervisor overrules. The kernel asks before each open of the file (fanotify(7)); by then the old content is back. Prints
# "lying" when it has begun.
import ctypes
import os
import struct
import sys

CLASS_CONTENT, MARK_ADD, OPEN_PERM, ALLOW, AT_FDCWD = 0x04, 0x01, 0x10000, 0x01, -100

path = sys.argv[1]
with open(path, "rb") as file:
    truth = file.read()
libc = ctypes.CDLL(None, use_errno=True)
events = libc.fanotify_init(CLASS_CONTENT, os.O_RDWR)
if events < 0 or libc.fanotify_mark(events, MARK_ADD, ctypes.c_uint64(OPEN_PERM), AT_FDCWD, path.encode()):
    sys.exit(f"lie.py: {path}: {os.strerror(ctypes.get_errno())}")
print("lying", flush=True)
while True:
    told = os.read(events, 4096)
    while told:
        length, fd = struct.unpack_from("=I12xi", told)  # struct fanotify_event_metadata
        os.ftruncate(fd, 0)
        os.pwrite(fd, truth, 0)
        os.write(events, struct.pack("=iI", fd, ALLOW))
        os.close(fd)
        told = told[length:]
