import { z } from 'zod';
import { identifierKinds } from '../../contract/identity.ts';
import { encodings } from './encoded-forms.ts';

/** The mirror's file, as places name it. */
export const mirrorPlace = 'mirror.db';

const texts = z.array(z.string()).readonly();
const count = z.int().min(0);

/** One subject to look for. All but `request` is personal data. */
const ScanSubject = z.strictObject({
  request: z.string(),
  identity: z.strictObject({ person_uuid: texts, person_id: texts, distinct_id: texts, recording_id: texts }),
  /** Other texts of the subject: plain texts, and JSON texts, of which every text within is searched for. */
  values: texts,
});
export type ScanSubject = z.infer<typeof ScanSubject>;

/**
 * What to scan, and the subjects to look for. `control`, before a purge, ends as soon as each subject has been found;
 * `verify` reads everything. `fence`: every identifier that stands anywhere is also looked up in the fence (`verify` only).
 * `extraPaths`: files and folders outside the data folder.
 */
export const ScanTask = z.strictObject({
  dataDir: z.string(),
  phase: z.enum(['control', 'verify']),
  subjects: z.array(ScanSubject),
  fence: z.boolean(),
  extraPaths: texts,
  /** Files of the data folder, relative to it, that are known to hold no person: they are not read. */
  passedOver: texts.optional(),
});
export type ScanTask = z.infer<typeof ScanTask>;

/**
 * What a scan found, without any personal data. A place is a path relative to the data folder (an extra path as it was given),
 * with `:column` where a column was decoded.
 */
export const ScanReport = z.strictObject({
  /** Files whose bytes were read, and their bytes. */
  files: count,
  bytes: count,
  /** Rows that were decoded, of the mirror and of Parquet files. */
  rows: count,
  encodings: z.array(z.enum(encodings)),
  subjects: z.array(
    z.strictObject({
      request: z.string(),
      /** Pieces of twelve bytes searched for, and how many of them rows of other persons hold too: those prove nothing. */
      needles: count,
      shared: count,
      /** Texts that cannot be searched for: shorter than a piece, or only a time. */
      tooShort: count,
      hits: count,
      /** The first thousand. */
      places: z.array(
        z.strictObject({
          place: z.string(),
          how: z.enum(['decoded', 'raw']),
          encoding: z.enum(encodings).nullable(),
          hits: count,
        }),
      ),
    }),
  ),
  /** Identifiers that the fence should have kept out: the first thousand places. */
  fenced: z.array(z.strictObject({ place: z.string(), kind: z.enum(identifierKinds), hits: count })),
  /** What could not be read, in whole or in part. The scan proves nothing there. */
  unreadable: z.array(z.strictObject({ place: z.string(), reason: z.string() })),
  seconds: z.number(),
});
export type ScanReport = z.infer<typeof ScanReport>;

/** What the scanner's process says on standard error when it fails, without any personal data. */
export const ScanFailure = z.strictObject({ message: z.string(), hint: z.string().nullable() });
export type ScanFailure = z.infer<typeof ScanFailure>;
