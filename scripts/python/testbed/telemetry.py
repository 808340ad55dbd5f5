# SPDX-License-Identifier: BSD-3-Clause
"""A client of DPDK's telemetry socket."""
import json
import socket
from typing import Any


class Telemetry:
    """One connection to the socket of a process."""

    def __init__(self, path: str, timeout_s: float = 10) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout_s)
        self.socket.connect(path)
        self.hello = json.loads(self.socket.recv(4096))

    def ask(self, command: str) -> Any:
        """The answer to this command: an object, a list, or None."""
        self.socket.send(command.encode())
        answer = self.socket.recv(self.hello["max_output_len"] + 1024)
        if not answer:
            raise ConnectionResetError("the process at the telemetry socket has gone")
        return json.loads(answer)[command.split(",")[0]]

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "Telemetry":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
