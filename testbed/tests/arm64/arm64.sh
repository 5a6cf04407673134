#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# arm64.sh: the same tests on aarch64: everything is cross-built and runs on an emulated machine of two nodes. It fetches 150 MB
# and takes ten minutes. Emulation on x86 keeps x86's memory order, so reorderings of an Arm processor do not show here; the
# litmus programs under ThreadSanitizer test those.
#
# Needs gcc-aarch64-linux-gnu; without it everything is skipped. LOCUS=path/to/locus, of this machine.
set -u
: "${LOCUS:?LOCUS must name the program}"
cd "$(dirname "$0")/../../.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN
compiler=aarch64-linux-gnu-gcc
build=build/$compiler
sysroot=$PWD/build/guest-arm64/sysroot
libraries=$sysroot/usr/lib/aarch64-linux-gnu
. testbed/tests/cases.bash

in_guest() { # seconds, program, arguments...
    local seconds=$1
    shift
    sh testbed/guest/boot.sh --machine arm --timeout "$seconds" --with "$build/locus" -- "$@" >"$scratch/out" 2>"$scratch/err"
}

command -v $compiler >/dev/null || { echo "1..0 # SKIP no $compiler: apt-get install gcc-aarch64-linux-gnu"; exit; }
sh testbed/guest/fetch-arm64.sh || exit
make -j"$(nproc)" CC=$compiler CFLAGS="-O2 --sysroot=$sysroot" \
    LDFLAGS="--sysroot=$sysroot -L$libraries -Wl,-rpath-link,$libraries:$sysroot/lib/aarch64-linux-gnu" "$build/locus" tests \
    >"$scratch/make" 2>&1 || { tail -n 20 "$scratch/make"; fail build "see above"; exit 1; }
pass build

for unit in $(find "$build" -path '*/tests/unit' | sort); do
    layer=${unit#"$build"/} layer=${layer%/tests/unit}
    in_guest 900 "$unit" -j1 --timeout 300 --tap=-
    status=$?
    while IFS= read -r line; do
        case $line in
        'not ok '*) fail "unit $layer: ${line#not ok - }" "see above" ;;
        *'# SKIP'*) line=${line#ok - } && skip "unit $layer: ${line%%[ #]*}" "${line#*# SKIP }" ;;
        'ok '*) pass "unit $layer: ${line#ok - }" ;;
        esac
    done < <(grep -E '^(not )?ok ' "$scratch/out")
    grep -q '^ok ' "$scratch/out" || fail "unit $layer" "not one case was run: $(tail -n 1 "$scratch/err")"
    [ $status -eq 0 ] || fail "unit $layer: the program" "exit $status: $(tail -n 1 "$scratch/err")"
done

for stress in "$build"/placement/*/tests/*_stress; do
    in_guest 120 "$stress" 3
    case $? in
    0) pass "stress $(basename "$stress" _stress)" ;;
    77) skip "stress $(basename "$stress" _stress)" "$(tail -n 1 "$scratch/out")" ;;
    *) fail "stress $(basename "$stress" _stress)" "$(tail -n 1 "$scratch/err")" ;;
    esac
done

# The flagship, as short as it can be: every arm once in every cell.
if in_guest 300 "$build/locus" run 0005 --smoke && grep -q '^log ' "$scratch/out"; then
    pass "flagship: a run of two nodes is sealed"
    log=$(sed -n 's/^log //p' "$scratch/out")
    remote() { # the start of an arm's name, the ratio
        jq -es --arg name "$1" --argjson ratio "$2" '[.[0].arms[] | select(.name | startswith($name)) | .key] as $keys |
            [.[] | select(.t == "s" and (.arm | IN($keys[])))] |
            length > 0 and all(.[]; .valid and .remote_touch_ratio == $ratio)' \
            <("$LOCUS" record show --samples "$log") >"$scratch/jq"
    }
    if remote home-steered 0; then pass "flagship: home-steered touches nothing remote"; else fail "flagship" "see $log"; fi
    if remote cross-node 1; then pass "flagship: cross-node touches nothing local"; else fail "flagship" "see $log"; fi
else
    fail "flagship" "$(tail -n 1 "$scratch/err")"
fi
done_testing
