"""Bundles, by PROOFS.md."""

import re

from certificates import certificate_problem
from checkpoints import Keys
from json_text import canonical, parse
from proofs import are_entries, is_string, judge_kept_key_of_proofs, judge_proved
from records import exactly, list_of
from verdict import Verdict


def read_bundle(text):
    """The bundle that a text is, or that a page carries; None where there is none."""
    match = re.search('<script type="application/json" id="bundle">(.*?)</script>', text, re.DOTALL)
    is_page = not text.startswith('{') and match is not None
    text = match[1] if is_page else text
    try:
        bundle = parse(text)
        spelt = canonical(bundle) + '\n'
    except ValueError:
        return None
    fields = {'bundle': is_string, 'certificate': is_string, 'entries': are_entries, 'public_keys': is_string}
    if isinstance(bundle, dict) and 'time_stamps' in bundle:
        fields['time_stamps'] = list_of(is_string)
    is_whole = text == (spelt.replace('<', '\\u003c') if is_page else spelt)
    return bundle if is_whole and exactly(**fields)(bundle) and bundle['bundle'] == 'analytics-mirror/bundle@1' else None


def verify_bundle(text, public_key=None):
    """The verdict on a bundle, or on the page that carries one."""
    verdict = Verdict()
    if public_key is None:
        verdict.warning('bundle', 'own_keys_only')
    bundle = read_bundle(text)
    if bundle is None:
        verdict.problem('bundle', 'not_a_bundle')
        return verdict.as_json(entries=0)
    keys = Keys(bundle['public_keys'])
    if not keys.listed:
        verdict.problem('public keys', 'bad_public_key')
        return verdict.as_json(entries=0)
    try:
        certificate = parse(bundle['certificate'])
    except ValueError:
        certificate = None
    request = certificate.get('request') if isinstance(certificate, dict) else None
    entries = judge_proved(bundle['entries'], request, keys, '', verdict)
    judge_kept_key_of_proofs(public_key, keys, verdict)
    problem = certificate_problem(bundle['certificate'].encode(), entries, keys.name, lambda _: True)
    verdict.problem('certificate', problem)
    return verdict.as_json(entries=len(bundle['entries']))
