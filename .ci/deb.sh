#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# deb.sh: Debian packages of the last commit, in build/deb, and what lintian says of them. The package of the backend for ggml is
# among them where ggml's headers are.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n '1s/.*(\(.*\)-.*/\1/p' .debian/changelog)
source=build/deb/locus-$version
if [ -e build/engine/include/ggml-backend-impl.h ]; then
    export ENGINE="$PWD/build/engine"
    profile=-Ppkg.locus.ggml
else
    echo "deb: no package ggml-locus, because build/engine is missing (make engine-fetch)"
fi

# The logs are nine tenths of a commit, and nothing is built of them.
rm -rf build/deb && mkdir -p build/deb
git archive --prefix="locus-$version/" -o "build/deb/locus_$version.orig.tar.gz" HEAD -- . ':!logs'
tar -xzf "build/deb/locus_$version.orig.tar.gz" -C build/deb
cp -r "$source/.debian" "$source/debian"

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN
(cd "$source" && dpkg-buildpackage -us -uc -jauto ${profile-}) >build/deb/log 2>&1 ||
    { tail -n 20 build/deb/log; echo "deb: it failed, see build/deb/log"; exit 1; }
rm -rf "$source"
ls build/deb/*.deb
git rev-parse HEAD >build/deb/commit
lintian --allow-root --fail-on error --profile debian --tag-display-limit 0 build/deb/locus_*.changes
