import { z } from 'zod';

const count = z.int().min(0).nullish();

/** An answer of bulk deletion. Services of different age leave out different fields; the oldest answer has no body at all. */
const BulkAnswer = z.object({
  persons_found: count,
  persons_deleted: count,
  /** Those that a task deletes later: all of them, where the service works so. */
  persons_queued_for_deletion: count,
  /** A service that does not delete recordings leaves it out. */
  recordings_queued_for_deletion: z.union([z.boolean(), z.int()]).nullish().catch(null),
  /** One entry for each step that failed: a person may have several. */
  deletion_errors: z.array(z.object({ person_uuid: z.guid() })).nullish(),
  ids_not_found: z.array(z.guid()).nullish(),
});

/** What a bulk deletion did: it took every person but these. Uuids are in lower case. */
export type BulkTaken = {
  /** The service could not delete them. */
  failed: ReadonlySet<string>;
  /** No person has them. */
  notFound: ReadonlySet<string>;
  areRecordingsQueued: boolean;
};

/**
 * Reads the answer to a bulk deletion of `sent` persons. Undefined where it leaves open which deletions were taken: it cannot be
 * read, or the persons that it counts are not found = queued + deleted + failed.
 */
export function readBulkAnswer(body: unknown, sent: number): BulkTaken | undefined {
  const answer = BulkAnswer.safeParse(body ?? {});
  if (!answer.success) return undefined;
  const { persons_found, persons_deleted, persons_queued_for_deletion: queued, ...rest } = answer.data;
  const failed = new Set(rest.deletion_errors?.map(({ person_uuid: uuid }) => uuid.toLowerCase()));
  const notFound = new Set(rest.ids_not_found?.map((uuid) => uuid.toLowerCase()));
  const found = sent - notFound.size;
  const taken = (persons_deleted ?? 0) + (queued ?? 0);
  const isCounted = typeof persons_deleted === 'number' || typeof queued === 'number';
  if ((persons_found ?? found) !== found || (isCounted && taken !== found - failed.size)) return undefined;
  return { failed, notFound, areRecordingsQueued: Number(rest.recordings_queued_for_deletion ?? 0) > 0 };
}
