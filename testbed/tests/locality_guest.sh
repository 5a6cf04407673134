#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Two witnesses of the same stores: in the two-node guest locality_scenario counts its touches by its own page map, while QEMU's
# plugin counts the store instructions from outside. Both must agree to the unit, per section of the window and pair of nodes.
# BUILD=folder of the build. One line a case, PASS, FAIL or SKIP; exit status 1 if any failed. GUEST: where QEMU and the kernel
# are, build/guest by default.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
here=$(cd "$(dirname "$0")" && pwd)
boot=$here/../guest/boot.sh
guest=$(readlink -f "${GUEST:-$here/../../build/guest}" || echo "$here/../../build/guest")
scenario=$(readlink -f "$BUILD/testbed/tests/locality_scenario")
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0

pass() { echo "PASS $1"; }
fail() {
    echo "FAIL $1: $2"
    failures=$((failures + 1))
}
skip() {
    [ "${CI:-}" = "" ] || { fail "$1" "$2 (CI is set: no skips)"; exit 1; }
    echo "SKIP $1: $2"
    exit 0
}

# is NAME EXPECTED FILE
is() {
    if [ "$2" = "$(cat "$3")" ]; then
        pass "$1"
    else
        fail "$1" "$(tr '\n' ';' <"$3") instead of $(echo "$2" | tr '\n' ';')"
    fi
}

remedy="run 'sh testbed/guest/fetch.sh'; nothing is installed"
for part in qemu vmlinux busybox; do
    [ -s "$guest/$part" ] || skip two_witnesses "there is no build/guest/$part: $remedy"
done
case $("$guest/qemu" --version 2>/dev/null) in
*' version '[5-8].*) plugin=$BUILD/testbed/guest/plugin/stores-v1.so ;; # the fallback pair's
*) plugin=$BUILD/testbed/guest/plugin/stores.so ;;
esac
plugin=$(readlink -f "$plugin")
if [ ! -x "$scenario" ] || [ ! -e "$plugin" ]; then
    fail two_witnesses "$BUILD/testbed holds no scenario or no plugin: make all tests"
    exit 1
fi

# boot.sh takes its QEMU from the working directory's build/guest: there, one that has the plugin. The plugin's arguments
# describe the machine n2 and the window of the scenario.
mkdir -p "$scratch/build/guest"
ln -s "$guest/vmlinux" "$guest/busybox" "$scratch/build/guest/"
arguments=window=200000000000-200000800000,section=2097152,cpus=0:0:1:1,memory=536870912:536870912,out=stores
cat >"$scratch/build/guest/qemu" <<END
#!/bin/sh
[ "\$*" = --version ] || set -- -plugin '$plugin,$arguments' "\$@"
exec '$guest/qemu' "\$@"
END
chmod +x "$scratch/build/guest/qemu"
(cd "$scratch" && sh "$boot" --machine n2 --timeout 60 -- "$scenario" >touches 2>errors)
status=$?
cd "$scratch" || exit 1
[ $status -ne 77 ] || [ -s touches ] || skip two_witnesses "$(tail -n 1 errors)" # boot.sh's 77; the program's is a failure

if [ $status -eq 0 ]; then
    pass program_counts_what_it_did
else
    fail program_counts_what_it_did "exit $status: $(tail -n 3 errors)"
fi
[ -s stores ] || { fail plugin_wrote_its_matrix "no file, or an empty one"; exit 1; }
if grep -v malloc touches | diff - stores >difference; then
    pass stores_equal_touches_to_the_unit
else
    fail stores_equal_touches_to_the_unit "touches <, stores >: $(tr '\n' ';' <difference)"
fi

# The plugin alone, against what the scenario is written to do: 32768 lines of 64 bytes in a section, times its writes.
for section in 0 1 2 3; do
    sed -n "s/^$section //p" stores >"section$section"
done
is first_section_is_local_to_the_first_node "0 0 98304
1 0 163840" section0
is second_section_is_local_to_the_second_node "0 1 32768
1 1 131072" section1
is region_bound_to_the_wrong_node_is_wholly_remote "0 1 65536" section2
is first_touch_places_pages_with_their_writer "1 1 229376" section3

wandered=$(sed -n 's/^malloc 100 //p' touches)
if [ "${wandered:-0}" -gt 0 ]; then
    pass blocks_of_a_real_malloc_wander
else
    fail blocks_of_a_real_malloc_wander "$(tail -n 1 touches)"
fi

[ "$failures" -eq 0 ]
