#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# or-skip.sh NAME [FETCH]: for a test that needs the guest, `sh testbed/guest/or-skip.sh NAME || exit $?`. It fetches the guest
# (fetch.sh), or what FETCH fetches (fetch-user.sh, ../engine/fetch.sh). If that is not possible, one line says why and which
# command would help: "ok - NAME # SKIP ..." and status 77. In continuous integration, or if that script itself breaks, it is
# "not ok - NAME: ..." and status 1, because nobody would notice a skip there. CI in the environment means continuous integration,
# unless it is "", "0" or "false".
fetch=${2:-fetch.sh}
said=$(sh "$(dirname "$0")/$fetch" 2>&1)
status=$?
reason=$(printf '%s\n' "$said" | tail -n 1 | sed 's/^locus: [a-z]*: //')
[ $status -ne 0 ] || exit 0
case $status/${CI-} in
77/ | 77/0 | 77/false)
    echo "ok - $1 # SKIP $reason"
    exit 77
    ;;
77/*) echo "not ok - $1: CI is set, where a skip is a failure. $reason" ;;
*) echo "not ok - $1: $fetch, exit $status: $reason" ;;
esac
exit 1
