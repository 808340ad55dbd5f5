#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Handshakes between lib/crypto and noise.py, on random keys and payloads: either as initiator.

Usage: noise_test.py INTEROP_PEER. SLUICE_SEED runs the same again.
Exit status 77: python3-cryptography is not installed."""
import os
import random
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peer import CIPHERS, LIBRARIES, Peer  # noqa: E402

try:
    import noise
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
except ImportError:
    print("skipped: python3-cryptography is not installed; run scripts/setup")
    sys.exit(77)

PROLOGUE = b"Sluice 2"
ROUNDS = 60
SEED = int(os.environ.get("SLUICE_SEED") or random.SystemRandom().getrandbits(64))


class Parties:
    """Keys of an initiator and a responder, and what they say."""

    def __init__(self, draw: random.Random) -> None:
        self.a, self.b, self.ephemeral_a, self.ephemeral_b = (draw.randbytes(32) for _ in range(4))
        self.psk = draw.choice([bytes(32), draw.randbytes(32)])
        self.a_public, self.b_public = noise.public_of(self.a), noise.public_of(self.b)
        self.question, self.reply = (draw.randbytes(draw.choice([0, 16, draw.randrange(300)])) for _ in range(2))

    def initiator(self) -> noise.Handshake:
        return noise.Handshake(True, self.a, self.b_public, self.psk, PROLOGUE)

    def responder(self) -> noise.Handshake:
        return noise.Handshake(False, self.b, None, self.psk, PROLOGUE)


class Handshakes(unittest.TestCase):
    peer: Peer

    def setUp(self) -> None:
        self.draw = random.Random(SEED)
        self.peer = Peer(sys.argv[1])
        self.addCleanup(self.peer.close)

    def changed(self, message: bytes) -> bytes:
        """The message with one bit changed."""
        bit = self.draw.randrange(8 * len(message))
        return (int.from_bytes(message, "little") ^ 1 << bit).to_bytes(len(message), "little")

    def c_init(self, p: Parties) -> bytes:
        return self.peer.must("init_write", p.a, p.b_public, p.ephemeral_a, PROLOGUE, p.question)[0]

    def test_c_asks_python(self) -> None:
        for _ in range(ROUNDS):
            p = Parties(self.draw)
            init, responder = self.c_init(p), p.responder()
            with self.assertRaises(noise.NoiseError):
                p.responder().read(0, self.changed(init))
            self.assertEqual(responder.read(0, init), p.question)
            self.assertEqual(responder.peer_static, p.a_public)
            response = responder.write(1, p.ephemeral_b, p.reply)
            self.assertIsNone(self.peer.ask("response_read", p.psk, self.changed(response)))
            self.assertIsNone(self.peer.ask("response_read", self.changed(p.psk), response))
            sent, received = responder.split()
            self.assertEqual(self.peer.must("response_read", p.psk, response), [p.reply, received, sent])

    def test_python_asks_c(self) -> None:
        for _ in range(ROUNDS):
            p = Parties(self.draw)
            initiator = p.initiator()
            init = initiator.write(0, p.ephemeral_a, p.question)
            self.assertIsNone(self.peer.ask("init_read", p.b, PROLOGUE, self.changed(init)))
            self.assertIsNone(self.peer.ask("init_read", p.b, PROLOGUE + b"1", init))
            self.assertIsNone(self.peer.ask("init_read", p.a, PROLOGUE, init))
            self.assertEqual(self.peer.must("init_read", p.b, PROLOGUE, init), [p.a_public, p.question])
            response, sends, receives = self.peer.must("response_write", p.psk, p.ephemeral_b, p.reply)
            self.assertEqual(initiator.read(1, response), p.reply)
            self.assertEqual(initiator.split(), (receives, sends))

    def test_both_write_the_same(self) -> None:
        """The keys decide every byte of both messages."""
        for _ in range(ROUNDS):
            p = Parties(self.draw)
            init = self.c_init(p)
            self.assertEqual(init, p.initiator().write(0, p.ephemeral_a, p.question))
            self.peer.must("init_read", p.b, PROLOGUE, init)
            responder = p.responder()
            responder.read(0, init)
            self.assertEqual(self.peer.must("response_write", p.psk, p.ephemeral_b, p.reply)[0],
                             responder.write(1, p.ephemeral_b, p.reply))

    def test_packets_under_the_keys(self) -> None:
        """What each library seals with each cipher, Python opens, and the other way round."""
        for _ in range(ROUNDS):
            for name, cipher in CIPHERS.items():
                key = self.draw.randbytes(16 if name == "AES-128-GCM" else 32)
                other: AESGCM | ChaCha20Poly1305 = ChaCha20Poly1305(key) if cipher == 2 else AESGCM(key)
                nonce, head = self.draw.randbytes(12), self.draw.randbytes(self.draw.randrange(1, 200))
                text = self.draw.randbytes(self.draw.randrange(9000))
                whole = other.encrypt(nonce, text, head)
                for library in self.peer.libraries():
                    with self.subTest(library=LIBRARIES[library], cipher=name):
                        self.assertEqual(b"".join(self.peer.must("seal", library, cipher, key, nonce, head, text)), whole)
                        self.assertEqual(self.peer.must("open", library, cipher, key, nonce, head, whole[:-16], whole[-16:]),
                                         [text])
                        bad = self.changed(whole)
                        self.assertIsNone(self.peer.ask("open", library, cipher, key, nonce, head, bad[:-16], bad[-16:]))


if __name__ == "__main__":
    print(f"SLUICE_SEED={SEED}", flush=True)
    unittest.main(argv=sys.argv[:1])
