"""Entries with their proofs, as bundles and receipts carry them (PROOFS.md)."""

from checkpoints import from_base64, is_well_signed, read_checkpoint, sha256
from certificates import names
from order import Order
from records import exactly, list_of, read_line
from verdict import judge_kept_key


def is_string(value):
    return isinstance(value, str)


are_entries = list_of(exactly(line=is_string, proof=is_string), least=0)


def judge_proved(given, request, keys, prefix, verdict):
    """The good entries [(number, record)] of a bundle or receipt. `keys` learn the rotations."""
    order, last_seq, entries = Order(in_bundle=True), -1, []
    for place, each in enumerate(given):
        problem, record = read_line(each['line'].encode())
        if not record:
            verdict.problem(f'{prefix}entry {place}', problem)
            continue
        where = f'{prefix}entry {record["seq"]}'
        if record['seq'] <= last_seq:
            verdict.problem(where, 'wrong_seq')
        last_seq = record['seq']
        if names(record, request):
            verdict.problem(where, order.problem_about(record, request))
        if record['type'] == 'key_rotated':
            verdict.problem(where, keys.rotation_problem(record['seq'], record))
        entries.append((record['seq'], record))
    for problem in keys.list_problems(True):
        verdict.problem(f'{prefix}public keys', problem)
    for each in given:
        _, record = read_line(each['line'].encode())
        place = record and place_of_proof(each, record['seq'], keys)
        if place is not None:
            verdict.signing_places.add(place)
        elif record:
            verdict.problem(f'{prefix}entry {record["seq"]}', 'not_proved')
    return entries


def judge_kept_key_of_proofs(text, keys, verdict):
    """Each proof has to stand under a kept key or a later one."""
    oldest = min(verdict.signing_places, default=len(keys.chain))
    judge_kept_key(text, keys, verdict, lambda earliest: oldest >= earliest)


def read_proof(text):
    """Index, hashes and checkpoint of a proof, None where the text is none."""
    head, _, note = text.partition('\n\n')
    version, index, *hashes = head.split('\n') + ['']
    hashes = [from_base64(each) for each in hashes[:-1]]
    is_good = version == 'c2sp.org/tlog-proof@v1' and all(each is not None and len(each) == 32 for each in hashes)
    return (index, hashes, note) if is_good else None


def place_of_proof(entry, seq, keys):
    """The place of the key that signed the checkpoint under which a proof shows an entry; None where it shows none."""
    proof = read_proof(entry['proof'])
    checkpoint = proof and read_checkpoint(proof[2])
    if not checkpoint or proof[0] != f'index {seq}':
        return None
    origin, size, root, *_ = checkpoint
    place = keys.place_for(size)
    if origin != keys.name or not is_well_signed(checkpoint, keys.name, keys.chain[place]):
        return None
    return place if root_of_proof(sha256(b'\0', entry['line'].encode()), seq, size, proof[1]) == root else None


def root_of_proof(leaf, index, size, hashes):
    """The root that an inclusion proof leads to (RFC 9162, 2.1.3.2), None where it has not the right length."""
    if index >= size:
        return None
    at, end, node = index, size - 1, leaf
    for each in hashes:
        if end == 0:
            return None
        if at % 2 or at == end:
            node = sha256(b'\1', each, node)
            while at % 2 == 0 and at != 0:
                at, end = at >> 1, end >> 1
        else:
            node = sha256(b'\1', node, each)
        at, end = at >> 1, end >> 1
    return node if end == 0 else None
