// What the codes of a certificate say, in English. A certificate holds codes only: a corrected sentence here changes none.
// PROOFS.md describes certificates. `verify.mjs` and the program print these words.

/** The version of these words. */
export const wordsVersion = 3;

/** What no erasure by this program can prove, by the code in `not_proven`. */
const notProven = {
  wait_dropped:
    'The service should have deleted the events by the given time. This program did not wait for that time.',
  service_event_store:
    "It is not proven that the service's event store no longer holds the person's events. This program cannot read that store.",
  service_backups:
    "It is not proven that the service's own backups no longer hold the person. This program cannot read these backups.",
  downstream_copies:
    'It is not proven that copies of the published files, made by others, no longer hold the person. Until the given time, the dataset deletions names the rows that their owners have to delete, unless the database of this program is lost or put back.',
  operator_backups:
    'It is not proven that backups of the data folder no longer hold the person. The operator makes these backups, and this program cannot reach them. Where a time is given, the operator says that the last of them is gone by then.',
  block_device:
    'It is not proven that the storage device holds no remnant below the files. Flash memory and some file systems keep old copies of a file, and overwriting the file does not reach these copies.',
};

/** What is not proven of a target that was left as it was, or in part, by its result. */
const notReached = {
  not_deletable_via_api:
    'This target was not reached. The service still holds the data. It offers no way to delete them, or the settings of this program say not to ask for it.',
  not_deletable_by_key:
    'This target was not reached. The service still holds the data, or did when this program last asked. It does not let the key of this program delete them.',
  kept: 'This target was not reached. The request left these data at the service.',
  still_present:
    'This target was not reached. The service still had these data when this program last asked, and the request waits no longer.',
  deletion_requested:
    'It is not proven that this target was reached. The service was asked to delete the session recordings together with the person, and this program has not seen that they are gone.',
  locked:
    'This target was not reached. A lock in the bucket keeps old versions of the published files until the given time, or until it is lifted.',
  partly_deleted:
    'This target was reached in part only. The service says that it deleted events up to the given time. It showed no deletion of the other events for this request. The person is gone there, so none can be requested any more.',
  not_queued:
    'This target was not reached, as far as the service shows. It took the request to delete the events, and then showed no deletion of them for this request. The person is gone there, so none can be requested any more.',
};

/** What is not proven of any other target, by its assurance. */
const belowVerified = {
  not_verifiable: 'It is not proven that this target was reached. This program has no means to check it.',
  asserted_by_upstream:
    'It is not proven that this target was reached. The service says that it was, and this program has no means to check that.',
  observed:
    'It is not proven that this target was reached. This program saw it from outside only: it read no stored bytes that show it.',
};

/** The parts of the summary about the service, by target and result. `{day}` stands for the day on which the target ended. */
const ends = {
  'upstream.person deleted': 'deleted at the service on {day}',
  'upstream.person already_absent': 'already gone at the service',
  'upstream.person still_present': 'still at the service when last asked',
  'upstream.person not_verifiable': 'deletion of the person at the service not verifiable',
  'upstream.events kept': 'events kept, as requested',
  'upstream.events confirmed': 'events deleted, as the service says',
  'upstream.events not_verifiable': 'deletion of the events not verifiable',
  'upstream.events unconfirmed': 'deletion of the events not confirmed',
  'upstream.events partly_deleted': 'only a part of the events was deleted, as the service says',
  'upstream.events not_queued': 'no deletion of the events shown by the service',
  'upstream.recordings deleted': 'session recordings deleted at the service on {day}',
  'upstream.recordings not_deletable_via_api': 'session recordings still at the service',
  'upstream.recordings not_deletable_by_key': 'session recordings still at the service',
  'upstream.recordings still_present': 'session recordings still at the service',
  'upstream.recordings not_verifiable': 'deletion of the session recordings not verifiable',
  'upstream.recordings deletion_requested': 'deletion of the session recordings requested, but not seen',
};

const legalGround = {
  consent_withdrawn: 'Legal ground: Art. 17(1)(b) GDPR. The person withdrew the consent.',
  objection: 'Legal ground: Art. 17(1)(c) GDPR. The person objected to the processing.',
  no_longer_needed: 'Legal ground: Art. 17(1)(a) GDPR. The data are no longer needed.',
  unlawful: 'Legal ground: Art. 17(1)(d) GDPR. The data were processed unlawfully.',
  legal_obligation: 'Legal ground: Art. 17(1)(e) GDPR. A law requires the erasure.',
  child_consent: 'Legal ground: Art. 17(1)(f) GDPR. The data were collected from a child.',
  consumer_request:
    'Legal ground: Section 1798.105 of the California Civil Code (CCPA). The consumer asked for the deletion.',
  deleted_upstream: 'Legal ground: none is recorded. This program followed a deletion at the service.',
  restored_backup:
    'Legal ground: none is recorded. This program repeated an erasure after an older copy had been restored.',
  other: 'Legal ground: no article is recorded. The operator gave a code of its own.',
};

const authorisedBy = {
  manual:
    'Authorised by: somebody with access to this program, who gave a reference. The ledger holds a keyed hash of this reference, not the reference itself.',
  upstream: 'Authorised by: no person. This program made the request, because the service had deleted the person.',
  restore:
    'Authorised by: no person. This program made the request, because an older copy had brought the person back.',
};

const methods = {
  below_clear:
    'Method below "clear" of NIST SP 800-88r2: the program wrote the database and the published files anew without the data. It did not overwrite the blocks of the old files and logs.',
  by_service: 'Method not known: the service deleted the data, and it does not say by which method.',
};

const deciders = {
  data_protection_officer: 'Decided by: the data protection officer, as the operator says.',
  privacy_team: 'Decided by: the privacy team, as the operator says.',
  legal_team: 'Decided by: the legal team, as the operator says.',
  support: 'Decided by: customer support, as the operator says.',
  automatic: 'Decided by: no person. A rule decided, as the operator says.',
};

const identityChecks = {
  logged_in: 'Identity: the person was logged in to the account, as the operator says.',
  answered_at_address: 'Identity: the person answered at an address of the account, as the operator says.',
  document: 'Identity: the person showed a document, as the operator says.',
  in_person: 'Identity: the person was known in person, as the operator says.',
  not_checked: 'Identity: it was not checked that the request came from the person, as the operator says.',
};

const exceptions = {
  free_expression: 'Data were kept under Art. 17(3)(a) GDPR (freedom of expression), as the operator says.',
  legal_obligation: 'Data were kept under Art. 17(3)(b) GDPR (a legal obligation), as the operator says.',
  public_health: 'Data were kept under Art. 17(3)(c) GDPR (public health), as the operator says.',
  archiving: 'Data were kept under Art. 17(3)(d) GDPR (archiving, research or statistics), as the operator says.',
  legal_claims: 'Data were kept under Art. 17(3)(e) GDPR (legal claims), as the operator says.',
  other: 'Data were kept under another exception, as the operator says.',
};

const noRecipients =
  'Recipients (Art. 19 GDPR): none is recorded as told. The dataset deletions names the rows to delete to the recipients that read it.';
const recipients =
  'Recipients (Art. 19 GDPR): the certificate names those that load the published files and had to delete the person too, and when an operator recorded that each of them has. Where it has no time, nothing was recorded before this certificate. The ledger holds what was recorded later. This program has not seen the copies of these recipients, but for tables that it observed.';
const seenAs = {
  attested:
    'Attested: {tables}. The recipient signed a report: in each of these tables its statements found a row that was put there as a control, and nobody who was erased. This program has not seen these tables.',
  observed:
    'Observed: {tables}. This program looked into each of these tables: it found a row that it knew to be there, and by the same statements nobody who was erased. It did not look at free text, and not at the engine’s own files, logs and backups, or what was filled in later.',
};
const notCovered = 'NOT COVERED: {tables}. These tables can hold the person. Nobody has shown that they do not.';
const retention =
  'Retention: the program keeps this certificate and the ledger without a time limit. The operator decides how long they stay.';

const dated = (part, at) => part.replace('{day}', at.slice(0, 10));

/** What was done for a request, in one sentence. It names each target at the service, and says where one was not reached. */
function summaryOf(certificate) {
  const { origin, targets, deleted_upstream_at: deletedAt } = certificate;
  const parts = [dated('Erased in our copy on {day}', certificate.locally_verified_at)];
  const told = [];
  for (const name of ['upstream.person', 'upstream.events', 'upstream.recordings']) {
    const end = targets.find(({ target }) => target === name);
    const part = ends[`${name} ${end?.result}`];
    if (part === undefined) continue;
    told.push(name);
    const isUnasked = end.result === 'kept' && origin !== 'manual';
    const isBefore = name === 'upstream.person' && end.result === 'already_absent' && deletedAt !== null;
    if (isUnasked) parts.push('events left at the service');
    else if (isBefore) parts.push(dated(ends['upstream.person deleted'], deletedAt));
    else parts.push(dated(part, end.ended_at));
  }
  const isLeft = ({ target, assurance }) => assurance === 'not_reached' && !told.includes(target);
  if (targets.some(isLeft)) parts.push('not everything reached');
  if (certificate.not_proven.includes('wait_dropped'))
    parts.push(dated('deletion of the events, due by {day}, not waited for', certificate.events_expected_by));
  const late = certificate.generation > 1 ? 'opened again, and ended after the day when it was due' : 'later than due';
  if (certificate.is_late) parts.push(dated(`${late} ({day})`, certificate.due_at));
  return `${parts.join('; ')}.`;
}

/** What a certificate does not prove: of each target below `verified`, in their order, and then what none can prove. */
function notProvenOf({ targets, not_proven: codes, events_expected_by: expectedBy, stated }) {
  const until = {
    wait_dropped: expectedBy,
    downstream_copies: stated.deletions_list_until,
    operator_backups: stated.backups_until,
  };
  return [
    ...targets
      .filter(({ result, assurance }) => result in notReached || assurance !== 'verified')
      .map((end) => ({
        target: end.target,
        says: notReached[end.result] ?? belowVerified[end.assurance],
        until: end.until ?? null,
      })),
    ...codes.map((code) => ({ target: null, says: notProven[code], until: until[code] ?? null })),
  ];
}

/** What regulators ask and nobody has stated, in one sentence; nothing where all is stated. */
function notStatedOf({ origin, targets, decided_by, identity, exception, stated }) {
  const isKept = targets.some(({ result }) => result === 'kept');
  const asked = [
    [stated.controller === null, 'who the controller is'],
    [origin === 'manual' && decided_by === undefined, 'who decided'],
    [origin === 'manual' && identity === undefined, 'how the identity of the person was checked'],
    [
      isKept && exception === undefined,
      'which exception allows to keep data (Art. 17(3) GDPR, Section 1798.105(d) of the California Civil Code)',
    ],
    [stated.backups_until === undefined, "until when the operator's backups can hold the person"],
  ];
  const missing = asked.filter(([isMissing]) => isMissing).map(([, what]) => what);
  return missing.length === 0 ? [] : [`NOT STATED: ${missing.join('; ')}.`];
}

/** What was seen of the tables of recipients, how and when, and which nobody has covered. A table stands behind its recipient's name. */
function tablesOf(consumers) {
  const named = (tables, consumer, at) => tables.map((table) => `${consumer} ${table}${at ? ` (${at.slice(0, 10)})` : ''}`);
  const seenTables = (assurance) =>
    consumers.flatMap(({ consumer, seen = [] }) =>
      seen.filter((one) => one.assurance === assurance).flatMap(({ tables, at }) => named(tables, consumer, at)),
    );
  const bare = consumers.flatMap(({ consumer, not_covered: tables = [] }) => named(tables, consumer));
  const all = [[seenAs.attested, seenTables('attested')], [seenAs.observed, seenTables('observed')], [notCovered, bare]];
  return all.filter(([, tables]) => tables.length > 0).map(([says, tables]) => says.replace('{tables}', tables.join(', ')));
}

/** What a certificate states for regulators: what is not stated first. */
function statementsOf(certificate) {
  const { basis, origin, targets, consumers, decided_by, identity, exception } = certificate;
  const used = Object.keys(methods).filter((name) => targets.some(({ method }) => method === name));
  const decided = [exceptions[exception], authorisedBy[origin], deciders[decided_by], identityChecks[identity]];
  return [
    ...notStatedOf(certificate),
    legalGround[basis],
    ...decided.filter((sentence) => sentence !== undefined),
    ...used.map((name) => methods[name]),
    consumers.length > 0 ? recipients : noRecipients,
    ...tablesOf(consumers),
    retention,
  ];
}

/**
 * The words of a certificate, which is the object in its JSON. `summary`: one sentence. `notProven`: sentences, each with the
 * target that it is about (null: of the whole) and the time that it gives (null: none). `statements`: sentences for regulators.
 */
export function certificateWords(certificate) {
  return {
    summary: summaryOf(certificate),
    notProven: notProvenOf(certificate),
    statements: statementsOf(certificate),
  };
}
