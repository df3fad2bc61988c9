import type { FixedTarget } from '../../ledger/target.ts';
import type { Assurance, bases, Origin, TargetResult } from '../../ledger/vocabulary.ts';

/** How a target was erased, in the terms of NIST SP 800-88r2. */
export const methods = ['clear', 'below_clear', 'by_service'] as const;
export type Method = (typeof methods)[number];

/** Results that are said together with a time. */
export const datedResults = ['locked', 'partly_deleted'] as const satisfies TargetResult[];
export type DatedResult = (typeof datedResults)[number];

/** What there has to be a sentence for. */
type CertificateSentences = Readonly<{
  belowVerified: Readonly<Record<Exclude<Assurance, 'verified'>, string>>;
  notReached: Readonly<Partial<Record<TargetResult, string>> & Record<DatedResult, string>>;
  summary: Readonly<Record<string, string> & Partial<Record<`${FixedTarget} ${TargetResult}`, string>>>;
  legalGround: Readonly<Record<(typeof bases)[number], string>>;
  authorisedBy: Readonly<Record<Origin, string>>;
  method: Readonly<Record<Method, string>>;
}> &
  Readonly<Record<string, unknown>>;

/** The version of the format of certificates. */
export const certificateVersion = 1;

/**
 * The fixed sentences of a certificate. They are part of the bytes whose SHA-256 is on the ledger. `{day}` in a part of the summary
 * stands for a day.
 */
export const certificateSentences = {
  // What no erasure by this program can prove.
  neverProven: {
    service_event_store:
      "It is not proven that the service's event store no longer holds the person's events. This program cannot read that store.",
    service_backups:
      "It is not proven that the service's own backups no longer hold the person. This program cannot read these backups.",
    operator_backups:
      'It is not proven that backups of the data folder no longer hold the person. The operator makes these backups, and this program cannot reach them.',
    block_device:
      'It is not proven that the storage device holds no remnant below the files. Flash memory and some file systems keep old copies of a file, and overwriting the file does not reach these copies.',
  },
  // Stands beside the time until which the dataset deletions lists the person's rows.
  downstreamCopies:
    'It is not proven that copies of the published files, which others have made, no longer hold the person. Until the given time the dataset deletions names the rows that the owners of such copies have to delete. After that time it no longer names them.',
  // What is not proven of a target, by its assurance.
  belowVerified: {
    not_verifiable: 'It is not proven that this target was reached. This program has no means to check it.',
    asserted_by_upstream:
      'It is not proven that this target was reached. The service says that it was, and this program has no means to check that.',
    observed:
      'It is not proven that this target was reached. This program saw it from outside only: it read no stored bytes that show it.',
  },
  // What is said of a target that was left as it was, by its result.
  notReached: {
    not_deletable_via_api:
      'This target was not reached. The service still holds the data. It offers no way to delete them, or the settings of this program say not to ask for it.',
    not_deletable_by_key:
      'This target was not reached. The service still holds the data, or did when this program last asked. It does not let the key of this program delete them.',
    kept: 'This target was not reached. The request left these data at the service.',
    still_present:
      'This target was not reached. The service still had the person when this program last asked, and the time of the request is over.',
    deletion_requested:
      'It is not proven that this target was reached. The service was asked to delete the session recordings together with the person, and this program has not seen that they are gone.',
    locked:
      'This target was not reached. A lock in the bucket keeps old versions of the published files until the given time, or until it is lifted.',
    partly_deleted:
      'This target was reached in part only. The service says that it deleted events up to the given time. It showed no deletion of the other events for this request. The person is gone there, so none can be requested any more.',
    not_queued:
      'This target was not reached, as far as the service shows. It took the request to delete the events, and then showed no deletion of them for this request. The person is gone there, so none can be requested any more.',
  },
  // The parts of the summary: what begins it, by target and result, and what ends it.
  summary: {
    here: 'Erased here on {day}',
    'upstream.person deleted': 'deleted at the service on {day}',
    deleted_before: 'deleted at the service on {day}',
    'upstream.person already_absent': 'already gone at the service',
    'upstream.person still_present': 'still at the service when last asked',
    'upstream.events kept': 'events kept, as requested',
    kept_unasked: 'events left at the service',
    'upstream.events confirmed': 'events deleted, as the service says',
    'upstream.events not_verifiable': 'deletion of the events not verifiable',
    'upstream.events unconfirmed': 'deletion of the events not confirmed',
    'upstream.events partly_deleted': 'only a part of the events was deleted, as the service says',
    'upstream.events not_queued': 'no deletion of the events shown by the service',
    'upstream.recordings deleted': 'session recordings deleted at the service on {day}',
    'upstream.recordings not_deletable_via_api': 'session recordings still at the service',
    'upstream.recordings not_deletable_by_key': 'session recordings still at the service',
    'upstream.recordings not_verifiable': 'deletion of the session recordings not verifiable',
    'upstream.recordings deletion_requested': 'deletion of the session recordings requested, but not seen',
    not_reached: 'not everything reached',
    wait_dropped: 'deletion of the events, due by {day}, not waited for',
    late: 'later than due ({day})',
  },
  waitDropped: 'The service should have deleted the events by the given time. This program did not wait for that time.',
  legalGround: {
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
  },
  authorisedBy: {
    manual:
      'Authorised by: an operator, under a reference. The ledger holds a keyed hash of this reference, not the reference itself.',
    upstream: 'Authorised by: no person. This program made the request, because the service had deleted the person.',
    restore:
      'Authorised by: no person. This program made the request, because an older copy had brought the person back.',
  },
  method: {
    clear:
      'Method "clear" of NIST SP 800-88r2, within files: the program overwrote the freed space of the database and wrote the database anew.',
    below_clear:
      'Method below "clear" of NIST SP 800-88r2: the program wrote the file anew without the data and deleted the old file, without overwriting the blocks of the old file.',
    by_service: 'Method not known: the service deleted the data, and it does not say by which method.',
  },
  exception:
    'Data were kept. Which exception allows this (Art. 17(3) GDPR, Section 1798.105(d) of the California Civil Code) is not recorded.',
  identityCheck: 'Identity: how the identity of the person was checked is not recorded.',
  recipients:
    'Recipients (Art. 19 GDPR): none is recorded as told. The dataset deletions names the rows to delete to the recipients that read it.',
  consumers:
    'Recipients (Art. 19 GDPR): "consumers" names those that load the published files and had to delete the person too, and when an operator recorded that each of them has. Where it has no time, nothing was recorded before this certificate. The ledger holds what was recorded later. This program has not seen the copies of consumers.',
  retention:
    'Retention: the program keeps this certificate and the ledger without a time limit. The operator decides how long they stay.',
} as const satisfies CertificateSentences;
