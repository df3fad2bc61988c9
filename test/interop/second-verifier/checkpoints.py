"""The tree, keys and checkpoints, by FORMAT.md."""

import base64
import functools
import hashlib
import re

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def sha256(*parts):
    return hashlib.sha256(b''.join(parts)).digest()


# A name has nothing that `\s` matches in ECMAScript.
NAME = r'[^+\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+'


class Tree:
    """The root hashes of the first n leaves (RFC 6962). A whole subtree's hash is remembered."""

    def __init__(self, lines):
        self.leaves = [sha256(b'\0', line) for line in lines]
        self.known = {}

    def root(self, size, start=0):
        if size == 0:
            return sha256(b'')
        if size == 1:
            return self.leaves[start]
        if (start, size) not in self.known:
            left = 1 << (size - 1).bit_length() - 1
            self.known[start, size] = sha256(b'\1', self.root(left, start), self.root(size - left, start + left))
        return self.known[start, size]


def from_base64(text):
    """The bytes of a text in base64, None for any other spelling."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text else None


def key_id(name, key):
    return sha256(name.encode(), b'\n\1', key)[:4]


def vkey(name, key):
    return '+'.join([name, key_id(name, key).hex(), base64.b64encode(b'\1' + key).decode()])


def read_vkey(text):
    """Name and key of a vkey, None where it is none."""
    match = re.fullmatch('(' + NAME + r')\+([0-9a-f]{8})\+(.+)', text)
    data = match and from_base64(match[3])
    if not data or len(data) != 33 or data[0] != 1 or vkey(match[1], data[1:]) != text:
        return None
    return match[1], data[1:]


def read_keys(text):
    """Name and keys of a list of vkeys, None where it is none."""
    if not text.endswith('\n'):
        return None
    read = [read_vkey(line) for line in text[:-1].split('\n')]
    if None in read or len({name for name, _ in read}) != 1:
        return None
    return read[0][0], [key for _, key in read]


P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


@functools.lru_cache(maxsize=100_000)
def has_small_order(key):
    """Whether eight times the point is the neutral one, or the bytes are no point at all (RFC 8032, 5.1.3)."""
    number = int.from_bytes(key, 'little')
    y, sign = (number & (2**255 - 1)) % P, number >> 255
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P:
        return True
    x = P - x if x % 2 != sign else x
    for _ in range(3):
        product = D * x * x * y * y % P
        x, y = 2 * x * y * pow(1 + product, -1, P) % P, (y * y + x * x) * pow(1 - product, -1, P) % P
    return (x, y) == (0, 1)


@functools.lru_cache(maxsize=100_000)
def is_signed(key, signature, message):
    if has_small_order(key) or has_small_order(signature[:32]):
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        return True
    except InvalidSignature:
        return False


class Keys:
    """The keys of a ledger: the first one, and from which entry on each later one signs."""

    def __init__(self, text):
        self.is_missing = text is None
        self.listed = None if text is None else read_keys(text)
        self.chain, self.handed_over_at = [], []
        if self.listed:
            self.name, (first, *_) = self.listed
            self.chain = [first]

    def rotation_problem(self, index, record):
        """What is wrong with a rotation. A good one hands over to the next key."""
        if not self.listed:
            return None
        old, new, signature = (bytes.fromhex(record[name]) for name in ('old_key', 'new_key', 'signature'))
        if old != self.chain[-1] or not is_signed(old, signature, f'{vkey(self.name, new)}\n'.encode()):
            return 'broken_rotation'
        self.chain.append(new)
        self.handed_over_at.append(index)
        return None

    def list_problems(self, is_needed):
        if self.is_missing:
            return ['no_public_key'] if is_needed else []
        if not self.listed:
            return ['bad_public_key']
        problems = []
        if self.name != 'analytics-mirror/' + sha256(self.chain[0]).hex()[:32]:
            problems.append('wrong_name')
        if self.listed[1] != self.chain[: len(self.listed[1])]:
            problems.append('unlisted_key')
        return problems

    def place_for(self, size):
        """The place of the key that signs a checkpoint of so many entries."""
        return sum(size > index for index in self.handed_over_at)


def read_checkpoint(text):
    """Origin, size, root, the signed bytes and the lines of signatures; None where the text is no checkpoint."""
    match = re.fullmatch(r'((.+)\n(0|[1-9][0-9]{0,14})\n(.+)\n)\n((?:— ' + NAME + r' .+\n)+)', text)
    root = match and from_base64(match[4])
    if not match or root is None or len(root) != 32:
        return None
    lines = []
    for line in match[5][:-1].split('\n'):
        parts = line.split(' ')
        data = from_base64(parts[2]) if len(parts) == 3 else None
        if data is None or len(data) < 5:
            return None
        lines.append((parts[1], data[:4], data[4:]))
    return match[2], int(match[3]), root, match[1].encode(), lines


def is_well_signed(checkpoint, name, key):
    *_, body, lines = checkpoint
    own = [signature for signer, id_, signature in lines if signer == name and id_ == key_id(name, key)]
    return own != [] and all(len(signature) == 64 and is_signed(key, signature, body) for signature in own)
