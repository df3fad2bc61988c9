"""Certificates, by PROOFS.md."""

import unicodedata

from checkpoints import sha256
from json_text import code_units, is_canonical, parse
from records import DAY_MS, exactly, is_time, is_uuid, milliseconds, or_null, shaped

NOT_REACHED = 'kept not_deletable_via_api not_deletable_by_key still_present locked partly_deleted not_queued'.split()
METHODS = {name: 'by_service' for name in ('deleted', 'removed', 'confirmed', 'deletion_requested')} | {
    name: 'below_clear' for name in ('purged', 'rewritten', 'file_gone')
}
WEAKEST_FIRST = ['not_reached', 'not_verifiable', 'asserted_by_upstream', 'observed', 'verified']
NOTHING_TOLD = {'at': None, 'expected': [], 'seen': {}}
NOT_PROVEN = ['service_event_store', 'service_backups', 'downstream_copies', 'operator_backups', 'block_device']


def is_text(value):
    return (
        isinstance(value, str)
        and 1 <= len(value) <= 200
        and all(unicodedata.category(c)[0] != 'C' and unicodedata.category(c) not in ('Zl', 'Zp') for c in value)
    )


is_stated_at_least = exactly(
    controller=or_null(exactly(name=is_text, contact=or_null(is_text))),
    deletions_list_until=is_time,
    program=shaped('[0-9]+\\.[0-9]+\\.[0-9]+'),
    service=or_null(exactly(url=is_text, project=shaped('[A-Za-z0-9_-]{1,200}'))),
)


def is_stated(value):
    if isinstance(value, dict) and 'backups_until' in value:
        backups = value['backups_until']
        return is_time(backups) and is_stated_at_least({k: v for k, v in value.items() if k != 'backups_until'})
    return is_stated_at_least(value)


def last(records, *kinds, **values):
    fitting = (r for r in reversed(records) if r['type'] in kinds and all(r.get(k) == v for k, v in values.items()))
    return next(fitting, None)


def since_last(records, kind):
    places = [place for place, record in enumerate(records) if record['type'] == kind]
    return records[places[-1] :] if places else records


def before_last(records, kind):
    return records[: -len(since_last(records, kind)) or None]


def names(record, request):
    return request is not None and (record.get('request') == request or request in record.get('requests', []))


def derive_certificate(records, origin, stated):
    """The certificate that follows from the good records about a request up to its `certified`; None where there is none."""
    records = since_last(records, 'received')
    received, fenced = last(records, 'received'), last(records, 'fenced')
    fence = fence_length(before_last(records, 'fenced'))
    recent = since_last(records, 'reopened')
    verified, verify = last(recent, 'locally_verified'), last(recent, 'scan', phase='verify')
    results = {record['target']: record for record in records if record['type'] == 'result'}
    if not received or not fenced or fence is None or not verified or not verify or not results:
        return None
    reopened, deleted = last(records, 'reopened'), last(records, 'result', result='deleted', target='upstream.person')
    amended = last(records, 'amended')
    authorised = next((r for r in reversed(records) if r['type'] == 'amended' and 'authorisation' in r), received)
    decision = {}
    for record in [received] + [r for r in records if r['type'] == 'amended']:
        decision |= {name: record[name] for name in ('decided_by', 'identity', 'exception') if name in record}
    awaiting = last(records, 'awaiting_upstream')
    targets = sorted(map(target_of, results.values()), key=target_order)
    ended_at = max([verified['at'], *(target['ended_at'] for target in targets)])
    days = max(0, -((milliseconds(received['at']) - milliseconds(ended_at)) // DAY_MS))
    control = last(recent, 'scan', phase='control')
    deleted_at = deleted and deleted['at']
    expected_by = awaiting and awaiting['events_expected_by']
    return {
        'format_version': 1, 'request': received['request'], 'origin': received['origin'], 'subject': received['subject'],
        'due_at': received['due_at'], 'received_at': received['at'], 'basis': (amended or received)['basis'],
        'authorisation': authorised['authorisation'], 'generation': (reopened or received)['generation'],
        'fenced_at': fenced['at'], 'locally_verified_at': verified['at'], 'deleted_upstream_at': deleted_at,
        'ended_at': ended_at, 'days': days, 'is_late': ended_at > received['due_at'], 'targets': targets,
        'weakest_assurance': targets[0]['assurance'],
        'scan': {'control': control and scan_of(control), 'verify': scan_of(verify)},
        'fence': {'epoch': fenced['epoch'], 'entries': fence},
        'ledger': {
            'origin': origin,
            'entries': {'received': received['seq'], 'fenced': fenced['seq'], 'locally_verified': verified['seq']},
        },
        'events_expected_by': expected_by, 'consumers': consumers_of(records),
        'not_proven': ['wait_dropped'] * is_wait_dropped(results, expected_by, deleted_at) + NOT_PROVEN, 'stated': stated,
    } | decision  # fmt: skip


def target_of(record):
    result = record['result']
    target = {
        'target': record['target'], 'result': result,
        'assurance': 'not_reached' if result in NOT_REACHED else record['assurance'],
        'rows_before': record.get('rows_before'), 'rows_removed': record.get('rows_removed'), 'ended_at': record['at'],
        'method': METHODS.get(result),
    }  # fmt: skip
    if result in ('locked', 'partly_deleted'):
        target['until'] = record.get('until')
    return target | ({'machines': record['machines']} if 'machines' in record else {})


def target_order(target):
    return WEAKEST_FIRST.index(target['assurance']), code_units(target['target'])


def scan_of(record):
    scan = {name: record[name] for name in ('files', 'bytes', 'needles', 'hits')} | {'passed_over': record.get('passed_over', 0)}
    return scan | ({'left_out': record['left_out']} if record.get('left_out', 0) > 0 else {})


def fence_length(records):
    """The length of the last fence with its continuations; None where it has no beginning."""
    length = None
    for record in records:
        if record['type'] == 'fencing':
            before = length if 'continued' in record else 0
            length = None if before is None else before + len(record['fence'])
    return length


def consumers_of(records):
    found, certified, generation = {}, set(), 1
    for record in records:
        if record['type'] == 'reopened':
            found, generation = {}, record['generation']
        if record['type'] == 'locally_verified':
            tables = {one['consumer']: one['tables'] for one in reversed(record.get('expected', []))}
            for name in record.get('consumers', []):
                found[name] = found.get(name, NOTHING_TOLD) | {'expected': tables.get(name, [])}
        if record['type'] == 'acknowledged' and generation not in certified:
            told = found.get(record['consumer'], NOTHING_TOLD)
            seen = {record['seen']['assurance']: record['seen'] | {'at': record['at']}} if 'seen' in record else {}
            found[record['consumer']] = told | {'at': record['at'], 'seen': told['seen'] | seen}
        if record['type'] == 'certified':
            certified.add(record['generation'])
    return [consumer_of(name, found[name]) for name in sorted(found)]


def consumer_of(name, told):
    seen = [told['seen'][kind] for kind in ('attested', 'observed') if kind in told['seen']]
    covered = {table for one in seen for table in one['tables']}
    bare = {*told['expected'], *(table for one in seen for table in one['not_covered'])} - covered
    shown = [{field: value for field, value in one.items() if field != 'not_covered'} for one in seen]
    consumer = {'consumer': name, 'acknowledged_at': told['at']} | ({'seen': shown} if shown else {})
    return consumer | ({'not_covered': sorted(bare)} if bare else {})


def is_wait_dropped(results, expected_by, deleted_at):
    events, person = results.get('upstream.events'), results.get('upstream.person')
    if not events or events['result'] not in ('not_verifiable', 'unconfirmed'):
        return False
    if expected_by is None or events['at'] >= expected_by:
        return False
    return not (person and person['result'] == 'already_absent' and deleted_at is None)


def certificate_problem(data, entries, origin, is_covered):
    """What is wrong with a certificate, by the good entries [(index, record)] and by what good checkpoints cover."""
    try:
        certificate = parse(data.decode('utf-8', 'replace'))
    except ValueError:
        return 'not_a_certificate'
    if not isinstance(certificate, dict) or not is_uuid(certificate.get('request')):
        return 'not_a_certificate'
    if certificate.get('format_version') != 1 or certificate['format_version'] is True:
        return 'not_a_certificate'
    request, generation, digest = certificate['request'], certificate.get('generation'), sha256(data).hex()
    own = [(place, index, record) for place, (index, record) in enumerate(entries) if names(record, request)]
    certified = [each for each in own if each[2]['type'] == 'certified' and each[2]['certificate'] is not None]
    certified = [each for each in certified if each[2]['generation'] == generation and generation is not True]
    if not certified:
        return 'not_on_ledger'
    bearing = [each for each in certified if each[2]['certificate'] == digest]
    if not bearing:
        return 'other_certificate'
    right = [each for each in bearing if follows(certificate, data, [r for p, _, r in own if p < each[0]], origin)]
    if not right:
        return 'says_otherwise'
    if not any(is_covered(index) for _, index, _ in right):
        return 'unsigned_certificate'
    return 'superseded' if speaks_against(entries, request, bearing[0][1], is_covered) else None


def follows(certificate, data, records, origin):
    stated = certificate.get('stated')
    derived = derive_certificate(records, origin, stated)
    return derived is not None and is_stated(stated) and is_canonical(derived, data)


def speaks_against(entries, request, first, is_covered):
    """Whether later words speak against a certificate, which was first certified by the entry of that number."""
    words, differing = [], {}
    for index, record in entries:
        if record['type'] in ('reopened', 'attention', 'readmitted') and record['request'] == request:
            words.append(index)
        if record['type'] == 'differs':
            differing[record['part']] = index
        if record['type'] == 'mended' and is_covered(index):
            differing.pop(record['part'], None)
    return any(index > first for index in [*words, *differing.values()])
