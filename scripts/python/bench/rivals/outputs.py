# SPDX-License-Identifier: BSD-3-Clause
"""What the tools print, as numbers. Each function takes text, and raises TestbedError with the tool's own reason if
the text tells of an error or does not have what is sought."""
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from testbed.process import TestbedError

TCP_PAYLOAD = 1448


@dataclass(frozen=True)
class Carried:
    """What a tool says of its own transfer. again_percent: what was sent again, of all that was sent; None: it
    does not tell."""
    bytes: int
    seconds: float
    again_percent: float | None = None


def _json(tool: str, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise TestbedError(f"{tool} printed no JSON: {last_line(text) or 'nothing at all'}")
    return found


def last_line(text: str) -> str:
    """The last line that is not empty, without colours; most tools give their reason there."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return next((line.strip() for line in reversed(plain.splitlines()) if line.strip()), "")


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole > 0 else None


def iperf3(client: str) -> Carried:
    """From the client's JSON; what was received is the server's word, which the client gets at the end."""
    report = _json("iperf3", client)
    if "error" in report:
        raise TestbedError(f"iperf3: {report['error']}")
    try:
        received, sent = report["end"]["sum_received"], report["end"]["sum_sent"]
        again, once = int(sent["retransmits"]), sent["bytes"] / TCP_PAYLOAD
        return Carried(int(received["bytes"]), float(received["seconds"]), percent(again, once + again))
    except KeyError as key:
        raise TestbedError(f"iperf3's report has no {key}") from None


def sluice_perf(client: str, server: str) -> Carried:
    """From the JSON of both ends: bytes and time of the receiver, repeats of the sender."""
    sent, received = _json("sluice perf client", client), _json("sluice perf server", server)
    return Carried(int(received["bytes"]), float(received["seconds"]), percent(sent["repeats"], sent["packets"]))


def sluice_send(sender: str) -> float | None:
    """The units sent again, in per cent."""
    sent = _json("sluice send", sender)
    return percent(sent["repeats"], sent["packets"])


def quinn_client(text: str) -> Carried:
    """From the client's JSON, which is its last line: the bytes that its application has read, in whole intervals."""
    report = _json("quinn-perf", last_line(text))
    try:
        intervals = report["intervals"]
        seconds = sum(float(i["sum"]["seconds"]) for i in intervals)
        received = sum(int(s["bytes"]) for i in intervals for s in i["streams"] if not s["sender"])
    except (KeyError, TypeError) as problem:
        raise TestbedError(f"quinn-perf's report is of another version: {problem}") from None
    if seconds <= 0:
        raise TestbedError("quinn-perf reports no interval: it was not connected for a second")
    return Carried(received, seconds)


def quinn_lost(server: str) -> float | None:
    """The packets that the sender took for lost, and whose data it sent again, in per cent of those sent: from the
    last statistics that it printed (--conn-stats)."""
    lost, sent = (re.findall(rf"\b{word}: (\d+)", server) for word in ("lost_packets", "sent_packets"))
    return percent(int(lost[-1]), int(sent[-1])) if lost and sent else None


def uftp(text: str) -> float | None:
    """The blocks sent again, in per cent of all blocks sent: each NAK asks for one."""
    blocks = re.search(r"Blocks: (\d+)", text)
    if "Status: Completed" not in text or blocks is None:
        raise TestbedError(f"uftp: {uftp_reason(text)}")
    naks = sum(int(n) for n in re.findall(r"^Got (\d+) NAKs", text, re.MULTILINE))
    return percent(naks, int(blocks.group(1)) + naks)


def uftp_reason(text: str) -> str:
    """Why it failed: the line that says so, or its last one."""
    said = re.search(r"^.*(?:error|timed out|lost|abort|failed|no client|denied).*$", text,
                     re.IGNORECASE | re.MULTILINE)
    return said.group(0).strip() if said else last_line(text) or "it printed nothing"


def retransmitted(before: str, after: str) -> float | None:
    """TCP segments sent again in per cent of all sent, from two looks at /proc/net/snmp. OutSegs leaves out those
    sent again."""
    (again0, out0), (again1, out1) = _segments(before), _segments(after)
    return percent(again1 - again0, out1 - out0 + again1 - again0)


def _segments(snmp: str) -> tuple[int, int]:
    rows = [line.split()[1:] for line in snmp.splitlines() if line.startswith("Tcp:")]
    if len(rows) != 2:
        raise TestbedError("/proc/net/snmp has no counters of TCP")
    counts = dict(zip(rows[0], rows[1]))
    return int(counts["RetransSegs"]), int(counts["OutSegs"])


def acked_bytes(ss: str) -> int:
    """The bytes that a TCP's peer has confirmed, from `ss -Hti`; 0: no connection carries any. iperf3 has a second
    connection for control, which carries less."""
    return max((int(n) for n in re.findall(r"\bbytes_acked:(\d+)", ss)), default=0)


def reason(lines: Sequence[str]) -> str:
    """The first line of these texts that is not empty, for a table."""
    return next((line.strip() for text in lines for line in text.splitlines() if line.strip()), "it gave no reason")
