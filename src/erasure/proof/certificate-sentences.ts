import type { Assurance } from '../../ledger/vocabulary.ts';

/** The fixed sentences of one format version: they say what a certificate does not prove. */
export type CertificateSentences = Readonly<{
  /** What no erasure by this program can prove. */
  neverProven: Readonly<
    Record<'service_event_store' | 'service_backups' | 'operator_backups' | 'block_device', string>
  >;
  /** Stands beside the time until which the dataset deletions lists the person's rows. */
  downstreamCopies: string;
  /** What is not proven of a target, by its assurance. */
  belowVerified: Readonly<Record<Exclude<Assurance, 'verified'>, string>>;
  /** What is said of a target that was left as it was, by its result. */
  notReached: Readonly<
    Record<'not_deletable_via_api' | 'kept' | 'still_present', string> & Partial<Record<'deletion_requested', string>>
  >;
}>;

/** The sentences of version 2. Later versions change some of them. */
const plainSentences = {
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
  downstreamCopies:
    'It is not proven that copies of the published files, which others have made, no longer hold the person. Until the given time the dataset deletions names the rows that the owners of such copies have to delete. After that time it no longer names them.',
  belowVerified: {
    not_verifiable: 'It is not proven that this target was reached. This program has no means to check it.',
    asserted_by_upstream:
      'It is not proven that this target was reached. The service says that it was, and this program has no means to check that.',
    observed:
      'It is not proven that this target was reached. This program saw it from outside only: it read no stored bytes that show it.',
  },
  notReached: {
    not_deletable_via_api:
      'This target was not reached. The service still holds the data, and it offers no way to delete them.',
    kept: 'This target was not reached. The request said that the data have to stay.',
    still_present:
      'This target was not reached. The service still had the person when this program last asked, and the time of the request is over.',
  },
} as const satisfies CertificateSentences;

/**
 * The sentences of each format version. They are part of the bytes whose SHA-256 is on the ledger, so a version that was
 * ever issued never changes and never goes. Other words are a new entry here: new certificates are issued in the last one.
 */
export const certificateSentences = {
  1: {
    neverProven: {
      service_event_store: "That the service's event store no longer holds the person's events.",
      service_backups: "That the service's own backups no longer hold the person.",
      operator_backups:
        'That backups of the data folder, which whoever runs this program has made, no longer hold the person.',
      block_device:
        'That no remnant is left on the storage device below the files: on flash memory, and where the file system keeps copies, overwriting does not reach the old place.',
    },
    downstreamCopies:
      'That copies which others took of the published files no longer hold the person. The dataset deletions tells them until the time given; after it, nothing does.',
    belowVerified: {
      not_verifiable: 'That this target is reached: nobody here can tell.',
      asserted_by_upstream: 'That this target is reached: the service says so, and nobody here can look.',
      observed: 'That this target is reached: it looked so from outside, and no stored bytes were read that show it.',
    },
    notReached: {
      not_deletable_via_api: 'This target is not reached: the service still has it, and offers no way to delete it.',
      kept: 'This target is not reached: it was left in place, as the request said.',
      still_present:
        'This target is not reached: the person was still there when the service was last asked, and the time of the request was over.',
    },
  },
  2: plainSentences,
  3: {
    ...plainSentences,
    notReached: {
      ...plainSentences.notReached,
      not_deletable_via_api:
        'This target was not reached. The service still holds the data. It offers no way to delete them, or the settings of this program say not to ask for it.',
      deletion_requested:
        'It is not proven that this target was reached. The service was asked to delete the session recordings together with the person, and this program has not seen that they are gone.',
    },
  },
} as const satisfies Readonly<Record<number, CertificateSentences>>;

/** A format version of certificates. */
export type FormatVersion = keyof typeof certificateSentences;

/** Every format version, the oldest first. */
export const formatVersions = Object.keys(certificateSentences).map(Number) as FormatVersion[];

/** The format version in which certificates are issued now. */
export const newestVersion = Math.max(...formatVersions) as FormatVersion;
