# SPDX-License-Identifier: Apache-2.0
#
# apt.sh: apt with private lists, for scripts that fetch packages and unpack them: a guest, newer mallocs, programs of fake hosts.
# It installs nothing and needs no root; apt verifies signatures and checksums as usual.
#
# A script's call is [--again] [DIR]. Its result is one folder, complete or not there, so that two that run at once do not spoil it.
#
#   arguments DEFAULT "$@"    sets $again ("" or yes), $folder, and $call, the command that a remedy ends with
#   unless_skipped            cannot, if FETCH=skip; lock_folder has it
#   cannot WHY                "locus: guest: WHY, then run: $call", exit status 77. Another script than the guest's sets $subject
#   lock_folder               makes $folder absolute and waits for its lock. If the caller's function complete() holds, it ends the
#                             script with status 0, unless $again
#   work_open FOLDER...       sets $work, a new folder with these in it, which is gone at the end, and $log, a file in it
#   apt_tools                 cannot, if a tool is missing; lock_folder and apt_open begin with it
#   apt_open ARCHITECTURE     private lists under $work/ARCHITECTURE, from the mirror in this machine's own sources
#   sources RELEASE...        reads the lists of these releases; false on failure. $kinds, if set: which, of deb and deb-src
#   newest RELEASE PACKAGE    prints the package's version there, or nothing
#   private apt-get ...       any of apt's commands

subject=guest

arguments() {
    default=$1
    shift
    call="sh $0${*:+ $*}"
    again=
    [ "${1-}" != --again ] || { again=yes; shift; }
    folder=${1:-$default}
}

cannot() { # why, and the remedy
    echo "locus: $subject: $1, then run: $call" >&2
    exit 77
}

lock_folder() {
    apt_tools
    mkdir -p "$(dirname "$folder")"
    folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
    exec 9>"$folder.lock"
    flock 9
    [ -n "$again" ] || ! complete || exit 0
    unless_skipped
}

unless_skipped() {
    case ${FETCH-} in
    '') ;;
    skip) cannot "FETCH=skip keeps it from being fetched: leave that out" ;;
    *) echo "locus: $subject: FETCH is '$FETCH', but only 'skip' is known" >&2; exit 2 ;;
    esac
}

work_open() {
    work=$folder.part
    log=$work/log
    trap 'rm -rf "$work"' EXIT
    trap 'exit 1' HUP INT TERM
    rm -rf "$work"
    mkdir -p "$work"
    for name; do mkdir "$work/$name"; done
}

apt_tools() {
    for tool in apt-get apt-cache dpkg-deb flock; do
        command -v $tool >/dev/null ||
            cannot "there is no $tool here, and what is fetched are Debian packages: take Debian 12 or newer"
    done
}

apt_open() {
    apt_tools
    architecture=$1
    lists=$work/$architecture
    mkdir -p "$lists/lists/partial" "$lists/parts"
    status=
    [ "$architecture" = "$(dpkg --print-architecture)" ] || status=/dev/null # nothing is installed for another one
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk -v name="$codename" '$NF == "main" && ($2 == name || $3 == name || $2 == "stable") { print $1; exit }')
    [ -n "$mirror" ] || cannot "the apt sources name no mirror with Debian's $codename main: add one to /etc/apt/sources.list"
    keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    signed=
    [ ! -r $keyring ] || signed="[signed-by=$keyring] "
}

private() {
    command=$1
    shift
    "$command" -o Dir::Etc::sourcelist="$lists/sources.list" -o Dir::Etc::sourceparts="$lists/parts" \
        -o Dir::State::lists="$lists/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
        -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=2 -o APT::Architecture="$architecture" \
        -o APT::Architectures::="$architecture" ${status:+-o Dir::State::status=$status} "$@"
}

sources() {
    for release; do
        for kind in ${kinds-deb}; do echo "$kind $signed$mirror $release main"; done
    done >"$lists/sources.list"
    private apt-get -qq update >"$log" 2>&1 && ! grep -q '^[WE]: ' "$log"
}

newest() {
    private apt-cache madison "$2" | awk -F ' *[|] *' -v release="$1/main" '$3 ~ " " release " " { print $2; exit }'
}
