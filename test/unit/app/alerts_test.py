#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Alert rules for Prometheus: promtool runs alerts.yml; the rules name only what the exporter exports by default."""
import os
import re
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../../.."))
RULES = os.path.join(ROOT, "config", "prometheus", "sluice.rules.yml")
TESTS = os.path.join(HERE, "alerts.yml")
EXPORTER = os.path.join(ROOT, "app", "exporter", "sluice-exporter")


def text_of(path: str) -> str:
    with open(path, encoding="utf-8") as f:
        return f.read()


class Alerts(unittest.TestCase):
    rules: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.rules = text_of(RULES)

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is missing: scripts/setup installs prometheus")
    def test_promtool(self) -> None:
        for words in (["check", "rules", RULES], ["test", "rules", TESTS]):
            done = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_each_alert_is_tested(self) -> None:
        names = re.findall(r"- alert: (\w+)", self.rules)
        self.assertGreaterEqual(len(names), 11)
        self.assertEqual(sorted(names), sorted(set(names)))
        tested = set(re.findall(r'alertname="(\w+)"', text_of(TESTS)))
        self.assertEqual(tested, set(names))

    def test_documented(self) -> None:
        described = set(re.findall(r"\| `(Sluice\w+)` \|", text_of(os.path.join(ROOT, "doc", "telemetry.md"))))
        self.assertEqual(described, set(re.findall(r"- alert: (\w+)", self.rules)))

    def test_names_are_those_of_the_exporter(self) -> None:
        done = subprocess.run([sys.executable, "-B", EXPORTER, "--list"], capture_output=True, text=True, timeout=60,
                              check=False)
        if "install python3-prometheus-client" in done.stderr:
            self.skipTest("prometheus_client is missing: scripts/setup installs it")
        exported = {line.split("\t")[0]: set(line.split("\t")[2].split(",")) for line in done.stdout.splitlines()}
        for expr in re.findall(r"expr: (?:>-)?(.*?)\n        (?:for|labels):", self.rules, re.DOTALL):
            for name, labels in re.findall(r"\b(sluice_\w+)(?:\{([^}]*)\})?", expr):
                self.assertIn(name, exported, expr)
                self.assertLessEqual(set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels)), exported[name], expr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
