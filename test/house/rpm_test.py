#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The RPM packages: rpmlint finds nothing in their spec, they are split as Debian's, and each file that is installed is in
one of them. Faults of the spec are noticed.

Usage: rpm_test.py BUILD [ROOT]      BUILD: a build folder, complete; TAP on standard output

rpmbuild packs what `meson install` puts into a folder, by the spec's own lists. It compiles nothing, so the packages of
Fedora that a build needs are not needed here.
"""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.abspath(sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "../.."))
SPEC, FILTERS = "config/rpm/sluice.spec", "config/rpm/sluice.rpmlintrc"
TOOLS = {"rpmlint": "rpmlint", "rpmspec": "rpm", "rpmbuild": "rpm"}
LIBRARIES, PYTHON = "/usr/lib64", "/usr/lib/python3/site-packages"
# Macros of Fedora that Debian's rpm lacks. The files are there already when the spec installs them.
MACROS: Mapping[str, str] = {
    "_docdir": "/usr/share/doc", "_libdir": LIBRARIES, "_sysusersdir": "/usr/lib/sysusers.d", "_udevrulesdir": "/usr/lib/udev/rules.d",
    "_unitdir": "/usr/lib/systemd/system", "meson_install": ":", "python3_sitelib": PYTHON, "_binary_payload": "w0.ufdio",
    "systemd_post": ":", "systemd_preun": ":", "systemd_postun_with_restart": ":",
}


class Fault(NamedTuple):
    name: str
    check: str  # of CHECKS: the one that notices it
    old: str  # text of the spec
    new: str  # what stands there instead
    words: str  # in the message


FAULTS = (
    Fault("a file that no package has", "files", "%{_bindir}/sluice-load\n", "", "/usr/bin/sluice-load"),
    Fault("a file that is not installed", "files", "%{_bindir}/sluice-load\n", "%{_bindir}/sluice-load\n%{_bindir}/sluice-dump\n",
          "/usr/bin/sluice-dump"),
    Fault("a file in two packages", "files", "%files -n sluiced\n", "%files -n sluiced\n%{_bindir}/sluice\n",
          "/usr/bin/sluice is in sluice and sluiced"),
    Fault("a package that Debian does not have", "names", "%package -n wireshark-sluice", "%package attic\nSummary: Old files\n"
          "%description attic\nOld.\n%files attic\n%package -n wireshark-sluice", "sluice-attic"),
    Fault("another version", "names", "Version:        ", "Version:        9.", "meson.build"),
    Fault("what rpmlint finds", "lint", "libsluice-static%{?_isa} = %{version}-%{release}", "libsluice-static",
          "unversioned-explicit-provides"),
)


def run(*words: str, cwd: str = ROOT) -> tuple[int, str]:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=200, cwd=cwd, env={**os.environ, "LC_ALL": "C.UTF-8"})
    return done.returncode, done.stdout


def text_of(path: str) -> str:
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def lack() -> str | None:
    """What this machine lacks, or None."""
    missing = sorted({package for tool, package in TOOLS.items() if shutil.which(tool) is None})
    return f"{', '.join(missing)} missing; scripts/setup installs what checks the RPM packages" if missing else None


def stage(root: str) -> list[str]:
    """Installs into the folder root, as Fedora lays out its folders. Returns what is wrong."""
    status, said = run("meson", "introspect", "--buildoptions", BUILD)
    assert status == 0, said
    options = {option["name"]: option["value"] for option in json.loads(said)}
    status, said = run("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", root + ".all")
    if status != 0:
        return said.splitlines()[-10:]
    made = root + ".all" + options["prefix"]
    places = [(os.path.join(made, options["libdir"]), LIBRARIES)]
    places += [(folder, PYTHON) for pattern in ("lib/python3*/*-packages", "local/lib/python3*/*-packages")
               for folder in glob.glob(os.path.join(made, pattern))]
    for source, target in places:
        if source != made + target.removeprefix("/usr"):
            os.makedirs(os.path.dirname(made + target.removeprefix("/usr")), exist_ok=True)
            os.rename(source, made + target.removeprefix("/usr"))
    os.makedirs(root)
    os.rename(made, root + "/usr")
    return []


class Spec:
    """A spec, in a folder of its own."""

    def __init__(self, folder: str, text: str) -> None:
        os.makedirs(folder)
        self.folder, self.path = folder, os.path.join(folder, "sluice.spec")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)
        macros = {**MACROS, "_topdir": folder, "_tmppath": folder, "buildroot": os.path.join(folder, "root")}
        self.macros = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]

    def lint(self) -> list[str]:
        status, said = run("rpmlint", "--ignore-unused-rpmlintrc", "-r", FILTERS, self.path)
        found = re.findall(r"^\S+: [EW]: .*", said, re.MULTILINE)
        return [f"rpmlint: {line}" for line in found or ([f"status {status}: {said}"] if status != 0 else [])]

    def names(self) -> list[str]:
        """Whether names and version are those of Debian's packages."""
        status, said = run("rpmspec", "-q", *self.macros, "--qf", "%{NAME} %{VERSION}\n", self.path)
        if status != 0:
            return said.splitlines()
        version = re.search(r"version: '(.*)'", text_of("meson.build"))
        assert version is not None
        debian = re.findall(r"(?m)^Package: (\S+)", text_of("config/debian/control"))
        due = {f"{re.sub(r'-dev$', '-devel', name).replace('libsluice0', 'libsluice')} {version[1]}" for name in debian}
        found = set(said.splitlines())
        return ([f"{name} is in config/debian/control and meson.build, but not in the spec" for name in sorted(due - found)] +
                [f"{name} is in the spec, but not in config/debian/control and meson.build" for name in sorted(found - due)])

    def files(self, staged: str) -> list[str]:
        """Packs what is staged, as the spec lists it. Each file must be in one package."""
        root = os.path.join(self.folder, "root")
        shutil.copytree(staged, root, symlinks=True)
        status, parsed = run("rpmspec", "-P", *self.macros, self.path)
        script = re.search(r"(?ms)^%install\n(.*?)^%", parsed)
        if status != 0 or script is None:
            return parsed.splitlines()[-10:]
        status, said = run("bash", "-euc", script[1])
        if status != 0:
            return ["%install fails:", *said.splitlines()]
        status, said = run("rpmbuild", "-bb", "--short-circuit", "--noclean", "--nodeps", *self.macros, "--buildroot", root, self.path)
        if status != 0:
            return said.partition("RPM build errors:")[2].splitlines() or said.splitlines()
        owners: dict[str, list[str]] = collections.defaultdict(list)
        for path in sorted(glob.glob(os.path.join(self.folder, "RPMS/*/*.rpm"))):
            status, said = run("rpm", "-qp", "--qf", "[%{=NAME} %{FILEMODES:perms} %{FILENAMES}\n]", path)
            for name, mode, file in (line.split(" ", 2) for line in said.splitlines()):
                if not mode.startswith("d"):
                    owners[file].append(name)
        if len(owners) < 50:
            return [f"the packages have {len(owners)} files only"]
        return [f"{file} is in {' and '.join(names)}; remove one" for file, names in owners.items() if len(names) > 1]


Check = Callable[[Spec, str], list[str]]  # of a spec, with the folder of what is installed
CHECKS: Mapping[str, tuple[str, Check]] = {
    "lint": ("rpmlint finds nothing in the spec", lambda spec, _: spec.lint()),
    "names": ("the RPM packages are those of Debian", lambda spec, _: spec.names()),
    "files": ("each installed file is in one RPM package", Spec.files),
}


def judge_fault(folder: str, staged: str, fault: Fault) -> list[str]:
    """Whether its check notices the fault."""
    text = text_of(SPEC)
    if text.count(fault.old) != 1:
        return [f"the spec has \"{fault.old}\" {text.count(fault.old)} times; correct FAULTS"]
    said = CHECKS[fault.check][1](Spec(folder, text.replace(fault.old, fault.new)), staged)
    return [] if any(fault.words in line for line in said) else [f"no message has \"{fault.words}\":", *said]


def main() -> int:
    names = [*(name for name, _ in CHECKS.values()), *(f"self-test: {fault.name}" for fault in FAULTS)]
    report = tap.Report(len(names))
    why = lack()
    if why is not None:
        report.skip_all(names, why)
        return report.finish()
    with tempfile.TemporaryDirectory() as folder:
        staged = os.path.join(folder, "staged")
        wrong = stage(staged)
        spec = Spec(os.path.join(folder, "spec"), text_of(SPEC))
        for name, check in CHECKS.values():
            report.case(name, wrong or check(spec, staged))
        for number, fault in enumerate(FAULTS):
            report.case(f"self-test: {fault.name}", wrong or judge_fault(os.path.join(folder, f"fault-{number}"), staged, fault))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
