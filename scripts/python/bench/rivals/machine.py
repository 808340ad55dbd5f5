# SPDX-License-Identifier: BSD-3-Clause
"""What machine this is, for the report."""
import os
import platform
import re
import time
from collections.abc import Mapping

from testbed.process import cpus


def _first(path: str, pattern: str) -> str:
    """What the pattern's group matches in a file; "not told" where it does not."""
    found = re.search(pattern, _read(path), re.MULTILINE)
    return found.group(1).strip() if found else "not told"


def describe() -> Mapping[str, str]:
    """{what: text}"""
    memory_kb = _first("/proc/meminfo", r"^MemTotal:\s*(\d+)")
    virtual = "yes" if re.search(r"^flags\b.*\bhypervisor\b", _read("/proc/cpuinfo"), re.MULTILINE) else "not told"
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": _first("/proc/cpuinfo", r"^model name\s*:\s*(.+)$"),
        "CPUs used": str(len(cpus())),
        "virtual machine": virtual,
        "memory": f"{int(memory_kb) / (1 << 20):.1f} GiB" if memory_kb.isdigit() else memory_kb,
        "kernel": f"{platform.system()} {platform.release()}",
        "system": _first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]+)'),
        "TCP of rsync, scp and rclone": _first("/proc/sys/net/ipv4/tcp_congestion_control", r"(\w+)") +
        " (this kernel's default)",
        "load at the start": f"{os.getloadavg()[0]:.1f} processes (mean of the last minute)",
    }


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""
