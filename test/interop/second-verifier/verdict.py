"""What a verdict gathers, and how checkpoints and kept keys are judged for it (VERDICTS.md)."""

import re

from checkpoints import is_well_signed, read_checkpoint, read_keys


class Verdict:
    def __init__(self):
        self.problems, self.warnings, self.signed, self.signing_places = [], [], 0, set()

    def problem(self, where, problem):
        if problem:
            self.problems.append((where, problem))

    def warning(self, where, problem):
        self.warnings.append((where, problem))

    def as_json(self, **more):
        listed = lambda places: [{'where': where, 'problem': problem} for where, problem in places]
        return {'ok': not self.problems, **more, 'problems': listed(self.problems), 'warnings': listed(self.warnings)}


def judge_checkpoint(where, text, name, keys, tree, verdict):
    checkpoint = read_checkpoint(text)
    if checkpoint is None or (name is not None and not re.fullmatch(r'([0-9]{9}|[1-9][0-9]{9,14})\.txt', name)):
        return verdict.problem(where, 'not_a_checkpoint')
    origin, size, root, *_ = checkpoint
    if name is not None and int(name[:-4]) != size:
        return verdict.problem(where, 'wrong_size')
    if not keys.listed:
        return verdict.problem(where, 'bad_signature')
    if origin != keys.name:
        return verdict.problem(where, 'wrong_origin')
    if size > len(tree.leaves):
        return verdict.problem(where, 'beyond_ledger')
    place = keys.place_for(size)
    if not is_well_signed(checkpoint, keys.name, keys.chain[place]):
        return verdict.problem(where, 'bad_signature')
    if tree.root(size) != root:
        return verdict.problem(where, 'wrong_root')
    verdict.signed = max(verdict.signed, size)
    verdict.signing_places.add(place)


def kept_key_problem(text, keys, is_enough):
    if not keys.listed:
        return None
    kept = read_keys(text)
    if not kept:
        return 'bad_public_key'
    name, kept_keys = kept
    if name != keys.name or any(key not in keys.chain for key in kept_keys):
        return 'wrong_public_key'
    return None if is_enough(min(keys.chain.index(key) for key in kept_keys)) else 'not_signed_by_key'


def judge_kept_key(text, keys, verdict, is_enough):
    """Judges keys that were kept. `is_enough` tells by the place of the earliest whether the right checkpoints have it."""
    if text is not None:
        verdict.problem('kept public key', kept_key_problem(text, keys, is_enough))
