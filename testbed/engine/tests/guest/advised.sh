#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# advised.sh MODEL: in the guest: `locus advise --pid` looks at llama.cpp while it decodes, stock with a thread on each node and
# then with a device on each. Prints "arm NUMBER RATIO", the share of reads that it says to be remote. The accesses of the steps are
# counted in the windows from ten times the number.
set -u
build=/locus/build/gcc
number=0
for words in '--threads 2 --numa distribute' '--devices LOCUS0,LOCUS1 --split tensor'; do
    number=$((number + 1))
    backend=
    [ $number = 1 ] || backend=$build/libggml-locus.so
    GGML_BACKEND_PATH=$backend "$build/locus-llama" --model "/with/$1" --steps 150 --context 8192 --quiet --watch $((number * 10)) \
        $words >/tmp/said 2>&1 &
    child=$!
    tries=0
    until "$build/locus" advise --pid $child --json=/tmp/advice >/dev/null 2>&1 &&
        [ "$(sed -n 's/.*"busy": *\([0-9]*\).*/\1/p' /tmp/advice | head -n 1)" -ge 2 ] || [ $((tries += 1)) -gt 40 ]; do
        sleep 0.2
    done
    echo "arm $number $(sed -n 's/.*"remote_read_ratio": *\([0-9.e-]*\).*/\1/p' /tmp/advice | head -n 1)"
    wait $child || { cat /tmp/said >&2; exit 1; }
done
