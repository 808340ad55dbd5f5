# SPDX-License-Identifier: BSD-3-Clause
"""Builds sluice._header; pyproject.toml has everything else."""
from setuptools import setup

setup(cffi_modules=["build_header.py:ffi"])
