"""The verdict on a ledger, by VERDICTS.md."""

import os

from certificates import certificate_problem
from checkpoints import Keys, Tree
from order import Order
from receipts import judge_receipt_beside
from records import DAY_MS, milliseconds, read_line
from verdict import Verdict, judge_checkpoint, judge_kept_key


def read_file(*path):
    """A file's bytes, None where there is no regular file."""
    path = os.path.join(*path)
    if not os.path.isfile(path):
        return None
    with open(path, 'rb') as file:
        return file.read()


def as_text(data):
    return None if data is None else data.decode('utf-8', 'replace')


def verify(folder, public_key=None, checkpoint=None, receipt=None, certificates=None, now=None):
    """The verdict on a ledger's folder. Kept things are texts, certificates bytes by name, `now` is in milliseconds."""
    verdict = Verdict()
    *lines, rest = (read_file(folder, 'entries.jsonl') or b'').split(b'\n')
    keys = Keys(as_text(read_file(folder, 'public-keys.txt')))
    tree = Tree(lines)
    read = judge_lines(lines, keys, verdict)
    if rest:
        verdict.problem('ledger', 'torn_line')
    folder_of_checkpoints = os.path.join(folder, 'checkpoints')
    files = sorted(os.listdir(folder_of_checkpoints)) if os.path.isdir(folder_of_checkpoints) else []
    files = {name: as_text(read_file(folder_of_checkpoints, name)) or '' for name in files}
    promised = judge_receipt_beside(receipt, verdict) if receipt is not None else []
    needs_key = files or promised or checkpoint is not None or public_key is not None
    needs_key = needs_key or any(record and record['type'] == 'key_rotated' for record in read)
    for problem in keys.list_problems(needs_key):
        verdict.problem('public keys', problem)
    for name, text in files.items():
        stem = name.removesuffix('.txt')
        judge_checkpoint(f'checkpoint {stem}', text, name, keys, tree, verdict)
    if checkpoint is not None:
        judge_checkpoint('kept checkpoint', checkpoint, None, keys, tree, verdict)
    for each in promised:
        judge_checkpoint('receipt', each, None, keys, tree, verdict)
    latest = max(verdict.signing_places, default=-1)
    judge_kept_key(public_key, keys, verdict, lambda earliest: not lines or latest >= earliest)
    if public_key is None:
        verdict.warning('ledger', 'own_keys_only')
    if checkpoint is None and receipt is None:
        verdict.warning('ledger', 'no_kept_checkpoint')
    judge_cover(read, now, verdict)
    entries = [(index, record) for index, record in enumerate(read) if record]
    for name, data in (certificates or {}).items():
        problem = certificate_problem(data, entries, keys.listed and keys.name, lambda index: index < verdict.signed)
        verdict.problem(f'certificate {name}', problem)
    root = tree.root(len(lines)).hex()
    return verdict.as_json(size=len(lines), rootHash=root, checkpoints=len(files), signed=verdict.signed)


def judge_lines(lines, keys, verdict):
    """The record of each line, None where it is damaged."""
    order, expected, last_at, read = Order(), 0, None, []
    for index, line in enumerate(lines):
        where = f'entry {index}'
        problem, record = read_line(line)
        read.append(record)
        verdict.problem(where, problem)
        expected += 1
        if not record:
            continue
        if record['seq'] != expected - 1:
            verdict.problem(where, 'wrong_seq')
        expected = record['seq'] + 1
        if last_at and record['at'] < last_at:
            verdict.warning(where, 'clock_set_back')
        last_at = record['at']
        verdict.problem(where, order.problem(record))
        if record['type'] == 'key_rotated':
            verdict.problem(where, keys.rotation_problem(index, record))
    return read


def judge_cover(read, now, verdict):
    first = verdict.signed
    if first == len(read):
        return
    verdict.warning(f'entry {first}', 'unsigned_entries')
    if first == 0:
        verdict.problem('ledger', 'nothing_signed')
    elif read[first] and now - milliseconds(read[first]['at']) > DAY_MS:
        verdict.problem(f'entry {first}', 'unsigned_for_long')
