#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bundle.sh CHECKOUT COMMIT FILE: writes a bare repository with that commit and its history as a tar archive, for a host without a
# network to clone. FILE appears complete or not at all.
set -eu
checkout=$1 commit=$2 file=$3

git -C "$checkout" cat-file -e "$commit^{commit}" 2>/dev/null || { echo "$checkout has no commit $commit: git fetch" >&2; exit 1; }
mkdir -p "$(dirname "$file")"
work=$(mktemp -d "$file.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
git init -q --bare --template= -b bundled "$work/git"
git -C "$checkout" push -q --no-verify "$work/git" "$commit:refs/heads/bundled"
tar -C "$work/git" -cf "$work/tar" .
mv "$work/tar" "$file"
