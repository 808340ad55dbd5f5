# SPDX-License-Identifier: BSD-3-Clause
"""A client of DPDK's telemetry socket."""
import json
import socket


class Telemetry:
    """One connection to a process's socket; ask() until close()."""

    def __init__(self, path, timeout_s=10):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout_s)
        self.socket.connect(path)
        self.hello = json.loads(self.socket.recv(4096))

    def ask(self, command):
        """What is told of this command: an object, a list, or None."""
        self.socket.send(command.encode())
        answer = self.socket.recv(self.hello["max_output_len"] + 1024)
        if not answer:
            raise ConnectionResetError("the process at the telemetry socket has gone")
        return json.loads(answer)[command.split(",")[0]]

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
