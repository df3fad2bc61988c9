"""The order of records, by RECORDS.md."""

from records import TARGETS_AT_SERVICE, is_local


FIRST = ('received', 'asked')
BEGUN = ('received', 'scoped', 'held', 'approved', 'fencing')
FENCED = ('fenced', 'verified', 'reopened')
ENDED = ('certified', 'sealed')
ALL = BEGUN + FENCED + ENDED
MAY_COME_IN = {
    'scoped': BEGUN + ('reopened',), 'held': BEGUN[1:], 'approved': ('scoped', 'held', 'approved'), 'amended': BEGUN + FENCED,
    'refused': BEGUN + ('refused',), 'cancelled': BEGUN + ('asked', 'cancelled'), 'answered': ('asked', 'answered'), 'fencing': BEGUN[1:] + FENCED,
    'fenced': ('fencing', 'fenced'), 'intent': FENCED, 'result': FENCED, 'awaiting_upstream': FENCED,
    'locally_verified': FENCED, 'certified': ('verified', 'certified'), 'sealed': ('certified', 'refused', 'cancelled', 'sealed'),
    'reopened': FENCED + ENDED, 'readmitted': FENCED + ENDED, 'acknowledged': FENCED + ENDED, 'attention': ALL,
    'scan': ALL + ('refused', 'cancelled', 'asked', 'answered'),
}  # fmt: skip
LEADS_TO = {
    'held': 'held', 'approved': 'approved', 'refused': 'refused', 'cancelled': 'cancelled', 'answered': 'answered', 'fencing': 'fencing',
    'fenced': 'fenced', 'locally_verified': 'verified', 'certified': 'certified', 'sealed': 'sealed', 'reopened': 'reopened',
}  # fmt: skip
NEEDS_INTENT = ('deleted', 'removed', 'purged', 'rewritten', 'deletion_requested')


class Request:
    def __init__(self, phase):
        self.phase, self.generation, self.fencing_epoch = phase, 1, None
        self.was_fenced = self.is_scanned = self.was_found = self.life_exceeded = self.has_fault = False
        self.intents, self.last_results, self.targets_reached = set(), {}, set()


class Order:
    """The order of records. In a bundle epochs may be missing, and copies are not judged."""

    def __init__(self, in_bundle=False):
        self.in_bundle, self.epoch, self.requests = in_bundle, 0, {}
        self.publishing, self.published = {}, {}
        self.copies, self.last_taken_over = {}, None

    def problem(self, record):
        kind = record['type']
        names = [record['request']] if 'request' in record else record.get('requests', [])
        problems = [self.problem_of_request(record, name) for name in names]
        self.make_present(record)
        if kind == 'replayed' and not record['epoch_from'] <= record['epoch_to'] <= self.epoch:
            problems.append('wrong_epoch')
        if kind in ('taken_over', 'copy_made', 'copy_gone', 'copy_forgotten'):
            self.take_copy(kind, record['copy'])
        if kind == 'publishing':
            for each in record['snapshots']:
                self.publishing[each['dataset'], each['snapshot_id']] = each['manifest']
        if kind == 'published':
            problems += [self.problem_of_snapshot(record['cause'], each) for each in record['snapshots']]
        return next((problem for problem in problems if problem), None)

    def take_copy(self, kind, copy):
        if kind != 'copy_forgotten':
            self.copies[copy] = kind
        elif self.copies.get(copy, 'copy_gone') != 'copy_gone':
            self.copies[copy] = kind
        if kind == 'taken_over':
            self.last_taken_over = copy

    def problem_about(self, record, name):
        """What is wrong with a record about one request, the others left aside."""
        problem = self.problem_of_request(record, name)
        self.make_present(record)
        return problem

    def make_present(self, record):
        is_next = record['type'] == 'fenced' and self.is_next(record['epoch'])
        self.epoch = record['epoch'] if is_next else self.epoch

    def is_next(self, epoch):
        return epoch > self.epoch if self.in_bundle else epoch == self.epoch + 1

    def problem_of_snapshot(self, cause, snapshot):
        key, manifest = (snapshot['dataset'], snapshot['snapshot_id']), snapshot['manifest']
        allowed = [self.publishing.pop(key)] if key in self.publishing else []
        if cause == 'recovery' and allowed:
            allowed.append(self.published.get(key))
        self.published[key] = manifest
        return 'published_without_intent' if cause in ('publication', 'recovery') and manifest not in allowed else None

    def problem_of_request(self, record, name):
        request = self.requests.get(name)
        if request is None:
            request = self.requests[name] = Request(record['type'])
            problem = 'unknown_request'
            if record['type'] in FIRST:
                problem = None if record['generation'] == 1 else 'wrong_generation'
        elif request.has_fault:
            return None
        else:
            problem = self.judge(request, record)
        request.has_fault = problem is not None
        return problem

    def judge(self, request, record):
        kind = record['type']
        if kind in FIRST:
            return 'received_twice'
        is_next = kind == 'reopened' and request.phase != 'reopened'
        if 'generation' in record and record['generation'] != request.generation + is_next:
            return 'wrong_generation'
        if not self.may_come(request, record):
            return 'wrong_order'
        problem = self.epoch_problem(request, record) or self.rule_problem(request, record)
        if not problem:
            self.apply(request, record)
        return problem

    @staticmethod
    def may_come(request, record):
        kind = record['type']
        if kind in ('refused', 'cancelled') and request.was_fenced:
            return False
        if kind == 'fencing' and 'continued' in record:
            return request.phase == 'fencing'
        if kind == 'certified' and record['certificate'] is None and request.phase in FENCED:
            return True
        if kind == 'sealed' and request.life_exceeded:
            return True
        return request.phase in MAY_COME_IN[kind]

    def epoch_problem(self, request, record):
        epoch = record.get('epoch')
        if record['type'] == 'fencing':
            is_right = self.is_next(epoch) and ('continued' not in record or epoch == request.fencing_epoch)
        else:
            is_right = record['type'] != 'fenced' or epoch == request.fencing_epoch
        return None if is_right else 'wrong_epoch'

    def rule_problem(self, request, record):
        kind, target, result = record['type'], record.get('target'), record.get('result')
        if kind == 'result' and result in NEEDS_INTENT:
            if target not in request.intents and request.last_results.get(target) != result:
                return 'result_without_intent'
        has_certificate = kind == 'certified' and record['certificate'] is not None
        if (kind == 'locally_verified' or has_certificate) and not request.is_scanned:
            return 'verified_without_scan'
        if has_certificate and request.intents:
            return 'certified_with_open_intent'
        if has_certificate and not TARGETS_AT_SERVICE | {'mirror'} <= request.targets_reached:
            return 'certified_without_target'
        if kind == 'result' and target in ('mirror', 'aux') and record['assurance'] == 'verified' and not request.was_found:
            return 'verified_without_control'
        if kind == 'result' and target == 'copies' and not self.in_bundle:
            gone = ('copy_gone',) if record['assurance'] == 'observed' else ('copy_gone', 'copy_forgotten')
            others = [state for copy, state in self.copies.items() if copy != self.last_taken_over]
            if not all(state in gone for state in others):
                return 'copy_elsewhere'
        return None

    @staticmethod
    def apply(request, record):
        kind, target = record['type'], record.get('target')
        request.phase = LEADS_TO.get(kind, request.phase)
        if kind == 'scoped' and not request.was_fenced:
            request.phase = 'scoped'
        if kind == 'fencing':
            request.fencing_epoch = record['epoch']
        if kind == 'fenced':
            request.was_fenced, request.is_scanned = True, False
        if kind == 'reopened':
            request.is_scanned = False
            if record['generation'] > request.generation:
                request.generation, request.last_results = record['generation'], {}
        if kind == 'intent':
            request.intents.add(target)
            if is_local(target):
                request.is_scanned = False
                request.phase = 'fenced' if request.phase == 'verified' else request.phase
        if kind == 'result':
            request.intents.discard(target)
            request.last_results[target] = record['result']
            request.targets_reached.add(target)
        if kind == 'scan' and record['phase'] == 'verify':
            request.is_scanned = record['hits'] == 0 and record['files'] > 0 and record['needles'] > 0
        if kind == 'scan' and record['phase'] == 'control' and record['hits'] > 0:
            request.was_found = True
        if kind == 'attention' and record['reason'] == 'life_exceeded':
            request.life_exceeded = True
