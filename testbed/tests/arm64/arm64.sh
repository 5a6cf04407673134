#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# arm64.sh: the same tests on aarch64: everything is cross-built and runs on emulated machines of two nodes. It fetches 150 MB
# and takes a quarter of an hour. Emulation on x86 keeps x86's memory order, so most reorderings of an Arm processor do not show
# here; the litmus programs under ThreadSanitizer test those. It adds one that no Arm processor has: an ldar passes the stlr before
# it.
#
# Needs gcc-aarch64-linux-gnu; without it everything is skipped. LOCUS=path/to/locus, of this machine.
set -u
: "${LOCUS:?LOCUS must name the program}"
cd "$(dirname "$0")/../../.." || exit 2
. testbed/tests/cases.bash
. testbed/tests/arm64/cross.bash
sh testbed/guest/fetch-arm64.sh || exit
cross "$build/locus" tests >"$scratch/make" 2>&1 || { tail -n 20 "$scratch/make"; fail build "see above"; exit 1; }
pass build

# In two machines at a time, because most programs keep one CPU busy; each boot takes ten seconds. Reports are text, the same on
# every machine, and long.
programs=$(find "$build" -path '*/tests/unit' ! -path '*/report/*' | sort
    ls "$build"/{placement,testbed}/*/tests/*_stress)
machine() { # 0 or 1: every other program
    local program taken=() mine
    mine=$(awk -v rest="$1" 'NR % 2 == rest' <<<"$programs")
    for program in $mine; do taken+=(--with "$program"); done
    sh testbed/guest/boot.sh --machine arm --no-record --timeout 1500 --with "$build/locus" "${taken[@]}" -- \
        testbed/tests/arm64/units.sh $mine >"$scratch/out$1" 2>"$scratch/err$1"
    echo "exit $?: $(tail -n 1 "$scratch/err$1")" >"$scratch/machine$1"
}
machine 0 &
machine 1
wait
cat "$scratch"/out[01] >"$scratch/out"
machines=$(cat "$scratch"/machine[01] | paste -sd ' ')

assertion() { # the line of a case that failed: what Criterion writes below it, if anything
    awk -v line="$1" '$0 == line { below = 1; next } /^(not )?ok / { below = 0 } below && /^  - |Assertion/' "$scratch/part" |
        tr -s '\n ' ' ' | head -c 300
}

judge() { # status, program; the cases of a unit, or the lines of a stress program, are in $scratch/part
    local layer=${2#"$build"/}
    layer=${layer%/tests/*}
    if [[ $2 != */unit ]]; then
        layer=$(basename "$2" _stress)
        case $1 in
        0) pass "stress $layer" ;;
        77) skip "stress $layer" "$(tail -n 1 "$scratch/part")" ;;
        *) fail "stress $layer" "exit $1: $(tail -n 1 "$scratch/part")" ;;
        esac
        return
    fi
    while IFS= read -r line; do
        case $line in
        'not ok '*) fail "unit $layer: ${line#not ok - }" "$(assertion "$line")" ;;
        *'# SKIP'*) line=${line#ok - } && skip "unit $layer: ${line%%[ #]*}" "${line#*# SKIP }" ;;
        'ok '*) pass "unit $layer: ${line#ok - }" ;;
        esac
    done < <(grep -E '^(not )?ok ' "$scratch/part" | grep -v 'SKIP test was skipped') # not among those that units.sh takes
    grep -q '^ok ' "$scratch/part" || fail "unit $layer" "not one case was run: $(tail -n 1 "$scratch/part")"
    [ "$1" -eq 0 ] || fail "unit $layer: the program" "exit $1"
}

ended=0
: >"$scratch/part"
while IFS= read -r line; do
    if [[ $line =~ ^end\ ([0-9]+)\ (build/.*)\ ([0-9]+)$ ]]; then
        echo "# ${BASH_REMATCH[3]} s ${BASH_REMATCH[2]#"$build"/}"
        judge "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
        ended=$((ended + 1))
        : >"$scratch/part"
    else
        printf '%s\n' "$line" >>"$scratch/part"
    fi
done <"$scratch/out"
holds 'every program came to its end' "$ended of $(echo "$programs" | wc -l), $machines" test $ended = "$(echo "$programs" | wc -l)"

# The flagship, as short as it can be: every arm once in every cell.
if sh testbed/guest/boot.sh --machine arm --timeout 300 --with "$build/locus" -- "$build/locus" run 0005 --smoke \
    >"$scratch/out" 2>"$scratch/err" && grep -q '^log ' "$scratch/out"; then
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
