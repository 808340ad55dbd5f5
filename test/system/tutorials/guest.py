#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The tutorial of a NIC, run in the guest of scripts/test-nic: the blocks of its text are what the shell there runs.

Usage: guest.py pack TUTORIAL DIR     writes the blocks to DIR, which the guest has as /tutorial
       guest.py judge TUTORIAL FILE   FILE: lines "KEY VALUE" of the guest (scripts/stages/nic_guest.sh)

The guest's shell and tools are busybox's. All of them are what a machine has, but dpdk-devbind.py, for which
scripts/stages/nic_devbind.sh stands in. No block is left out.
"""
import base64
import os
import sys

sys.dont_write_bytecode = True
TREE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
sys.path[:0] = [os.path.join(TREE, path) for path in ("test", "scripts/python", "scripts/stages")]
import nic_result  # noqa: E402
from system.tutorials import tutorial  # noqa: E402
from testbed.process import TestbedError  # noqa: E402

INSIDE = "/tutorial"


def pack(found: list[tutorial.Block], folder: str) -> None:
    os.makedirs(folder)
    lines = ["set -eo pipefail", *tutorial.steps(found, folder, INSIDE)]
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def judge(found: list[tutorial.Block], results: dict[str, str]) -> None:
    """What the guest did not do, or did not print, is a TestbedError."""
    printed = {int(key.removesuffix(".out")): base64.b64decode(value).decode("utf-8", "replace")
               for key, value in results.items() if key.endswith(".out")}
    if "failed" in results:
        raise TestbedError(f"the guest says: {results['failed']}")
    if "end" not in results or "status" not in results:
        raise TestbedError(f"the guest ended early, after: {', '.join(results)}")
    if results["status"] != "0":
        last = int(results["last"])
        raise TestbedError(tutorial.failure(found[last], results["status"], printed.get(last, "")))
    for number, block in enumerate(found):
        if block.kind == "sh" and number not in printed:
            raise TestbedError(f"line {block.line}: this block was not run")
        line = tutorial.missing_line(block.text, printed[number - 1]) if block.kind == "text" else None
        if line is not None:
            raise TestbedError(f'line {block.line}: shows "{line}", but the commands before it print:\n{printed[number - 1]}')


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "judge"):
        sys.exit(__doc__)
    action, file, path = sys.argv[1:]
    with open(file, encoding="utf-8") as f:
        text = f.read()
    try:
        found = tutorial.blocks(text)
        if action == "pack":
            pack(found, path)
            return 0
        judge(found, nic_result.read(path))
    except (TestbedError, OSError, ValueError) as problem:
        print(f"{os.path.basename(file)}: {problem}", file=sys.stderr)
        return 1
    print(f"{os.path.basename(file)}: {sum(block.kind == 'sh' for block in found)} blocks of commands, all of them run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
