#!/usr/bin/env python3
"""A second verifier of ledgers, written from docs/verifier/*.md alone, so that it and verify.mjs show each other's faults and the
gaps of the pages. Where the two differed, the pages were mended too. It does not judge time stamps (RFC 3161) and policies.

    verify.py <ledger folder> [--public-key FILE] [--checkpoint FILE] [--receipt FILE] [--certificate FILE]...
    verify.py <bundle, page of a certificate, or receipt> [--public-key FILE]
    verify.py --tasks        reads tasks as lines of JSON, and answers each with its verdict

Ends as verify.mjs does: with 0, 1, 2 or 3 (FORMAT.md).
"""

import argparse
import base64
import json
import os
import re
import sys
import time

from bundles import verify_bundle
from ledger import verify
from receipts import verify_receipt


def read_text(path):
    return None if path is None else read_bytes(path).decode('utf-8', 'replace')


def read_bytes(path):
    with open(path, 'rb') as file:
        return file.read()


def verify_carried(text, public_key):
    is_receipt = re.match(r'\{\s*"format_version"', text)
    return (verify_receipt if is_receipt else verify_bundle)(text, public_key)


def answer(task):
    """The verdict on a task of the comparison. Certificates are in base64."""
    if 'text' in task:
        return verify_carried(task['text'], task.get('publicKey'))
    certificates = {name: base64.b64decode(data) for name, data in task.get('certificates', {}).items()}
    return verify(
        task['folder'], task.get('publicKey'), task.get('checkpoint'), task.get('receipt'), certificates, task['now']
    )


def answer_tasks():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('ledger')
    for name in ('--public-key', '--checkpoint', '--receipt'):
        parser.add_argument(name)
    parser.add_argument('--certificate', action='append', default=[])
    given = parser.parse_args()
    kept = [read_text(path) for path in (given.public_key, given.checkpoint, given.receipt)]
    if os.path.isdir(given.ledger):
        certificates = {path: read_bytes(path) for path in given.certificate}
        verdict = verify(given.ledger, *kept, certificates, time.time() * 1000)
    elif kept[1:] == [None, None] and not given.certificate:
        verdict = verify_carried(read_text(given.ledger), kept[0])
    else:
        parser.error('a bundle, a page or a receipt is judged with a kept key only')
    for kind in ('problems', 'warnings'):
        for each in verdict[kind]:
            print(f'{kind[:-1]}: {each["where"]}: {each["problem"]}')
    if not verdict['ok']:
        return 1
    return 3 if kept == [None, None, None] else 0


if __name__ == '__main__':
    if sys.argv[1:] == ['--tasks']:
        answer_tasks()
    else:
        try:
            sys.exit(main())
        except OSError as error:
            print(error, file=sys.stderr)
            sys.exit(2)
