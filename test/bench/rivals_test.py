#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`scripts/bench rivals` without its turns: what each tool prints, as recorded; verdicts and their reasons; tables;
and the page, which must be whole, must fetch nothing, and must show text as text."""
import argparse
import contextlib
import copy
import html.parser
import io
import json
import os
import re
import sys
import tempfile
import unittest
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/python"))
from bench import paired, rivals  # noqa: E402
from bench.results import Results  # noqa: E402
from bench.rivals import chart, judge, outputs, page, paths, readme, report, tool  # noqa: E402
from testbed.daemon import Build  # noqa: E402
from testbed.process import Testbed, TestbedError  # noqa: E402

IPERF3 = json.dumps({"start": {}, "intervals": [], "end": {
    "sum_sent": {"start": 0, "end": 2.000098, "seconds": 2.000098, "bytes": 28960000, "bits_per_second": 1.1e8,
                 "retransmits": 300, "sender": True},
    "sum_received": {"start": 0, "end": 2.007981, "seconds": 2.0, "bytes": 25000000, "bits_per_second": 1e8}}})
IPERF3_REFUSED = """{
	"start":	{
		"connected":	[],
		"version":	"iperf 3.12"
	},
	"intervals":	[],
	"end":	{
	},
	"error":	"unable to connect to server: Connection refused"
}
"""
PERF_CLIENT = json.dumps({"role": "client", "bytes": 30000000, "seconds": 2.1, "packets": 22000, "repeats": 220})
PERF_SERVER = json.dumps({"role": "server", "bytes": 30000000, "seconds": 2.0, "packets": 21780, "repeats": 220})
QUINN_CLIENT = (
    "\x1b[2m2026-11-27T23:04:58.209534Z\x1b[0m \x1b[31mERROR\x1b[0m \x1b[2mperf::client\x1b[0m\x1b[2m:\x1b[0m request "
    "failed: connection lost: closed\n"
    '{"start":{"timestamp":{"timesecs":1795820695}},"intervals":[{"streams":[{"id":0,"start":0.00006,"end":1.0,'
    '"seconds":1.0,"bytes":40000000,"bits_per_second":320000000.0,"sender":false}],"sum":{"start":0.00006,"end":1.0,'
    '"seconds":1.0,"bytes":40000000,"bits_per_second":320000000.0,"sender":false}},{"streams":[{"id":0,"start":1.0,'
    '"end":2.5,"seconds":1.5,"bytes":10000000,"bits_per_second":53333333.3,"sender":false},{"id":0,"start":1.0,'
    '"end":2.5,"seconds":1.5,"bytes":8,"bits_per_second":42.6,"sender":true}],"sum":{"start":1.0,"end":2.5,'
    '"seconds":1.5,"bytes":10000000,"bits_per_second":53333333.3,"sender":false}}]}')
QUINN_REFUSED = (
    "\x1b[2m2026-11-27T23:05:00.250404Z\x1b[0m \x1b[33m WARN\x1b[0m \x1b[2mquinn_udp\x1b[0m\x1b[2m:\x1b[0m sendmsg "
    'error: Os { code: 111, kind: ConnectionRefused, message: "Connection refused" }\n')
QUINN_SERVER = """ConnectionStats { udp_tx: UdpStats { datagrams: 100, bytes: 150000, ios: 56 }, path: PathStats {
rtt: 1.3ms, cwnd: 6934167, congestion_events: 0, lost_packets: 0, lost_bytes: 0, sent_packets: 100, sent_plpmtud_probes: 4 } }

ConnectionStats { udp_tx: UdpStats { datagrams: 552504, bytes: 800282606, ios: 56845 }, path: PathStats { rtt: 1.3ms,
cwnd: 6934167, congestion_events: 0, lost_packets: 500, lost_bytes: 700000, sent_packets: 10000,
sent_plpmtud_probes: 4 } }
"""
UFTP = """UFTP version 4.10.2  Copyright (C) 2001-2020  Dennis A. Bush
Transfer rate: dynamic via TFMCC
CONNECT;success;0x0A5B0002
Bytes: 30000000  Blocks: 20834  Sections: 2
Starting pass 1
Got 63 NAKs for section 0 from client 0x0A5B0002
Sending DONE 1.1
Got 76 NAKs for section 1 from client 0x0A5B0002
Starting pass 2
Got COMPLETE from client 0x0A5B0002
Transfer status:
Host: 0x0A5B0002       Status: Completed   time:   1.351 seconds
Group complete
uftp: Finishing at Fri Nov 27 22:41:18 2026
"""
UFTP_SILENT = """UFTP version 4.10.2  Copyright (C) 2001-2020  Dennis A. Bush
Sending ANNOUNCE 20.1
Announce timed out
uftp: Finishing at Fri Nov 27 23:05:09 2026
"""
SNMP = """Ip: Forwarding DefaultTTL
Ip: 2 64
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs \
RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 5 1 2 1 0 5720 {out} {again} 0 2 0
"""
SS = """ESTAB 0      0       10.91.0.1:49122 10.91.0.2:5202
	 bbr wscale:10,10 rto:204 rtt:0.028/0.013 cwnd:13 bytes_sent:164 bytes_acked:165 bytes_received:4 segs_out:7
ESTAB 0      3867000 10.91.0.1:49126 10.91.0.2:5202
	 bbr wscale:10,10 rto:204 bytes_sent:1141571717 bytes_retrans:976 bytes_acked:1139080878 segs_out:788886
"""
EMULATOR = {"forward": {"elements": [
    {"kind": "rate", "dropped": 7, "delay_ns": {"count": 100, "mean": 2.5e6, "max": 10.5e6}},
    {"kind": "delay", "dropped": 0, "delay_ns": {"count": 93, "mean": 1e6, "max": 1e6}}]}}


class Outputs(unittest.TestCase):
    """What each tool printed."""

    def carried(self, found: outputs.Carried, nbytes: int, seconds: float, again: float | None) -> None:
        self.assertEqual((found.bytes, found.seconds), (nbytes, seconds))
        if again is None:
            self.assertIsNone(found.again_percent)
        else:
            self.assertAlmostEqual(found.again_percent or 0, again)

    def test_iperf3(self) -> None:
        self.carried(outputs.iperf3(IPERF3), 25000000, 2.0, 100 * 300 / 20300)
        with self.assertRaisesRegex(TestbedError, "^iperf3: unable to connect to server: Connection refused$"):
            outputs.iperf3(IPERF3_REFUSED)
        with self.assertRaisesRegex(TestbedError, "printed no JSON: nothing at all"):
            outputs.iperf3("")
        with self.assertRaisesRegex(TestbedError, "printed no JSON: iperf3: interrupt"):
            outputs.iperf3('{"start": \niperf3: interrupt - the client has terminated\n')
        with self.assertRaisesRegex(TestbedError, "has no 'sum_received'"):
            outputs.iperf3('{"end": {}}')

    def test_sluice(self) -> None:
        self.carried(outputs.sluice_perf(PERF_CLIENT, PERF_SERVER), 30000000, 2.0, 1.0)
        self.assertEqual(outputs.sluice_send('{"packets": 1000, "repeats": 5}'), 0.5)
        self.assertIsNone(outputs.sluice_send('{"packets": 0, "repeats": 0}'))
        with self.assertRaisesRegex(TestbedError, "sluice: 10.91.0.12 is silent"):
            outputs.sluice_send("sluice: 10.91.0.12 is silent\n")

    def test_quinn(self) -> None:
        self.carried(outputs.quinn_client(QUINN_CLIENT), 50000000, 2.5, None)
        self.assertEqual(outputs.quinn_lost(QUINN_SERVER), 5.0)
        self.assertIsNone(outputs.quinn_lost("listening\n"))
        with self.assertRaisesRegex(TestbedError, "printed no JSON: 2026-11-27.*Connection refused"):
            outputs.quinn_client(QUINN_REFUSED)
        with self.assertRaisesRegex(TestbedError, "no interval"):
            outputs.quinn_client('{"start": {}, "intervals": []}')
        with self.assertRaisesRegex(TestbedError, "another version: 'sum'"):
            outputs.quinn_client('{"intervals": [{"streams": []}]}')

    def test_uftp(self) -> None:
        self.assertAlmostEqual(outputs.uftp(UFTP) or 0, 100 * 139 / (20834 + 139))
        with self.assertRaisesRegex(TestbedError, "^uftp: Announce timed out$"):
            outputs.uftp(UFTP_SILENT)
        with self.assertRaisesRegex(TestbedError, "Status: Lost connection"):
            outputs.uftp(UFTP.replace("Status: Completed", "Status: Lost connection"))
        self.assertEqual(outputs.uftp_reason(""), "it printed nothing")

    def test_counters_of_the_kernel(self) -> None:
        again = outputs.retransmitted(SNMP.format(out=1000, again=3), SNMP.format(out=2960, again=43))
        self.assertEqual(again, 2.0)
        self.assertIsNone(outputs.retransmitted(SNMP.format(out=5, again=0), SNMP.format(out=5, again=0)))
        with self.assertRaisesRegex(TestbedError, "no counters of TCP"):
            outputs.retransmitted("", "")
        self.assertEqual(outputs.acked_bytes(SS), 1139080878)
        self.assertEqual(outputs.acked_bytes(""), 0)

    def test_emulator(self) -> None:
        self.assertEqual(paths.queue_of(EMULATOR), paths.Queue(2.5, 10.5, 7))
        self.assertEqual(paths.queue_of({"forward": {"elements": []}}), paths.Queue())

    def test_lines(self) -> None:
        self.assertEqual(outputs.last_line("one\n\x1b[31mtwo\x1b[0m \n\n"), "two")
        self.assertEqual(outputs.last_line("\n"), "")
        self.assertEqual(outputs.reason(["", "\nno route\nmore"]), "no route")


class Paths(unittest.TestCase):
    def test_specs(self) -> None:
        loss = paths.PATHS["loss5"]
        self.assertEqual(loss.forward(), "rate 100mbit limit 625000B delay 25ms loss 5%")
        self.assertEqual(loss.reverse(), "delay 25ms")
        self.assertEqual(paths.PATHS["100m"].forward(), "rate 100mbit limit 131072B delay 1ms")
        self.assertEqual(paths.PATHS["wire"].forward(), "")
        self.assertAlmostEqual(loss.link_bps(1408) or 0, 1e8 * 1408 / 1514 * 0.95)
        self.assertIsNone(paths.PATHS["veth"].link_bps(1408))
        self.assertEqual([paths.PATHS[name].request_bytes() for name in ("veth", "100m", "1g")],
                         [None, 512 << 10, 4 << 20])

    def test_files_take_the_time_that_is_asked_for(self) -> None:
        path = paths.PATHS["100m"]
        self.assertAlmostEqual(8 * path.file_bytes(4) / (path.link_bps(1408) or 1), 4, delta=0.01)
        self.assertEqual(paths.PATHS["cubic"].file_bytes(4), paths.PATHS["100m-50ms"].file_bytes(12))

    def test_names(self) -> None:
        self.assertEqual([p.name for p in paths.chosen("loss1,veth")], ["veth", "loss1"])
        self.assertEqual(len(paths.chosen("")), len(paths.PATHS))
        with self.assertRaisesRegex(TestbedError, "--paths: there is no path \"moon\"; there are veth, wire"):
            paths.chosen("veth,moon")
        every = rivals.tools(Build(""), "auto")
        self.assertEqual([t.name for t in rivals.selected(every, "scp,sluice")], ["sluice", "scp"])
        with self.assertRaisesRegex(TestbedError, "--tools: there is no tool \"ftp\""):
            rivals.selected(every, "ftp")
        self.assertEqual(len({t.name for t in every}), len(every))


class Files(unittest.TestCase):
    """What counts as arrived."""

    def place(self, testbed: Testbed, words: list[str], limit_s: float = 20) -> tool.Outcome:
        source, folder = testbed.path("source"), testbed.path("in")
        with open(source, "wb") as f:
            f.write(b"x" * 100000)
        os.mkdir(folder)
        place = Place(testbed, source, folder, limit_s)
        place.begin()
        return tool.transferred(place, [testbed.start("copies", [w.format(s=source, f=folder) for w in words])],
                                again=lambda: 7.0)

    def test_whole(self) -> None:
        with Testbed("test") as testbed:
            outcome = self.place(testbed, ["cp", "{s}", "{f}/target"])
        self.assertEqual((outcome.bytes, outcome.failed, outcome.note), (100000, False, ""))
        self.assertGreater(outcome.goodput_bps(), 0)

    def test_another_file(self) -> None:
        with Testbed("test") as testbed, self.assertRaisesRegex(TestbedError, "is another one"):
            self.place(testbed, ["sh", "-c", "head -c 99999 {s} >{f}/target; echo >>{f}/target"])
        with Testbed("test") as testbed, self.assertRaisesRegex(TestbedError, "is another one"):
            self.place(testbed, ["true"])

    def test_failed(self) -> None:
        with Testbed("test") as testbed, self.assertRaisesRegex(TestbedError, "^No such host .*status 3"):
            self.place(testbed, ["sh", "-c", "echo No such host >&2; exit 3"])

    def test_cut_off(self) -> None:
        with Testbed("test") as testbed:
            outcome = self.place(testbed, ["sh", "-c", "head -c 65536 {s} >{f}/.part; truncate -s 100000 {f}/.part; "
                                           "sleep 60"], 1)
        self.assertEqual((outcome.seconds, outcome.failed, outcome.note), (1, False, "cut off after 1 s"))
        self.assertTrue(65536 <= outcome.bytes < 80000, outcome.bytes)
        self.assertEqual(outcome.again_percent, 7.0)

    def test_hung(self) -> None:
        with Testbed("test") as testbed:
            outcome = self.place(testbed, ["sleep", "60"], 0.3)
        self.assertTrue(outcome.failed)


class Place(tool.Place):
    """A place without a path."""

    def __init__(self, testbed: Testbed, source: str, folder: str, limit_s: float) -> None:
        self.testbed, self.source, self.folder, self.limit_s = testbed, source, folder, limit_s
        self.path = paths.PATHS["veth"]
        self.group = Clock()  # type: ignore[assignment]


class Clock:
    def seconds(self) -> float:
        return 1.0


# ---- the document ---------------------------------------------------------------------------

TOOLS = (("sluice", tool.MEMORY, tool.OURS, False), ("sluice-file", tool.FILE, tool.OURS, False),
         ("iperf3-cubic-off", tool.MEMORY, tool.KERNEL, False), ("iperf3-cubic", tool.MEMORY, tool.KERNEL, True),
         ("quinn", tool.MEMORY, tool.USER, True), ("uftp", tool.FILE, tool.USER, True),
         ("rsync", tool.FILE, tool.OVER_TCP, True), ("scp", tool.FILE, tool.OVER_TCP, True))


def document(path: str, goodputs: dict[str, list[float]], **rest: Any) -> report.Document:
    """A document of one path, with these goodputs. rest: further fields of each turn of ours."""
    args = argparse.Namespace(seed=7, runs=5, seconds=4)
    made = report.begin(args, {"date": "2026-11-27 12:00 UTC", "processor": "CPU", "CPUs used": "2", "kernel": "Linux",
                               "system": "Debian"}, [], {})
    made["paths"].append(report.path_entry(paths.PATHS[path], 4))
    made["cores"], made["cores_box"] = 2, 1
    for name, what, kind, offloads in TOOLS:
        lack = None if name in goodputs else f"{name} is not installed"
        made["tools"].append({"name": name, "title": name, "what": what, "kind": kind, "offloads": offloads,
                              "version": "1", "lack": lack, "cure": "apt-get install it"})
        for i, goodput in enumerate(goodputs.get(name, ())):
            made["turns"].append({
                "path": path, "round": i + 1, "tool": name, "goodput_Mbps": goodput, "bytes": 1, "seconds": 4.0,
                "cpu_s": 1.0, "cpu_s_per_GB": 2.0 + i, "queue_mean_ms": 1.0, "queue_max_ms": 9.0, "queue_dropped": 3,
                "again_percent": None if name == "rsync" else 0.5, "competitor_Mbps": None, "waited": None, "whys": {},
                "note": "",
                "failed": False, "commands": [f"left# {name} <\"&'>"], **(rest if kind == tool.OURS else {})})
    return made


def judged(made: report.Document) -> tuple[Results, dict[str, str]]:
    results = Results("rivals")
    judge.judge(results, made)
    made["rows"] = results.rows
    return results, {r["name"]: r["verdict"] for r in results.rows if r["verdict"] is not None}


MEMORY_ROW, TCP_ROW, FILE_ROW, OVER_ROW = (c.label for c in judge.COMPARISONS)
STEADY = {"sluice": [92.0, 92.1, 91.9, 92.2, 92.0], "quinn": [40.0, 40.1, 39.9, 40.0, 40.2],
          "iperf3-cubic-off": [80.0, 80.1, 79.9, 80.0, 80.2], "iperf3-cubic": [300.0] * 5}


class Judge(unittest.TestCase):
    def test_holds(self) -> None:
        results, verdicts = judged(document("100m-50ms", STEADY))
        self.assertEqual(verdicts, {f"100m-50ms: {MEMORY_ROW}": "holds", f"100m-50ms: {TCP_ROW}": "holds"})
        self.assertEqual(results.status(), paired.HOLDS)

    def test_twice_is_the_bar_for_user_space(self) -> None:
        made = document("100m-50ms", {**STEADY, "quinn": [70.0] * 5})
        results, verdicts = judged(made)
        self.assertEqual(verdicts[f"100m-50ms: {MEMORY_ROW}"], "missed")
        self.assertEqual(verdicts[f"100m-50ms: {TCP_ROW}"], "holds")
        self.assertEqual(results.status(), paired.MISSED)
        said = made["reasons"][f"100m-50ms: {MEMORY_ROW}"]
        self.assertRegex(said, r"^against quinn; the link is full: it carries 93\.0 .* 140 are wanted$")

    def test_the_best_one_counts(self) -> None:
        files = {"sluice-file": [80.0] * 5, "uftp": [10.0] * 5, "rsync": [90.0] * 5, "scp": [20.0] * 5}
        made = document("loss1", files, whys={"queue": 8, "loss": 2, "probe": 0})
        _, verdicts = judged(made)
        self.assertEqual(verdicts, {f"loss1: {FILE_ROW}": "holds", f"loss1: {OVER_ROW}": "missed"})
        self.assertEqual(made["reasons"][f"loss1: {OVER_ROW}"], "against rsync; WHY queue 80 %, loss 20 %")

    def test_the_processors_are_a_reason(self) -> None:
        made = document("100m", {"sluice": [30.0] * 5, "quinn": [40.0] * 5}, cpu_s=3.9)
        judged(made)
        self.assertIn("both ends together used 0.97 of 1 cores", made["reasons"][f"100m: {MEMORY_ROW}"])
        made = document("veth", {"sluice": [30.0] * 5, "quinn": [40.0] * 5}, cpu_s=3.9)
        judged(made)
        self.assertIn("the measurements tell no reason", made["reasons"][f"veth: {MEMORY_ROW}"])

    def test_what_is_left_to_the_competing_tcp_is_told(self) -> None:
        made = document("cubic", {"sluice": [30.0] * 5, "quinn": [80.0] * 5}, competitor_Mbps=60.0)
        for turn in made["turns"]:
            turn["competitor_Mbps"] = turn["competitor_Mbps"] or 7.0
        judged(made)
        self.assertIn("quinn left the competing TCP 7.00 Mbit/s, ours 60.0", made["reasons"][f"cubic: {MEMORY_ROW}"])

    def test_failures_are_a_reason_and_count_as_nothing(self) -> None:
        made = document("100m", {"sluice": [0.0] * 5, "quinn": [40.0] * 5}, note="not within 12 s", failed=True)
        _, verdicts = judged(made)
        self.assertEqual(verdicts[f"100m: {MEMORY_ROW}"], "missed")
        self.assertIn("not within 12 s (5 of 5)", made["reasons"][f"100m: {MEMORY_ROW}"])

    def test_others_that_never_worked_are_no_measure(self) -> None:
        results, verdicts = judged(document("100m", {"sluice": [90.0] * 5, "quinn": [0.0] * 5}))
        self.assertEqual(verdicts, {})
        self.assertEqual(results.status(), paired.ERROR)

    def test_noise_and_few_turns_give_no_verdict(self) -> None:
        noisy = {"sluice": [90.0, 20.0, 160.0, 85.0, 30.0], "quinn": [44.0, 43.0, 42.0, 41.0, 45.0]}
        self.assertEqual(judged(document("veth", noisy))[0].status(), paired.NOISY)
        results, verdicts = judged(document("veth", {"sluice": [90.0] * 4, "quinn": [10.0] * 4}))
        self.assertEqual(set(verdicts.values()), {"too noisy"})
        self.assertEqual(results.status(), paired.NOISY)

    def test_an_emulator_that_waited_makes_noise(self) -> None:
        goodputs = {"sluice": [60.0] * 5, "quinn": [40.0] * 5}
        for waited, verdict in ((0.05, "missed"), (0.2, "too noisy"), (None, "missed")):
            made = document("100m", goodputs)
            for turn in made["turns"]:
                turn["waited"] = waited
            self.assertEqual(judged(made)[1], {f"100m: {MEMORY_ROW}": verdict}, waited)
        self.assertIn("waited for its core for 20 % of the time; other", report.waited_text(
            {"turns": [{"path": "x", "waited": 0.2}]}, "x"))

    def test_only_others(self) -> None:
        self.assertEqual(judged(document("veth", {"quinn": [90.0] * 5}))[0].status(), paired.HOLDS)


class Report(unittest.TestCase):
    def test_figures(self) -> None:
        figure = report.figure([5.0, 1.0, 3.0])
        assert figure is not None
        self.assertEqual((figure.value, figure.low, figure.high), (3.0, 1.0, 5.0))
        self.assertEqual(figure.text(), "3.00 [1.00, 5.00]")
        self.assertEqual(report.Figure(123.4, 123.4, 123.4).text(), "123")
        self.assertIsNone(report.figure([]))

    def test_a_turn_that_failed_counts_as_nothing(self) -> None:
        figure = report.measured(document("veth", {"rsync": [0.0, 0.0, 10.0]}), "veth", "rsync", "goodput_Mbps")
        assert figure is not None
        self.assertEqual(figure.value, 0)

    def test_terminal(self) -> None:
        made = document("loss5", {"sluice": [80.0] * 5, "rsync": [0.0] * 5}, note="cut off after 12 s")
        judged(made)
        out = io.StringIO()
        report.show(made, out)
        self.assertRegex(out.getvalue(), r"sluice +memory +80\.0 .* 1\.00 .* 9\.00 .*cut off after 12 s \(5 of 5\)")
        self.assertRegex(out.getvalue(), r"rsync +file .*not told")
        self.assertIn("skipped: quinn: quinn is not installed; apt-get install it", out.getvalue())

    def test_readme(self) -> None:
        made = document("veth", {**STEADY, "quinn": [50.0] * 5})
        judged(made)
        lines = readme.markdown(made).splitlines()
        self.assertEqual(lines[:3], ["| goodput, Mbit/s | veth |", "|---|---|", "| **sluice, memory** | 92.0 |"])
        self.assertIn(f"| {MEMORY_ROW}; at least 2 | 1.84 (missed) |", lines)
        self.assertIn(f"| {TCP_ROW}; at least 1 | 1.15 |", lines)

    def test_saved_documents(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rivals.json")
            for content, why in (("[]", "no rivals.json of this version"), ("{", "give a rivals.json"),
                                 ('{"format": 99}', "no rivals.json of this version")):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(content)
                with self.assertRaisesRegex(TestbedError, why):
                    report.load(path)
            results, _ = judged(made := document("veth", STEADY))
            results.document = made
            self.assertEqual(report.load(results.write(folder)), made)
            report.save(made, folder)
            self.assertEqual(report.load(path), made)
        with self.assertRaisesRegex(TestbedError, "No such file"):
            report.load("/nowhere/rivals.json")


class Reader(html.parser.HTMLParser):
    """Checks that elements nest, and collects what could be fetched."""

    EMPTY = {"meta", "br", "line"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.said = ""

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        for key, value in attributes:
            if key in ("src", "href", "xlink:href", "data", "action", "srcset"):
                self.links.append(value or "")
            if key == "id":
                self.ids.append(value or "")
        if name not in self.EMPTY:
            self.open.append(name)

    def handle_startendtag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        if name not in self.EMPTY:
            raise AssertionError(f"<{name}/> is no empty element")

    def handle_endtag(self, name: str) -> None:
        if not self.open or self.open.pop() != name:
            raise AssertionError(f"</{name}> closes nothing")

    def handle_data(self, data: str) -> None:
        self.said += data


class Page(unittest.TestCase):
    def read(self, made: report.Document) -> tuple[str, Reader]:
        judged(made)
        text = page.page(made)
        reader = Reader()
        reader.feed(text)
        reader.close()
        self.assertEqual(reader.open, [])
        return text, reader

    def test_whole_and_alone(self) -> None:
        text, reader = self.read(document("loss1", STEADY))
        self.assertTrue(text.startswith("<!DOCTYPE html>"))
        for link in reader.links:
            self.assertTrue(link.startswith("#") and link[1:] in reader.ids, link)
        self.assertEqual(len(set(reader.ids)), len(reader.ids))
        self.assertNotRegex(text, r"(?i)<script|<link|<iframe|<img|@import|url\(|https?://|//[a-z]")
        self.assertRegex(text, r"(?s)prefers-color-scheme: dark.*@media print")

    def test_says_all(self) -> None:
        _, reader = self.read(document("loss1", {**STEADY, "rsync": [3.0] * 5}, note="cut off after 12 s"))
        for words in ("100 Mbit/s, RTT 50 ms, 1 % lost", "Mbit/s", "s/GB", "not told", "seed 7", "holds",
                      "uftp is not installed; apt-get install it", "cut off after 12 s (5 of 5)",
                      "rate 100mbit limit 625000B delay 25ms loss 1%"):
            self.assertIn(words, reader.said)

    def test_the_highest_of_each_column_is_bold(self) -> None:
        text, _ = self.read(document("veth", {**STEADY, "rsync": [3.0] * 5, "uftp": [8.0] * 5}))
        self.assertEqual(re.findall("<strong>(.*?)</strong>", text), ["300", "8.00"])

    def test_text_is_text(self) -> None:
        evil = "<script>alert(1)</script>\"&'"
        made = document("veth", STEADY, note=evil, whys={evil: 1}, commands=[evil])
        for one in made["tools"]:
            one["title"] = one["version"] = evil
            one["lack"] = one["lack"] and evil
        made["machine"]["processor"] = made["machine"]["date"] = made["paths"][0]["title"] = evil
        text, reader = self.read(made)
        self.assertNotIn("<script", text)
        self.assertIn(evil, reader.said)

    def test_a_path_without_turns(self) -> None:
        made = document("veth", {})
        self.read(made)


class Chart(unittest.TestCase):
    def test_axis(self) -> None:
        for x, top in ((0, 1), (0.3, 0.3), (1, 1), (92, 100), (101, 150), (210, 250), (2600, 3000), (6100, 8000)):
            self.assertAlmostEqual(chart.round_up(x), top)

    def test_every_panel_has_its_unit_and_all_rows(self) -> None:
        values = [report.Figure(50, 40, 60), None, report.Figure(0, 0, 0)]
        drawn = chart.panels([chart.Panel("goodput", "Mbit/s", values, 93), chart.Panel("CPU", "s/GB", values)],
                             [("one", "ours"), ("a<b", "user"), ("three", "files")])
        self.assertEqual(drawn.count("<rect"), 4)
        self.assertEqual(drawn.count("not told"), 2)
        self.assertEqual(drawn.count('class="range"'), 2)
        self.assertEqual(drawn.count('class="link"'), 1)
        for words in (">Mbit/s<", ">s/GB<", ">a&lt;b<", ">100<"):
            self.assertIn(words, drawn)
        self.assertNotIn("NaN", drawn)


class Options(unittest.TestCase):
    def check(self, **wrong: Any) -> None:
        good = {"runs": 5, "seconds": 4, "limit": None, "folder": "/"}
        rivals.check_options(argparse.Namespace(**{**good, **wrong}))

    def test_wrong_ones(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"runs": 0}, "--runs and --seconds must be 1"), ({"seconds": 0}, "--runs and --seconds"),
            ({"limit": 4}, "--limit 4 must be more than --seconds 4"),
            ({"folder": "/nowhere"}, "--folder /nowhere: there is no such folder; give a tmpfs")]
        for wrong, why in cases:
            with self.assertRaisesRegex(TestbedError, why):
                self.check(**wrong)

    def test_help(self) -> None:
        parser = argparse.ArgumentParser()
        rivals.options(parser)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit):
            parser.parse_args(["--help"])
        for name in (*paths.PATHS, "iperf3-bbr-off", "uftp-tfmcc", "--from"):
            self.assertIn(name, re.sub(r"\s+", " ", out.getvalue()).replace("- ", "-"))
        copy.deepcopy(parser.parse_args(["--from", "rivals.json"]))


if __name__ == "__main__":
    unittest.main()
