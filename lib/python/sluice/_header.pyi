# SPDX-License-Identifier: BSD-3-Clause
# The module that build_header.py makes.
from typing import Any

ffi: Any
