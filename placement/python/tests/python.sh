#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test alone
#
# The Python package, from its sources: its tests, doctests and README's first example, once as they are, once with Python's own
# checks of memory, and once with the sanitizers. PYTHON: which one; by default the first that has numpy and what builds a package.
set -u
cd "$(dirname "$0")/../../.." || exit 2
here=placement/python work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

can_build() {
    "$1" - 2>/dev/null <<'END'
import os.path, sysconfig, cffi, numpy, setuptools
assert os.path.exists(sysconfig.get_path("include") + "/Python.h")
END
}
python=${PYTHON-}
for one in python3 /usr/bin/python3; do [ -n "$python" ] || ! can_build $one || python=$one; done
[ -n "$python" ] || { echo '1..0 # SKIP no Python has cffi, numpy, setuptools and Python.h: see .ci/deps.sh'; exit 0; }

failed=0 count=0
say() { count=$((count + 1)); echo "$1 - $2"; [ "$1" = ok ] || failed=1; }
# A name for each case's part, and what runs it. The lines of the tests are this script's, numbered anew.
cases() {
    local name=$1
    shift
    "$@" >"$work/out" 2>&1
    local status=$?
    grep -E '^(ok|not ok|#)' "$work/out" | sed -E "s/^((not )?ok) - /\1 - $name: /"
    count=$((count + $(grep -cE '^(not )?ok' "$work/out")))
    if [ $status != 0 ]; then
        grep -qE '^not ok' "$work/out" || say 'not ok' "$name: exit $status"
        failed=1
        tail -n 20 "$work/out" | sed 's/^/# /'
    fi
}
build() { # what it is called, folder below build, VARIABLE=value ...
    local name=$1 folder=$2
    shift 2
    if (cd $here && env "$@" "$python" setup.py -q build) >"$work/build" 2>&1; then say ok "$name builds"; else
        say 'not ok' "$name builds"
        tail -n 10 "$work/build" | sed 's/^/# /'
    fi
    export PYTHONPATH=$(echo "$PWD/build/$folder"/lib*) PYTHONDONTWRITEBYTECODE=1
}

build package python
cases plain "$python" $here/tests/run.py
if [ "$("$python" placement/examples/serving_loop.py | tail -n 1)" = 'all blocks came home' ]; then say ok 'serving_loop.py runs'
else say 'not ok' 'serving_loop.py runs'; fi
cases checked env PYTHONMALLOC=debug LOCUS_OPERATIONS=20000 LOCUS_SEED=42 \
    "$python" -X dev -W ignore::DeprecationWarning $here/tests/run.py
runtime=$(clang -print-file-name=libclang_rt.asan-"$(uname -m)".so 2>/dev/null)
if [ -e "$runtime" ]; then
    build 'sanitized package' python-san CC=clang SAN=address,undefined LDSHARED='clang -shared'
    cases sanitized env LD_PRELOAD="$runtime" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 PYTHONMALLOC=malloc \
        LOCUS_OPERATIONS=20000 LOCUS_SEED=43 "$python" $here/tests/run.py
else
    say ok "sanitized # SKIP clang has no shared libclang_rt.asan here"
fi
echo "1..$count"
exit $failed
