# SPDX-License-Identifier: BSD-3-Clause
"""Parts that the tests of sluice-lab share. Each test is called as TEST SLUICE-LAB SOURCE_ROOT [REGEX]."""
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "house"))
import tap  # noqa: E402

Check = Callable[[str], None]  # gets a folder of its own

LAB, ROOT = (os.path.abspath(word) for word in sys.argv[1:3])
ONLY = sys.argv[3] if len(sys.argv) > 3 else ""
SMALL = """# SPDX-License-Identifier: BSD-3-Clause
[experiment]
title = Small

[parameters]
rate = 10
until = 2

[world]
until = ${until}s
from = 1s

[host a]
up = rate ${rate}mbit limit 64kB delay 1ms
[host b]

[load bulk]
from = a
to = b

[sweep rates]
rate = 5 10 20
repeat = 2
series = throughput

[finding carries]
says = What the path carries
ours = mean(throughput.bulk, rate=10) / 1e6
unit = Mbit/s
holds = 8 <= ours <= 10

[figure rate]
title = Rate
x = rate
y = throughput.bulk granted.bulk
y per = 1e6
"""


class Skip(Exception):
    """This machine cannot run the check; the text is the reason."""


def lab(*args: str, cwd: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LAB, *args], capture_output=True, text=True, timeout=280, cwd=cwd, check=False)


def need(condition: object, what: object) -> None:
    if not condition:
        raise AssertionError(what)


def find(pattern: str, text: str, flags: int = 0) -> re.Match[str]:
    found = re.search(pattern, text, flags)
    assert found is not None, f"{pattern}: not in: {text}"
    return found


def read(*parts: str) -> str:
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def rows(*folder: str) -> list[dict[str, Any]]:
    """The rows of an experiment, from its folder."""
    return [json.loads(line) for line in read(*folder, "rows.jsonl").splitlines()[1:]]


def values(folder: str, text: str, *args: str) -> dict[str, Any]:
    """What the only run of an experiment with this text has measured."""
    path = os.path.join(folder, "one.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write("[experiment]\ntitle = One\n" + text)
    done = lab("run", path, "--out", folder, "--no-figures", "--quiet", *args)
    need(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    found: dict[str, Any] = rows(folder, "one")[0]["values"]
    return found


def small(folder: str, change: Callable[[str], str] = lambda text: text) -> str:
    """Writes SMALL, changed, to a file; returns its path."""
    path = os.path.join(folder, "small.conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write(change(SMALL))
    return path


def run(checks: dict[str, Check]) -> int:
    """Runs the checks, prints TAP, and returns the exit status."""
    checks = {name: check for name, check in checks.items() if re.search(ONLY, name)}
    if not checks:
        sys.exit(f"{ONLY}: no check has such a name")
    report = tap.Report(len(checks))
    for name, check in checks.items():
        with tempfile.TemporaryDirectory(prefix="sluice-lab-test.") as folder:
            try:
                check(folder)
                report.ok(name)
            except Skip as why:
                report.skip(name, str(why))
            except (AssertionError, OSError, ValueError, KeyError, AttributeError, subprocess.SubprocessError) as e:
                text = str(e) if isinstance(e, AssertionError) else traceback.format_exc()
                report.fail(name, text.splitlines()[-30:])
    return report.finish()
