# SPDX-License-Identifier: Apache-2.0
# What cffi makes of liblocus; see native.py. Its names are those of the headers.
from typing import Any

ffi: Any
lib: Any
