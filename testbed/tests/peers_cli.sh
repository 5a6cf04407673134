#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# Named mallocs: -c NAME=malloc:PATH, and the peers that `make peers` fetches. LOCUS names the program, LOCUS_ASAN the one with
# AddressSanitizer. One line a case. Without a Debian mirror the peers themselves are skipped; the rest is tested on libraries
# made here, and on a mirror and a source package made here.
set -u
: "${LOCUS:?LOCUS must name the program}"
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/cases.bash"
fixtures=$REPO/testbed/tests/fixtures
peers=$scratch/peers
mkdir "$peers"
export LOCUS_PEERS=$peers

# The C library's malloc under other names, in a library that claims to be mimalloc, and a later one if it has mimalloc's settings.
cat >"$scratch/fake.c" <<'C'
#include <stdlib.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return __libc_realloc(old, bytes); }
void free(void *old) { __libc_free(old); }
int mi_version(void) { return getenv("MIMALLOC_PURGE_DELAY") ? VERSION + 1 : VERSION; }
C
# library FILE FLAGS...
library() { "${CC:-gcc}" -shared -fPIC -o "$1" "${@:2}" >"$scratch/cc" 2>&1; }
fake=$scratch/'a=lib@delay+4w%50.so'
library "$fake" -DVERSION=30600 "$scratch/fake.c" && library "$scratch/other.so" -DVERSION=209 "$scratch/fake.c" ||
    { fail libraries "$(head -n 1 "$scratch/cc")"; exit 1; }

# --- NAME=malloc:PATH ----------------------------------------------------------------------------------------------------------

few=(-q -r 2 -d inline)
if locus 0 eval "${few[@]}" -W cycle-256 --laps 2 -c "locus,fast=malloc:$fake,fast,slow=malloc:$scratch/other.so,fast@delay:3" \
    --json="$scratch/eval.json" --csv="$scratch/eval.csv" --plot "$scratch/eval.svg"; then
    json=$scratch/eval.json
    says eval-names-its-rows '[.cells[0].arms[].name] | sort == ["fast", "fast#2", "fast@delay:3", "locus", "slow"]' "$json"
    says eval-says-the-library "[.cells[0].arms[] | select(.name == \"fast#2\").library] == [\"$fake\"]" "$json"
    says eval-reads-the-version '[.cells[0].arms[] | select(.name == ("fast", "slow")).version] | sort ==
        ["mimalloc 2.0.9", "mimalloc 3.6.0"]' "$json"
    says eval-passes-its-gates '[.cells[0].arms[].valid] | all' "$json"
    says the-same-name-twice-is-a-control '[.cells[0].arms[] | select(.name == "fast#2").vs_twin != null] == [true]' "$json"
    holds csv-has-the-names 'another number of lines than 2 rounds of fast' eval \
        "[ \$(grep -c ',fast,$fake,' '$scratch/eval.csv') = 2 ]"
    holds the-table-has-the-names 'no such row' grep -Eq '^ +slow +[0-9]' "$out"
    holds the-plot-has-the-names 'no such row' grep -q '>slow<' "$scratch/eval.svg"
else
    fail eval-of-named-libraries "$why"
fi
printf '%s\n' 'TIMESTAMP,ContextTokens,GeneratedTokens' '2023-11-16 18:15:46.6805900,374,44' >"$scratch/trace.csv"
named() { locus 0 "$@" -c "locus,fast=malloc:$fake" --json && jq -e '[.cells[0].arms[].name] | sort == ["fast", "locus"]' "$out"; }
check replay-takes-a-named-library named replay "${few[@]}" "$scratch/trace.csv"
check bench-takes-a-named-library named bench -q -r 2
advised() { locus 0 advise -q --rounds 2 --workload steady-decode -c "home-steered,fast=malloc:$fake"; }
check advise-takes-a-named-library advised

refuses a-contenders-name 2 "'mimalloc' is already a contender" eval -c "mimalloc=malloc:$fake"
refuses a-name-for-two-libraries 2 "'a' is .* already" eval -c "a=malloc:$fake,a=malloc:$scratch/other.so"
refuses a-name-that-is-none 2 "'a:b' is not a name" eval -c "a:b=malloc:$fake"
refuses a-name-for-what-is-no-library 2 'malloc:/path/lib.so' eval -c a=mimalloc
refuses a-named-library-that-is-missing 2 'malloc:/nonexistent: No such file' eval -c a=malloc:/nonexistent
cp "$fake" "$scratch/a b.so"
refuses a-library-that-cannot-be-preloaded 2 'a blank or a colon' eval -c "a=malloc:$scratch/a b.so"
refuses a-named-library-in-advise 2 "'locus' is already a contender" advise -c "locus=malloc:$fake"

# --- what loads, and what does not ---------------------------------------------------------------------------------------------

# A library that needs a version of the C library that there will never be, and one that needs a function that nobody has.
printf 'void later(void) {}\n' >"$scratch/later.c"
printf 'void later(void);\nvoid use(void) { later(); }\n' >"$scratch/use.c"
echo 'GLIBC_9.99 { global: later; };' >"$scratch/map"
mkdir "$scratch/libc"
library "$scratch/libc/libc.so.6" -nostdlib -Wl,-soname,libc.so.6 -Wl,--version-script="$scratch/map" "$scratch/later.c" &&
    library "$peers/jemalloc-9.1.so" -nostdlib "$scratch/use.c" "$scratch/libc/libc.so.6" &&
    library "$peers/tcmalloc-9.2.so" "$scratch/use.c" && cp "$fake" "$peers/mimalloc-9.8.7.refused" && echo >"$peers/VERSIONS" ||
    { fail libraries "$(head -n 1 "$scratch/cc")"; exit 1; }
tried() { sh "$REPO/testbed/measure/peers/peers.sh" "$peers" >"$out" 2>"$err"; }
check what-was-fetched-is-tried tried
mkdir "$scratch/mine" && echo mine >"$scratch/mine/file"
sh "$REPO/testbed/measure/peers/peers.sh" "$scratch/mine" >"$out" 2>"$err"
holds a-folder-of-something-else-is-refused "exit $?: $(cat "$err")" \
    eval "grep -q 'has other contents' '$err' && [ -s '$scratch/mine/file' ]"
tried # what was said is looked at next
tells() { holds "$1" "it says: $(cat "$out")" grep -Eq "^$2" "$out"; }
tells the-libc-that-is-too-old-is-named "jemalloc 9.1: needs GLIBC_9.99, this host has 2\.[0-9]+$"
tells a-missing-function-is-named 'tcmalloc 9.2: does not load: .*undefined symbol: later'
tells what-loads-by-now-is-taken 'mimalloc 9.8.7: locus eval -c mimalloc,mimalloc-9.8.7$'
listed() {
    locus 0 eval --help && grep -q '^  mimalloc-9.8.7  *mimalloc 9.8.7' "$out" && ! grep -q jemalloc-9.1 "$out" && narrow "$out"
}
check the-help-has-those-that-load listed
refuses what-does-not-load 2 'jemalloc-9.1: .*make peers' eval -c jemalloc-9.1
refuses what-does-not-load-tuned 2 'jemalloc-9.1-tuned: .*make peers' eval -c jemalloc-9.1-tuned
check the-help-has-tuned-peers grep -q '^  NAME-VERSION-tuned .*settings of NAME-tuned' <("$LOCUS" eval --help)
twins=mimalloc-9.8.7,mimalloc-9.8.7-tuned,mimalloc-9.8.7-tuned
if locus 0 eval "${few[@]}" -W cycle-256 --laps 2 -c $twins --json; then
    says a-tuned-peer-has-the-settings '[.cells[0].arms[] | [.name, .version]] | sort == [["mimalloc-9.8.7", "mimalloc 3.6.0"],
        ["mimalloc-9.8.7-tuned", "mimalloc 3.6.1"], ["mimalloc-9.8.7-tuned#2", "mimalloc 3.6.1"]]'
else
    fail a-tuned-peer-has-the-settings "$why"
fi

# --- what is built here ----------------------------------------------------------------------------------------------------------

# A mirror that has jemalloc 9.1's source, and a PATH with all tools but one.
tools=$scratch/tools
mkdir "$tools" && cp -s /usr/bin/* /bin/* "$tools" 2>"$scratch/cp" # both may be one folder
for tool in apt-get apt-cache dpkg dpkg-deb autoconf; do rm -f "$tools/$tool"; done
printf '#!/bin/sh\necho amd64\n' | tee "$tools/dpkg" "$tools/dpkg-deb" "$tools/apt-cache" >"$tools/autoconf.sh"
cat >"$tools/apt-get" <<END
#!/bin/sh
case "\$*" in
indextargets*) . /etc/os-release; echo "http://localhost/debian \$VERSION_CODENAME \$VERSION_CODENAME main" ;;
*' update') grep -h ^deb "$peers".part/*/sources.list >"$scratch/asked" ;;
*' source '*)
    echo "\$*" >>"$scratch/asked"
    cp "$scratch/source.tar.gz" jemalloc_9.1.orig.tar.gz || { echo 'E: no mirror'; exit 1; }
    ;;
esac
END
chmod +x "$tools"/{dpkg,dpkg-deb,apt-cache,apt-get,autoconf.sh}
# source_package COMMAND: its Makefile runs that
source_package() {
    mkdir -p "$scratch/source" && cp "$scratch/fake.c" "$scratch/source" &&
        printf '#!/bin/sh\necho "$@" >arguments\n' >"$scratch/source/autogen.sh" && chmod +x "$scratch/source/autogen.sh" &&
        printf 'build_lib_shared:\n\t%s\n' "$1" >"$scratch/source/Makefile" &&
        tar -C "$scratch" -czf "$scratch/source.tar.gz" source
}
retried() { PATH=$tools CFLAGS=-nonsense tried; }
echo 'jemalloc-9.1 forky 0123 ./libjemalloc2_9.1-1_amd64.deb' >"$peers/VERSIONS"
untouched() { [ -e "$peers/jemalloc-9.1.refused" ] && [ ! -e "$peers/jemalloc-9.1.so" ] && [ "$(wc -l <"$peers/VERSIONS")" = 1 ]; }
lacking='jemalloc 9.1: needs GLIBC_9.99, this host has 2\.[0-9]+; '
retried
tells a-missing-tool-is-named "${lacking}to build it here, install autoconf, then run: make peers$"
mv "$tools/autoconf.sh" "$tools/autoconf"
retried
tells a-source-that-is-not-there-is-named "${lacking}its source cannot be fetched \(E: no mirror\): see .*, then run: make peers$"
source_package false && retried
tells a-build-that-fails-is-told "${lacking}its source does not build here: see .*/jemalloc-9.1.log, then run: make peers$"
check its-log-is-kept grep -q 'build_lib_shared' "$peers/jemalloc-9.1.log"
source_package 'echo >libmalloc.so' && retried
tells what-was-built-has-to-load "${lacking}its source does not build here"
check what-was-not-built-stays-refused untouched
source_package '$(CC) $(CFLAGS) -shared -fPIC -DVERSION=30600 -o libmalloc.so.2 fake.c && cp arguments '"$scratch" && retried
built="jemalloc 9.1: locus eval -c mimalloc,jemalloc-9.1 \(built here from Debian's source: the package needs GLIBC_9.99\)$"
tells what-does-not-load-is-built "$built"
check of-the-release-and-version-refused eval "grep -q 'deb-src .*localhost/debian forky main' '$scratch/asked' &&
    grep -q ' -t forky source .*libjemalloc2=9.1-1$' '$scratch/asked' && grep -qx -e '--with-version=9.1-0-g0' '$scratch/arguments'"
recorded() {
    local sum
    sum=$(sha256sum <"$scratch/source.tar.gz")
    grep -q "^jemalloc-9.1 forky ${sum%% *}  jemalloc_9.1.orig.tar.gz, built here .*GLIBC_9.99$" "$peers/VERSIONS" &&
        [ "$(wc -l <"$peers/VERSIONS")" = 2 ] && [ ! -e "$peers/jemalloc-9.1.refused" ] && [ ! -e "$peers/jemalloc-9.1.log" ]
}
check versions-has-the-tarball recorded
rm "$scratch/source.tar.gz" "$scratch/asked"
retried
tells what-was-built-is-not-built-again "$built"
check nothing-is-asked-for-it [ ! -e "$scratch/asked" ]
rm "$peers"/jemalloc*
rm "$peers"/mimalloc*
none() { ! tried && grep -q '^locus: peers: none of these loads' "$err"; }
check where-none-loads-it-says-so none
unread() { # without a mirror that has anything
    mkdir -p "$scratch/none/parts" && : >"$scratch/none/list" && printf '%s\n' "Dir::Etc::sourcelist \"$scratch/none/list\";" \
        "Dir::Etc::sourceparts \"$scratch/none/parts\";" >"$scratch/none/apt.conf"
    env APT_CONFIG="$scratch/none/apt.conf" sh "$REPO/testbed/measure/peers/peers.sh" "$scratch/none/peers" >"$out" 2>"$err"
    [ $? -eq 77 ] && [ "$(grep -c '^locus: peers: ' "$err")" = 1 ] && [ ! -e "$scratch/none/peers" ]
}
check without-a-mirror-one-line-says-why unread

# --- the peers -----------------------------------------------------------------------------------------------------------------

unset LOCUS_PEERS
cd "$REPO" || exit 1
if ! sh testbed/measure/peers/peers.sh >"$scratch/tried" 2>"$err"; then
    skip peers "$(tail -n 1 "$err" | sed 's/^locus: peers: //')"
    done_testing
    exit
fi
for library in build/peers/*.so; do
    name=$(basename "$library" .so)
    if locus 0 eval "${few[@]}" -W cycle-256 --laps 2 -c "$name,$name-tuned,mimalloc" --json; then
        says "$name-passes-its-gates" '[.cells[0].arms[].valid] | all'
        case $name in # the others have names of their own for what they are
        mimalloc-* | jemalloc-*) says "$name-says-its-version" \
            "[.cells[0].arms[] | select(.name == \"$name\").version] == [\"${name/-/ }\"]" ;;
        esac
    else
        fail "$name-passes-its-gates" "$why"
    fi
done
explained() {
    ! grep -vE '^[a-z]+ [0-9.]+: (locus eval -c |needs [A-Z]+_[0-9.]+, this host has [0-9.]+(; .*, then run: .*)?$)' \
        "$scratch/tried"
}
why=$(cat "$scratch/tried")
check each-peer-loads-or-is-explained explained

done_testing
