"""Lines and records, by RECORDS.md."""

import datetime
import functools
import re

from json_text import COUNT_MAX, is_canonical, parse

DAY_MS = 24 * 60 * 60 * 1000


def one_of(words):
    allowed = words.split()
    return lambda value: isinstance(value, str) and value in allowed


def shaped(pattern):
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def integer_from(least):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def list_of(member, least=1, most=COUNT_MAX):
    return lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(member, value))


def exactly(**fields):
    return lambda value: isinstance(value, dict) and value.keys() == fields.keys() and all(fields[k](value[k]) for k in fields)


def or_null(member):
    return lambda value: value is None or member(value)


is_true = lambda value: value is True
is_boolean = lambda value: isinstance(value, bool)
is_uuid = shaped('[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
is_count = integer_from(0)
is_hash = shaped('[0-9a-f]{64}')
is_consumer = shaped('[a-z][a-z0-9_-]{0,39}')
is_time_text = shaped('[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z')


def is_time(value):
    return is_time_text(value) and milliseconds(value) is not None


def milliseconds(at):
    """A time in milliseconds, None where the calendar has no such time."""
    year, month, day, hour, minute, second, ms = (int(part) for part in re.findall('[0-9]+', at))
    try:
        # The calendar repeats every 400 years of 146,097 days, and Python's has no year 0.
        moment = datetime.datetime(year % 400 + 2000, month, day, hour, minute, second)
    except ValueError:
        return None
    since = moment - datetime.datetime(1970, 1, 1) + datetime.timedelta(days=(year // 400 - 5) * 146_097)
    return since // datetime.timedelta(milliseconds=1) + ms


def are_consumers(value):
    return list_of(is_consumer)(value) and all(a < b for a, b in zip(value, value[1:]))


is_dataset = one_of('persons recordings playlists distinct_ids playlist_recordings deletions passes fence')
is_snapshot_id = shaped('[0-9]{8}T[0-9]{6}\\.[0-9]{3}Z')
is_file = shaped(
    'snapshot:(persons|recordings|playlists|distinct_ids|playlist_recordings|deletions|passes|fence)'
    '/[0-9]{8}T[0-9]{6}\\.[0-9]{3}Z/part-[0-9]{5,}\\.parquet'
)
is_table = shaped('[a-z_][a-z0-9_]{0,62}([.][a-z_][a-z0-9_]{0,62}){0,2}')
seen_tables = {'tables': list_of(is_table), 'not_covered': list_of(is_table, least=0)}
is_attested = exactly(assurance=one_of('attested'), report=is_hash, signer=is_hash, **seen_tables)
is_observed = exactly(assurance=one_of('observed'), **seen_tables)
is_expected = exactly(consumer=is_consumer, tables=list_of(is_table))
is_snapshot = exactly(dataset=is_dataset, snapshot_id=is_snapshot_id, manifest=or_null(is_hash))
is_fence_entry = exactly(kind=one_of('person_uuid person_id distinct_id recording_id'), encrypted=is_hash)
is_attention = one_of(
    'events_unconfirmed events_overdue events_queued_before events_not_queued reader_holds_wal residue_found outcome_unknown '
    'distinct_id_elsewhere upstream_refuses playlist_refused recreated life_exceeded restored listed_again shown_wider '
    'file_differs bucket_unreachable bucket_refuses bucket_locked copy_elsewhere'
)

ASSURANCES = {'V': 'verified', 'O': 'observed', 'A': 'asserted_by_upstream', 'N': 'not_verifiable'}
ENDS = {
    'upstream.person': 'deleted O, already_absent O, still_present O, not_verifiable N',
    'upstream.events': 'kept O, confirmed A, partly_deleted A, unconfirmed N, not_queued N, not_verifiable N',
    'upstream.recordings': 'deleted O, absent O N, deletion_requested A N, not_applicable O N, not_deletable_via_api N, '
    'not_deletable_by_key N, still_present O, not_verifiable N',
    'upstream.playlists': 'removed O N, not_applicable O N, not_deletable_by_key N, still_present O, not_verifiable N',
    'mirror': 'purged V O',
    'aux': 'purged V O',
    'bucket': 'absent O N, locked O',
    'copies': 'absent O N',
    'file': 'rewritten V, file_gone O',
}
TARGETS_AT_SERVICE = {target for target in ENDS if target.startswith('upstream.')}
POSSIBLE_ENDS = {
    (target, each.split()[0], ASSURANCES[letter])
    for target, row in ENDS.items()
    for each in row.split(', ')
    for letter in each.split()[1:]
}


def kind_of(target):
    return 'file' if is_file(target) else target


def is_target(value):
    return is_file(value) or (isinstance(value, str) and value != 'file' and value in ENDS)


def is_local(target):
    return not target.startswith('upstream.') and target not in ('bucket', 'copies')


KINDS = {
    'request': is_uuid, 'requests': list_of(is_uuid), 'generation': integer_from(1), 'seq': is_count, 'at': is_time,
    'due_at': is_time, 'events_expected_by': is_time, 'until': is_time, 'served_at': is_time, 'subject': is_hash,
    'authorisation': is_hash, 'note': is_hash, 'old_key': is_hash, 'new_key': is_hash, 'report': is_hash,
    'certificate': or_null(is_hash), 'signature': shaped('[0-9a-f]{128}'), 'check': shaped('[0-9a-f]{32}'),
    'copy': shaped('[0-9a-f]{32}'), 'delete_events': is_boolean, 'continued': is_true, 'unnamed': is_true,
    'seen': lambda value: is_attested(value) or is_observed(value), 'expected': list_of(is_expected), 'consumer': is_consumer, 'consumers': are_consumers, 'machine': shaped('[a-z0-9][a-z0-9.-]{0,62}'),
    'origin': one_of('manual upstream restore'),
    'basis': one_of(
        'consent_withdrawn objection no_longer_needed unlawful legal_obligation child_consent consumer_request '
        'deleted_upstream restored_backup other'
    ),
    'decided_by': one_of('data_protection_officer privacy_team legal_team support automatic'),
    'identity': one_of('logged_in answered_at_address document in_person not_checked'),
    'exception': one_of('free_expression legal_obligation public_health archiving legal_claims other'),
    'fence': list_of(is_fence_entry), 'target': is_target, 'result': lambda _: True, 'assurance': lambda _: True,
    'phase': one_of('control verify'), 'outcome': one_of('passed failed'), 'snapshots': list_of(is_snapshot, least=0),
    'cause': one_of('publication recovery adoption repair'), 'key': one_of('fence box restore'),
    'part': one_of('snapshots fence requests fence_key box_key restore_key'),
}  # fmt: skip
KINDS['machines'] = list_of(KINDS['machine'], most=1000)
R = 'request generation '
DECISION = ' decided_by? identity? exception?'
FIELDS = {
    'received': R + 'origin basis subject authorisation delete_events due_at' + DECISION,
    'asked': R + 'subject authorisation due_at identity?', 'answered': R,
    'scoped': R + 'persons distinct_ids recordings quarantined files',
    'held': R + 'reason', 'approved': R, 'cancelled': R, 'sealed': R, 'amended': R + 'basis authorisation?' + DECISION,
    'refused': R + 'reason', 'fencing': R + 'epoch fence continued? served_at?', 'fenced': R + 'epoch',
    'intent': 'requests target',
    'result': 'requests target result assurance rows_before? rows_removed? until? machines?',
    'scan': 'requests phase files bytes needles hits passed_over? left_out?', 'locally_verified': R + 'consumers? expected?',
    'awaiting_upstream': R + 'events_expected_by', 'attention': R + 'target reason', 'reopened': R + 'reason unnamed?',
    'certified': R + 'certificate', 'readmitted': R + 'reason entries', 'acknowledged': R + 'consumer note? seen?',
    'replayed': 'epoch_from epoch_to rows', 'drill': 'outcome steps report', 'publishing': 'snapshots',
    'published': 'cause snapshots', 'key_bound': 'key check', 'differs': 'part items', 'mended': 'part items',
    'key_rotated': 'old_key new_key signature', 'taken_over': 'machine token copy', 'copy_made': 'machine copy',
    'copy_gone': 'copy', 'copy_forgotten': 'copy',
}  # fmt: skip
REASONS = {
    'held': one_of('shared_identifier several_persons too_many'), 'refused': one_of('unknown_subject already_erased'),
    'attention': is_attention, 'reopened': is_attention, 'readmitted': is_hash,
}  # fmt: skip


def is_in_schema(record):
    if not isinstance(record, dict) or not isinstance(record.get('type'), str) or record['type'] not in FIELDS:
        return False
    kind = record['type']
    fields = FIELDS[kind].split() + ['seq', 'at']
    needed = {name for name in fields if not name.endswith('?')}
    given = record.keys() - {'type'}
    if needed - given or given - {name.rstrip('?') for name in fields}:
        return False
    for name in given:
        check = REASONS[kind] if name == 'reason' else KINDS.get(name, is_count)
        if not check(record[name]):
            return False
    if kind == 'publishing' and not record['snapshots']:
        return False
    if kind != 'result':
        return True
    end = (kind_of(record['target']), record['result'], record['assurance'])
    if not all(isinstance(part, str) for part in end) or end not in POSSIBLE_ENDS:
        return False
    return ('until' not in record or record['result'] in ('locked', 'partly_deleted')) and (
        'machines' not in record or record['target'] == 'copies'
    )


@functools.lru_cache(maxsize=100_000)
def read_line(line):
    """The problem of a line by itself, and its record."""
    if len(line) > 2**20:
        return 'too_long', None
    try:
        record = parse(line.decode('utf-8', 'replace'))
    except ValueError:
        return 'not_json', None
    if not is_canonical(record, line):
        return 'not_canonical', None
    return (None, record) if is_in_schema(record) else ('not_in_schema', None)
