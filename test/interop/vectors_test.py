#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The vectors of Project Wycheproof and of Noise's implementations, through lib/crypto, by each library that
this CPU has.

Usage: vectors_test.py INTEROP_PEER. The vectors are not part of this tree (CONTRIBUTING.md says where they
come from):
  $WYCHEPROOF      a folder with aes_gcm_test.json, chacha20_poly1305_test.json, x25519_test.json,
                   hkdf_sha256_test.json and hmac_sha256_test.json
  $NOISE_VECTORS   a folder with cacophony.txt
Exit status 77: neither is set."""
import json
import os
import sys
import unittest
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peer import CIPHERS, LIBRARIES, Peer  # noqa: E402

Test = dict[str, Any]
PROTOCOL = "Noise_IKpsk2_25519_AESGCM_SHA256"
NONCE_BITS, TAG_BITS = 96, 128
# Of the 316, 325, 518, 86 and 174 tests of their files. Keys of 192 bits and other nonces than ours are not
# supported, and three tests of HKDF ask for more than it gives.
COUNTS_MIN = {"aes_gcm": 130, "chacha20_poly1305": 300, "x25519": 500, "hkdf_sha256": 80, "hmac_sha256": 150}


def data(text: str) -> bytes:
    return bytes.fromhex(text)


def folder(variable: str) -> str:
    path = os.environ.get(variable)
    if not path:
        raise unittest.SkipTest(f"{variable} names no folder")
    return path


class Vectors(unittest.TestCase):
    def setUp(self) -> None:
        self.peer = Peer(sys.argv[1])
        self.addCleanup(self.peer.close)


class Wycheproof(Vectors):
    def cases(self, name: str) -> list[tuple[Test, Test]]:
        """(group, test) of a file."""
        with open(os.path.join(folder("WYCHEPROOF"), name + "_test.json"), encoding="utf-8") as f:
            return [(group, test) for group in json.load(f)["testGroups"] for test in group["tests"]]

    def done(self, name: str, count: int) -> None:
        print(f"{name}: {count} of {len(self.cases(name))}", flush=True)
        self.assertGreaterEqual(count, COUNTS_MIN[name])

    def aead(self, cipher: str, t: Test) -> None:
        key, nonce, head, text = (data(t[part]) for part in ("key", "iv", "aad", "msg"))
        sealed, tag, valid = data(t["ct"]), data(t["tag"]), t["result"] == "valid"
        for library in self.peer.libraries():
            with self.subTest(t["tcId"], library=LIBRARIES[library]):
                found = self.peer.ask("open", library, CIPHERS[cipher], key, nonce, head, sealed, tag)
                self.assertEqual(found, [text] if valid else None)
                found = self.peer.must("seal", library, CIPHERS[cipher], key, nonce, head, text)
                self.assertEqual(found == [sealed, tag], valid)

    def test_aead(self) -> None:
        for name in ("aes_gcm", "chacha20_poly1305"):
            count = 0
            for group, test in self.cases(name):
                cipher = f"AES-{group['keySize']}-GCM" if name == "aes_gcm" else "ChaCha20-Poly1305"
                if group["ivSize"] == NONCE_BITS and group["tagSize"] == TAG_BITS and cipher in CIPHERS:
                    self.aead(cipher, test)
                    count += 1
            self.done(name, count)

    def test_x25519(self) -> None:
        """"acceptable" are points that RFC 7748 takes; the only ones to refuse give a result of 0."""
        for _, t in self.cases("x25519"):
            with self.subTest(t["tcId"]):
                expect = data(t["shared"])
                self.assertEqual(self.peer.ask("shared", data(t["private"]), data(t["public"])),
                                 [expect] if any(expect) else None)
        self.done("x25519", len(self.cases("x25519")))

    def hkdf(self, t: Test) -> bytes:
        """RFC 5869 by HMAC, as it stands there; by hash_hkdf() where that can do it, too."""
        salt, material, info, size = data(t["salt"]), data(t["ikm"]), data(t["info"]), t["size"]
        secret = self.peer.must("hmac", salt, material)[0]
        last = whole = b""
        for i in range(1, -(-size // 32) + 1):
            last = self.peer.must("hmac", secret, last + info + bytes([i]))[0]
            whole += last
        if len(salt) <= 32 and not info and size <= 96:
            self.assertEqual(self.peer.must("hkdf", salt, material, -(-size // 32))[0], whole)
        return whole[:size]

    def test_hkdf(self) -> None:
        """Those that are not valid ask for more than 255 blocks."""
        count = 0
        for _, t in self.cases("hkdf_sha256"):
            if t["result"] == "valid":
                with self.subTest(t["tcId"]):
                    self.assertEqual(self.hkdf(t), data(t["okm"]))
                    count += 1
        self.done("hkdf_sha256", count)

    def test_hmac(self) -> None:
        for group, t in self.cases("hmac_sha256"):
            with self.subTest(t["tcId"]):
                found = self.peer.must("hmac", data(t["key"]), data(t["msg"]))[0][:group["tagSize"] // 8]
                self.assertEqual(found == data(t["tag"]), t["result"] == "valid")
        self.done("hmac_sha256", len(self.cases("hmac_sha256")))


class Noise(Vectors):
    def test_handshake_and_packets(self) -> None:
        with open(os.path.join(folder("NOISE_VECTORS"), "cacophony.txt"), encoding="utf-8") as f:
            found = [v for v in json.load(f)["vectors"] if v["protocol_name"] == PROTOCOL]
        self.assertGreaterEqual(len(found), 1)
        for v in found:
            self.vector(v)
        print(f"{PROTOCOL}: {len(found)}")

    def vector(self, v: Test) -> None:
        messages = [(data(m["payload"]), data(m["ciphertext"])) for m in v["messages"]]
        (question, init), (reply, response), *packets = messages
        psk, prologue = data(v["init_psks"][0]), data(v["init_prologue"])
        written = self.peer.must("init_write", data(v["init_static"]), data(v["init_remote_static"]),
                                 data(v["init_ephemeral"]), prologue, question)
        self.assertEqual(written, [init])
        initiator = self.peer.must("public", data(v["init_static"]))[0]
        self.assertEqual(self.peer.must("init_read", data(v["resp_static"]), prologue, init), [initiator, question])
        sent, opens, seals = self.peer.must("response_write", psk, data(v["resp_ephemeral"]), reply)[0:3]
        self.assertEqual(sent, response)
        payload, first, second = self.peer.must("response_read", psk, response)
        self.assertEqual((payload, first, second), (reply, seals, opens))
        # Packets go to and fro, the initiator's first, each under the next number of its direction.
        for i, (text, sealed) in enumerate(packets):
            key, nonce = (first, second)[i % 2], bytes(4) + (i // 2).to_bytes(8, "big")
            for library in self.peer.libraries():
                found = self.peer.must("seal", library, CIPHERS["AES-256-GCM"], key, nonce, b"", text)
                self.assertEqual(b"".join(found), sealed)


if __name__ == "__main__":
    if not os.environ.get("WYCHEPROOF") and not os.environ.get("NOISE_VECTORS"):
        print("skipped: neither WYCHEPROOF nor NOISE_VECTORS names a folder with vectors; see CONTRIBUTING.md")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
