#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# A packet's whole way: made in the emulated machine n2, brought out, checked, filed, and shown in the report as emulated.
# LOCUS=path/to/locus BUILD=path/of/the/build.
#
# One packet has smoke runs, one of which counts. If the program was built from this tree, another has official runs, which are
# unmeasurable on two emulated nodes and so take no time.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
home=build/logs/guest-packet
trap 'rm -rf "$scratch" "$home"' EXIT
rm -rf "$home"

needs_guest packet_guest

official=no
[ -n "$(git status --porcelain -- . ':!logs' 2>&1)" ] || [ "$(cat "$BUILD/commit")" != "$(git rev-parse HEAD)" ] || official=yes

build=${BUILD#"$PWD"/}
cat >"$scratch/cases.sh" <<END
#!/bin/sh
mkdir -p $home
$build/locus packet --smoke --host guest-packet -o $home/smoke.tar 0010 0003; echo "smoke \$?"
[ $official = no ] || $build/locus packet --host guest-packet -o $home/official.tar 0010 0011; echo "official \$?"
END
chmod +x "$scratch/cases.sh"
"$LOCUS" guest --machine n2 --timeout 200 --program "$scratch/cases.sh" >"$scratch/said" 2>"$scratch/said.err"
why="exit $?: $(tail -n 3 "$scratch/said.err")"
check it_is_made_in_the_guest eval "grep -q '^smoke 0' '$scratch/said' && grep -q '^official 0' '$scratch/said'"

# packet NAME ROOT: checked and filed in a place that has the postulates and nothing else.
packet() {
    local name=$1 root=$2
    why=
    check "$1_is_checked_and_filed" locus 0 packet import "$project/$home/$name.tar" --logs "$root"
    check "$1_is_said_to_be_emulated" grep -q '^host  *guest-packet, emulated: counts, no times' "$out"
    tail -n 1 "$root"/guest-packet/ledger.jsonl >"$scratch/line"
    says "$1_says_so_itself" '.kind == "emulated"' "$scratch/line"
    says "$1_has_two_nodes" '.nodes | length == 2' "$root"/guest-packet/packet/*/topo.json
    says "$1_has_a_matrix_without_times" 'type == "object"' "$root"/guest-packet/packet/*/matrix.json
    check "$1_is_whole" eval "'$LOCUS' verify --logs $root | grep -q ', 1 packet: all is well'"
    check "$1_is_in_the_report" locus 0 report --logs "$root" -o "$scratch/report.html"
    check "$1_is_shown_as_emulated" grep -q 'data-host="guest-packet".* data-emulated="n2"' "$scratch/report.html"
    why="a run is not marked"
    check "$1_has_no_run_that_is_not" [ "$(grep -c '<tr data-run="' "$scratch/report.html")" -eq \
        "$(grep -c '<tr data-run="[^>]* data-emulated="n2"' "$scratch/report.html")" ]
}
project=$PWD
mkdir "$scratch/ours" && cp -a postulates "$scratch/ours/" && cd "$scratch/ours" && mkdir build logs || exit 1
packet smoke build/logs
why=
check its_counts_are_there jq -es '[.[] | select(.t == "s")] | length == 8 and all(.[]; .valid and .allocated == .freed)' \
    <("$LOCUS" record show --samples build/logs/guest-packet/0003-*/*.jsonl)
if [ $official = yes ]; then
    packet official logs
    why=
    check an_unmeasurable_run_says_why grep -rq 'needs hardware, and this is an emulated guest (n2)' "$scratch/report"
else
    skip official "the tree has changes, or the program was built from another commit"
fi
done_testing
