#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""System tests: real daemons, real clients, over memif and veth.

Usage: run.py --build DIR [--asan-build DIR] [--tsan-build DIR] [--huge] [--seconds N] [--jobs N]
              [--limit S] [--only REGEX] [--logs DIR]
       run.py --list

TAP on stdout; exit status 1 if a scenario failed. Needs root for what runs in namespaces; without
hugepages the daemons run with --no-huge. --seconds: duration of the long scenarios (10). --jobs: how
many of those that bear company run at a time (1). --limit: how long one may take, in seconds (600).
"""
import argparse
import os
import signal
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from system import (  # noqa: E402,F401 (each registers its scenarios)
    harness, scenes_bond, scenes_capture, scenes_config, scenes_console, scenes_control, scenes_emu,
    scenes_exception, scenes_failure, scenes_forged, scenes_hostile, scenes_input, scenes_life, scenes_memif,
    scenes_prometheus, scenes_ssh, scenes_telemetry, scenes_threads, scenes_top, scenes_trace, scenes_users,
    scenes_veth, scenes_virtio)


def main():
    parser = argparse.ArgumentParser(description="System tests of Sluice.")
    parser.add_argument("--build", help="meson build folder")
    parser.add_argument("--asan-build", help="build folder with AddressSanitizer")
    parser.add_argument("--tsan-build", help="build folder with ThreadSanitizer")
    parser.add_argument("--huge", action="store_true", help="hugepages are there")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--only", help="scenarios whose name matches")
    parser.add_argument("--logs", help="folder for the logs of what failed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=harness.SCENE_S)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--runner", action="store_true", help="for this program's own use")
    args = parser.parse_args()
    if args.list:
        for scene in harness.SCENARIOS:
            print(scene.name)
        return 0
    if args.build is None:
        parser.error("--build is missing")
    if args.runner:
        asan = args.asan_build and harness.Build(args.asan_build, False)
        tsan = args.tsan_build and harness.Build(args.tsan_build, args.huge)
        context = harness.Context(harness.Build(args.build, args.huge), asan, tsan, args.seconds)
        return harness.serve_runner(context, args.logs)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    try:
        return harness.run_all([sys.executable, "-B", *sys.argv, "--runner"], args.jobs, args.only,
                               args.limit)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
