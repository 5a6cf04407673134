# SPDX-License-Identifier: Apache-2.0
"""The extension: see native.py. All else is in pyproject.toml. What is made lies in the clone's build/, as everything does."""

import pathlib
import sys

from setuptools import setup

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # a build in isolation has another one
import native

made = native.ROOT / ("build/python-san" if native.sanitizer else "build/python")
made.mkdir(parents=True, exist_ok=True)

setup(
    version=native.version(),
    cffi_modules=["native.py:ffi"],
    options={
        "build": {"build_base": str(made)},
        "egg_info": {"egg_base": str(made)},
        "bdist_wheel": {"py_limited_api": "cp310"},
    },
)
