#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `scripts/bench profile` makes of perf's samples: each function belongs to one step, and the steps' times add up
to the time for which the worker ran."""
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "scripts/python"))
from bench import profile  # noqa: E402
from bench.profile import Run, Sample  # noqa: E402
from testbed.process import TestbedError  # noqa: E402

DAEMON = "/b/app/sluiced/sluiced"
PERF = f"""\
    55ac35c4ecd5 frame_parse ({DAEMON})
    7f29f595750c [unknown] (/usr/lib/pmds-23.0/librte_net_memif.so.23.0)
    7f29f5957415 [unknown] (/usr/lib/pmds-23.0/librte_net_memif.so.23.0)
ffffffff810b1c2a finish_task_switch.isra.0 ([kernel.kallsyms])

"""
NM = "\n".join(("0000000000012340 T frame_parse\t/s/lib/wire/frame.c:120",
                "0000000000012350 t take.constprop.0\t/s/lib/pace/wheel.c:7",
                "0000000000012360 T place_copy\t/s/lib/vt/place.c:10", "                 U rte_free", "0000000000012370 b table"))


class Steps(unittest.TestCase):
    def test_samples_are_counted(self) -> None:
        found = profile.samples(PERF)
        self.assertEqual(sum(found.values()), 4)
        self.assertEqual(found[Sample("[unknown]", "/usr/lib/pmds-23.0/librte_net_memif.so.23.0")], 2)
        self.assertEqual(found[Sample("finish_task_switch.isra.0", "[kernel.kallsyms]")], 1)

    def test_functions_have_files(self) -> None:
        self.assertEqual(profile.sources(NM), {"frame_parse": "/s/lib/wire/frame.c", "take": "/s/lib/pace/wheel.c",
                                               "place_copy": "/s/lib/vt/place.c"})

    def test_each_function_has_its_step(self) -> None:
        files = profile.sources(NM)
        for symbol, file, step in (
                ("frame_parse", DAEMON, "packet formats"), ("take.constprop.0", DAEMON, "pacing"),
                ("place_copy", DAEMON, "placement"), ("rte_pktmbuf_alloc", DAEMON, "buffers"),
                ("[unknown]", "/usr/lib/librte_net_memif.so.23.0", "memif"),
                ("irqentry_exit_to_user_mode", "[kernel.kallsyms]", "kernel"), ("never_seen", DAEMON, "loop"),
                ("malloc", "/usr/lib/libc.so.6", profile.OTHER)):
            with self.subTest(symbol):
                self.assertIn(step, profile.step_of(Sample(symbol, file), files))

    def test_each_step_of_a_library_is_there(self) -> None:
        """A folder that is renamed would leave its step without functions."""
        for name, pattern in profile.STEPS:
            for folder in re.findall(r"(?:lib|app)/\w*", pattern):
                with self.subTest(name, folder=folder):
                    self.assertTrue(os.path.isdir(os.path.join(ROOT, folder)))

    def test_steps_add_up(self) -> None:
        steps = profile.per_packet(profile.samples(PERF), profile.sources(NM), Run(packets=10, ran_ns=4000, refused=0))
        self.assertAlmostEqual(sum(steps.values()), 400)
        self.assertEqual(next(iter(steps)), "memif: copy into the ring, descriptors")
        self.assertAlmostEqual(steps["packet formats: parse, write"], 100)

    def test_nothing_makes_no_profile(self) -> None:
        for counts, packets in ((profile.samples(""), 10), (profile.samples(PERF), 0)):
            with self.assertRaises(TestbedError):
                profile.per_packet(counts, {}, Run(packets, 4000, 0))

    def test_cycles_only_where_bogomips_tell(self) -> None:
        intel = "vendor_id\t: GenuineIntel\nbogomips\t: 5199.99\n"
        self.assertAlmostEqual(profile.tsc_ghz(intel) or 0, 2.599995)
        self.assertIsNone(profile.tsc_ghz("bogomips\t: 50.00\n"))
        self.assertIsNone(profile.tsc_ghz("vendor_id\t: GenuineIntel\n"))


if __name__ == "__main__":
    unittest.main()
