#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# hf.sh: the wheel in an environment with PyTorch and transformers, in build/hf, which it makes from PyPI alone (5 GB; two minutes
# with a good line), and in it the checks of style and types, tests/hf, and the table of tests/hf/table.py. `make hf` calls it. It
# is no item of the suite.
set -eu
cd "$(dirname "$0")/../../../.."
torch=2.13.0 transformers=5.19.0 # those that it was tried with; others need no change here
hf=build/hf here=placement/python
if [ ! -e $hf/made ]; then
    rm -rf $hf
    "${PYTHON:-python3}" -m venv $hf
    echo "hf: fetching torch $torch and transformers $transformers from PyPI to $hf"
    $hf/bin/python -m pip install -q --disable-pip-version-check torch==$torch transformers==$transformers numpy cffi
    touch $hf/made
fi
$hf/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
(cd $here && ../../build/wheel/tools/bin/ruff check -q . &&
    ../../build/wheel/tools/bin/mypy --cache-dir=/dev/null --python-executable ../../$hf/bin/python --exclude locus/vllm locus)
export PYTHONDONTWRITEBYTECODE=1
$hf/bin/python $here/tests/run.py hf
$hf/bin/python $here/tests/hf/table.py
