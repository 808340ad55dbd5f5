# SPDX-License-Identifier: BSD-3-Clause
"""The program interop_peer: lib/crypto, spoken to in lines (peer.c has the commands)."""
import subprocess

LIBRARIES = {0: "libipsec-mb", 1: "libcrypto"}
CIPHERS = {"AES-128-GCM": 0, "AES-256-GCM": 1, "ChaCha20-Poly1305": 2}


class Peer:
    def __init__(self, program: str) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def text(self, command: str, *words: bytes | int) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        line = " ".join([command, *(w.hex() or "-" if isinstance(w, bytes) else str(w) for w in words)])
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer.endswith("\n"):
            raise RuntimeError(f"interop_peer ended at: {line}")
        return answer.strip()

    def ask(self, command: str, *words: bytes | int) -> list[bytes] | None:
        """None: refused."""
        answer = self.text(command, *words)
        return None if answer == "no" else [b"" if w == "-" else bytes.fromhex(w) for w in answer.split()]

    def must(self, command: str, *words: bytes | int) -> list[bytes]:
        found = self.ask(command, *words)
        if found is None:
            raise AssertionError(f"{command} was refused")
        return found

    def libraries(self) -> list[int]:
        """Those that this CPU and build have."""
        return [library for library in LIBRARIES if self.text("has", library) == "yes"]
