# SPDX-License-Identifier: BSD-3-Clause
"""Daemons under ThreadSanitizer: workers, control and clients that come and go at the same time."""
import contextlib
import re
import threading

from .harness import Context, Skip, TestbedError, perf, scene
from testbed.daemon import Daemon
from testbed.pair import ADDR_B, memif_pair
from testbed.process import Testbed
from testbed.telemetry import Telemetry

ENV = {"TSAN_OPTIONS": "halt_on_error=0:exitcode=0:history_size=7"}
RUNTIME = re.compile(r"\(libtsan|/sanitizer_common/")
DPDK = re.compile(r"\(librte_[^()]*\)$")
OTHERS = re.compile(r"\((?:librte_|libc\.|libstdc|ld-)[^()]*\)$")


def _frames(access: str) -> list[str]:
    """Lines of a stack, innermost first, without ThreadSanitizer's own."""
    return [line for line in access.splitlines() if re.match(r" +#\d+ ", line) and not RUNTIME.search(line)]


def _is_dpdks(report: str) -> bool:
    """Whether DPDK's libraries make both accesses, one of them by a thread that never leaves these libraries.
    ThreadSanitizer does not see the locks inside them, and so takes it for a race when DPDK's interrupt thread
    allocates what another thread has freed. Libraries call workers and commands of telemetry, too, but these
    have a frame of ours. An access of which no frame is known ("failed to restore the stack") may be DPDK's."""
    accesses = [_frames(part) for part in report.split("\n\n")[:2]]
    return (all(not frames or DPDK.search(frames[0]) for frames in accesses) and
            any(frames and all(OTHERS.search(line) for line in frames) for frames in accesses))


def _races(text: str) -> list[str]:
    """Reports of ThreadSanitizer, without those about DPDK alone."""
    reports = [r for r in re.split(r"={18}\n", text) if "WARNING: ThreadSanitizer" in r]
    return [r for r in reports if not _is_dpdks(r)]


def _asked(daemon: Daemon, over: threading.Event) -> None:
    """Asks for all of its telemetry, again and again."""
    with contextlib.suppress(OSError), Telemetry(daemon.telemetry_socket) as telemetry:
        while not over.is_set():
            for command in ("counters,net_memif0/0", "capacity,net_memif0", "history,net_memif0",
                            "port,net_memif0", "worker,1", "client,0"):
                telemetry.ask("/sluice/" + command)
            for conn in telemetry.ask("/sluice/conns")[:20]:
                telemetry.ask("/sluice/conn," + conn)


@scene("daemons under ThreadSanitizer: no data race", memory_gb=3)
def threads(testbed: Testbed, context: Context) -> None:
    if context.tsan is None:
        raise Skip("no build with ThreadSanitizer is given")
    a, b = memif_pair(testbed, context.tsan, env=ENV, telemetry=True)
    over = threading.Event()
    askers = [threading.Thread(target=_asked, args=(d, over), daemon=True) for d in (a, b, b)]
    for asker in askers:
        asker.start()
    for i in range(3):
        perf(b, a, ADDR_B, "-n", "8M", "-P", "4", "--bidir", "--memory", "1M", name=f"round{i}")
        for daemon in (a, b):
            daemon.show("conns")
            daemon.show("workers")
    perf(b, a, ADDR_B, "-n", "1M", "--sync", "-l", "10K", "--memory", "1M", name="sync")
    over.set()
    for asker in askers:
        asker.join(30)
    for daemon in (a, b):
        daemon.stop()
        races = _races(daemon.process.err())
        if races:
            raise TestbedError(f"{len(races)} data races in {daemon.name}, for one:\n{races[0]}")
