"""Receipts, by PROOFS.md."""

import json
import pathlib

from certificates import last, names
from checkpoints import Keys
from json_text import parse
from proofs import are_entries, is_string, judge_kept_key_of_proofs, judge_proved, read_proof
from records import exactly, is_count, is_hash, is_time, is_true, is_uuid, or_null
from verdict import Verdict

# The sentences of a receipt stand in the vector that the page names.
PROOFS = pathlib.Path(__file__).resolve().parents[3] / 'docs/verifier/proofs'
MODEL = json.loads((PROOFS / 'receipt-refused.json').read_text(encoding='utf-8'))


def is_one(value):
    return isinstance(value, int) and value is not True and value == 1


def is_any(_value):
    return True


FIELDS = {
    'format_version': is_one, 'request': is_uuid, 'received_at': is_time, 'ledger': is_any, 'subject_key': is_hash,
    'how': lambda value: value == MODEL['how'], 'entries': are_entries, 'public_keys': is_string,
}  # fmt: skip
ANSWER = exactly(
    refused_at=is_any, reason=is_any, says=lambda value: value == MODEL['answer']['says'], erased_by=or_null(is_uuid),
    searched=exactly(mirror=is_true, service=is_true, published_files=is_count),
)  # fmt: skip


def read_receipt(text):
    """The receipt that a text is, None where it is none."""
    try:
        receipt = parse(text)
        is_spelt = json.dumps(receipt, indent=2, ensure_ascii=False) + '\n' == text
    except (ValueError, TypeError):
        return None
    fields = FIELDS | ({'answer': ANSWER} if isinstance(receipt, dict) and 'answer' in receipt else {})
    return receipt if is_spelt and exactly(**fields)(receipt) else None


def judge_receipt(text, prefix, verdict):
    """A receipt and its keys, None where it or its list of keys is none."""
    receipt = read_receipt(text)
    if receipt is None:
        verdict.problem(f'{prefix}receipt', 'not_a_receipt')
        return None
    keys = Keys(receipt['public_keys'])
    if not keys.listed:
        verdict.problem(f'{prefix}public keys', 'bad_public_key')
        return None
    entries = judge_proved(receipt['entries'], receipt['request'], keys, prefix, verdict)
    own = [record for _, record in entries if names(record, receipt['request'])]
    received, refused, answer = last(own, 'received') or last(own, 'asked'), last(own, 'refused'), receipt.get('answer')
    is_said = received and received['at'] == receipt['received_at'] and keys.name == receipt['ledger']
    if answer and not (refused and refused['at'] == answer['refused_at'] and refused['reason'] == answer['reason']):
        is_said = False
    if not is_said:
        verdict.problem(f'{prefix}receipt', 'says_otherwise')
    return receipt, keys


def verify_receipt(text, public_key=None):
    """The verdict on a receipt alone."""
    verdict = Verdict()
    if public_key is None:
        verdict.warning('receipt', 'own_keys_only')
    read = judge_receipt(text, '', verdict)
    if read:
        judge_kept_key_of_proofs(public_key, read[1], verdict)
    return verdict.as_json(entries=len(read[0]['entries']) if read else 0)


def judge_receipt_beside(text, verdict):
    """Judges a receipt beside a ledger. Its checkpoints, which are kept ones."""
    places = set(verdict.signing_places)
    judge_receipt(text, 'receipt, ', verdict)
    # The receipt's own keys sign its proofs. The ledger's have to sign its checkpoints, which is judged with the others.
    verdict.signing_places = places
    receipt = read_receipt(text)
    proofs = [read_proof(each['proof']) for each in receipt['entries']] if receipt else []
    return sorted({proof[2] if proof else '' for proof in proofs})
