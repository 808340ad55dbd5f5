#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The pacer as it is installed: the program of doc/pacing.md compiles and links with the flags of pkg-config, in
a folder that has no other file of Sluice.

Usage: installed_test.py BUILD EXAMPLE.c COMPILER..."""
import os
import shutil
import subprocess
import sys
import tempfile


def run(*command: str, cwd: str | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=env)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def flags(root: str, package: str) -> list[str]:
    """The flags of pkg-config for a package that was installed below root."""
    (pc,) = [os.path.join(folder, f"{package}.pc") for folder, _, names in os.walk(root) if f"{package}.pc" in names]
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc))
    prefix = run("pkg-config", "--variable=prefix", package, env=env).strip()
    return run("pkg-config", f"--define-variable=prefix={root}{prefix}", "--cflags", "--libs", package, env=env).split()


def main() -> None:
    build, example, *compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as root:
        run("meson", "install", "-C", build, "--no-rebuild", "--tags", "devel", "--destdir", root)
        source = shutil.copy(example, root)
        run(*compiler, "-D_GNU_SOURCE", "-o", f"{root}/example", source, *flags(root, "sluice-pacer"),
            *run("pkg-config", "--cflags", "--libs", "libdpdk").split(), cwd=root)
    print("ok")


main()
