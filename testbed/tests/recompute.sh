#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every sealed log of the repository, judged again by recompute/, which shares no code with the program. It prints TAP itself: a
# line a log, and the controls.
set -u
cd "$(dirname "$0")/../.." || exit 1
for python in python3 /usr/bin/python3; do # one before Debian's in PATH may lack its packages
    "$python" -c 'import yaml' 2>/dev/null && exec "$python" -B testbed/tests/recompute
done
echo 'not ok - python3-yaml is there'
echo 1..1
exit 1
