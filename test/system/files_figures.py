# SPDX-License-Identifier: BSD-3-Clause
"""Cases of files_test.py: perf and show."""
import json

from .files_cases import (ADDR_B, INTERRUPT, LOCAL, MIB, OK, SOCK_A, SOCK_B, Run, case, port)


@case("show: tables and JSON")
def shows(_folder: str) -> None:
    for what in ("conns", "ports", "workers", "capacity"):
        run = Run("show", what, sock=SOCK_A)
        run.expect(OK)
        assert run.out.splitlines()[0].split(), run.out
        run = Run("show", what, "--json", sock=SOCK_A)
        run.expect(OK)
        assert isinstance(json.loads(run.out)[what], list), run.out
    with open("/dev/full", "wb") as full:
        Run("show", "ports", sock=SOCK_A, stdout=full).expect(LOCAL, "No space left")


@case("perf: both directions, every byte looked at, both sides' figures")
def perf(_folder: str) -> None:
    number = port()
    server = Run("perf", "server", "--json", "-v", "-p", number, sock=SOCK_B)
    server.ready()
    for options in (("-n", "40M", "-P", "3", "--bidir"), ("-n", "20M", "--reverse"),
                    ("-n", "1", "-l", "1"), ("-t", "300ms", "-l", "100000", "--go-back-N"),
                    ("-n", "10M", "-l", "64K", "--sync")):
        client = Run("perf", "client", "--check", "--json", *options, f"{ADDR_B}:{number}",
                     sock=SOCK_A)
        client.expect(OK)
        figures = json.loads(client.out)
        sent, received = figures["tx"]["bytes"], figures["peer_rx"]["bytes"]
        assert sent == received, figures
        assert figures["rx"]["bytes"] == figures["peer_tx"]["bytes"], figures
        assert figures["wrong_bytes"] == 0 and figures["peer_rx"]["wrong_bytes"] == 0
        if options[0] == "-n" and options[1] != "1":
            directions = 2 if "--bidir" in options else 1
            assert figures["bytes"] == directions * int(options[1][:-1]) * MIB, figures
    server.signal(INTERRUPT)
    server.expect(OK)
    results = [json.loads(x) for x in server.out.splitlines()]
    assert len(results) == 5 and all(r["exit"] == 0 for r in results), server.out
