# SPDX-License-Identifier: BSD-3-Clause
"""Noise_IKpsk2_25519_AESGCM_SHA256, written from the framework's text (revision 34) and from nothing else.

The names are those of its section 5. Each party of a handshake is a Handshake, whose messages are written
and read in the order of the pattern.
"""
import hashlib
import hmac
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

NAME = b"Noise_IKpsk2_25519_AESGCM_SHA256"
PATTERNS = (("e", "es", "s", "ss"), ("e", "ee", "se", "psk"))  # of the two messages
KEY_BYTES, TAG_BYTES = 32, 16


class NoiseError(Exception):
    """A message that was changed, or is not for us."""


def public_of(private: bytes) -> bytes:
    key = X25519PrivateKey.from_private_bytes(private).public_key()
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def dh(private: bytes, public: bytes) -> bytes:
    try:
        return X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as e:
        raise NoiseError("a public key of small order") from e


def hkdf(chaining_key: bytes, material: bytes, outputs: int) -> list[bytes]:
    """Section 4.3."""
    temp = hmac.new(chaining_key, material, hashlib.sha256).digest()
    found, last = [], b""
    for i in range(1, outputs + 1):
        last = hmac.new(temp, last + bytes([i]), hashlib.sha256).digest()
        found.append(last)
    return found


class CipherState:
    """Section 5.1: a key, and the number of the next message under it."""

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.n = 0

    def _nonce(self) -> bytes:
        self.n += 1
        return bytes(4) + (self.n - 1).to_bytes(8, "big")

    def encrypt(self, ad: bytes, plaintext: bytes) -> bytes:
        return AESGCM(self.key).encrypt(self._nonce(), plaintext, ad)

    def decrypt(self, ad: bytes, ciphertext: bytes) -> bytes:
        try:
            return AESGCM(self.key).decrypt(self._nonce(), ciphertext, ad)
        except InvalidTag as e:
            raise NoiseError("wrong tag") from e


class Handshake:
    """Sections 5.2 and 5.3: the symmetric state and the handshake state of one party."""

    def __init__(self, initiator: bool, static: bytes, peer_static: bytes | None, psk: bytes, prologue: bytes) -> None:
        """Only the initiator knows the peer's static key beforehand."""
        self.initiator = initiator
        self.static, self.psk = static, psk
        self.ephemeral: bytes | None = None
        self.peer_static, self.peer_ephemeral = peer_static, b""
        self.h = self.ck = NAME
        self.cipher: CipherState | None = None
        self.mix_hash(prologue)
        responder_static = peer_static if initiator else public_of(static)
        assert responder_static is not None
        self.mix_hash(responder_static)  # the message before the first one: <- s

    def mix_hash(self, data: bytes) -> None:
        self.h = hashlib.sha256(self.h + data).digest()

    def mix_key(self, material: bytes) -> None:
        self.ck, key = hkdf(self.ck, material, 2)
        self.cipher = CipherState(key)

    def mix_key_and_hash(self, material: bytes) -> None:
        self.ck, mixed, key = hkdf(self.ck, material, 3)
        self.mix_hash(mixed)
        self.cipher = CipherState(key)

    def encrypt_and_hash(self, plaintext: bytes) -> bytes:
        assert self.cipher is not None
        ciphertext = self.cipher.encrypt(self.h, plaintext)
        self.mix_hash(ciphertext)
        return ciphertext

    def decrypt_and_hash(self, ciphertext: bytes) -> bytes:
        assert self.cipher is not None
        plaintext = self.cipher.decrypt(self.h, ciphertext)
        self.mix_hash(ciphertext)
        return plaintext

    def _shared(self, token: str) -> bytes:
        """es: the initiator's ephemeral key and the responder's static key; and so on."""
        ours, peers = (token[0], token[1]) if self.initiator else (token[1], token[0])
        private = self.ephemeral if ours == "e" else self.static
        public = self.peer_ephemeral if peers == "e" else self.peer_static
        assert private is not None and public is not None
        return dh(private, public)

    def _mix(self, token: str) -> None:
        """A token without bytes of its own in the message."""
        if token == "psk":
            self.mix_key_and_hash(self.psk)
        else:
            self.mix_key(self._shared(token))

    def _walk(self, number: int, public_key: Callable[[str], None]) -> None:
        for token in PATTERNS[number]:
            if token in ("e", "s"):
                public_key(token)
            else:
                self._mix(token)

    def write(self, number: int, ephemeral: bytes, payload: bytes) -> bytes:
        """Message 0 or 1."""
        self.ephemeral = ephemeral
        message = []

        def put(token: str) -> None:
            if token == "e":
                message.append(public_of(ephemeral))
                self.mix_hash(message[-1])
                self.mix_key(message[-1])  # because of the psk: section 9.2
            else:
                message.append(self.encrypt_and_hash(public_of(self.static)))

        self._walk(number, put)
        message.append(self.encrypt_and_hash(payload))
        return b"".join(message)

    def read(self, number: int, message: bytes) -> bytes:
        """Returns the payload. NoiseError leaves the handshake useless."""
        rest = message

        def get(token: str) -> None:
            nonlocal rest
            size = KEY_BYTES if token == "e" else KEY_BYTES + TAG_BYTES
            part, rest = rest[:size], rest[size:]
            if token == "e":
                self.peer_ephemeral = part
                self.mix_hash(part)
                self.mix_key(part)
            else:
                self.peer_static = self.decrypt_and_hash(part)

        self._walk(number, get)
        return self.decrypt_and_hash(rest)

    def split(self) -> tuple[bytes, bytes]:
        """The keys of what this party sends and of what it receives."""
        first, second = hkdf(self.ck, b"", 2)
        return (first, second) if self.initiator else (second, first)
