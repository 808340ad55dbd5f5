#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""System tests: real daemons, real clients, over memif and veth.

Usage: run.py --build DIR [--asan-build DIR] [--tsan-build DIR] [--huge] [--seconds N] [--jobs N]
              [--limit S] [--only REGEX] [--logs DIR] [--units]
       run.py --list

Prints TAP; the exit status is 1 if a scene failed. Scenes with namespaces need root. Without --huge the
daemons run with --no-huge. --seconds: duration of the long scenes (10). --jobs: how many of the scenes
that may run beside others run at a time (1). --limit: how many seconds one scene may take (600). --units:
systemd starts the daemons by their shipped unit, so without root and under its limits.
"""
import argparse
import os
import signal
import sys

sys.dont_write_bytecode = True

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from system import (  # noqa: E402,F401 (each registers its scenes)
    harness, scenes_bond, scenes_capture, scenes_config, scenes_console, scenes_control, scenes_emu,
    scenes_exception, scenes_failure, scenes_forged, scenes_hostile, scenes_input, scenes_life, scenes_load, scenes_log, scenes_memif, scenes_ping,
    scenes_prometheus, scenes_secured, scenes_ssh, scenes_telemetry, scenes_threads, scenes_top, scenes_trace, scenes_users,
    scenes_veth, scenes_virtio)
from system.foreign import scenes_plain, scenes_sealed  # noqa: E402,F401 (each registers its scenes)
from system.python import scenes_python  # noqa: E402,F401 (registers its scenes)
from system.tutorials import scenes_tutorials  # noqa: E402,F401 (registers its scenes)
from system.wireshark import scenes_wireshark  # noqa: E402,F401 (registers its scenes)
import tap  # noqa: E402
from testbed import manager  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description="System tests of Sluice.")
    parser.add_argument("--build", help="meson build folder")
    parser.add_argument("--asan-build", help="build folder with AddressSanitizer")
    parser.add_argument("--tsan-build", help="build folder with ThreadSanitizer")
    parser.add_argument("--huge", action="store_true", help="run the daemons on hugepages")
    parser.add_argument("--seconds", type=int, default=10, help="duration of the long scenes")
    parser.add_argument("--only", help="run only the scenes whose name matches")
    parser.add_argument("--logs", help="folder for the logs of scenes that fail")
    parser.add_argument("--jobs", type=int, default=1, help="scenes that run at a time, where they may")
    parser.add_argument("--limit", type=float, default=harness.SCENE_S,
                        help="seconds that one scene may take")
    parser.add_argument("--units", action="store_true", help="start daemons by their shipped unit")
    parser.add_argument("--list", action="store_true", help="print the names of all scenes")
    parser.add_argument("--runner", action="store_true", help="for this program's own use")
    args = parser.parse_args()
    if args.list:
        for scene in harness.SCENES:
            print(scene.name)
        return 0
    if args.build is None:
        parser.error("--build is missing; give it meson's build folder")
    if args.units and not manager.inside():
        missing = manager.lack()
        if missing is not None:
            return tap.skip_program("daemons by their unit", missing)
        return manager.run([sys.executable, "-B", *sys.argv])
    if args.runner:
        asan = args.asan_build and harness.Build(args.asan_build, False)
        tsan = args.tsan_build and harness.Build(args.tsan_build, args.huge)
        context = harness.Context(harness.Build(args.build, args.huge, args.units), asan, tsan, args.seconds)
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
