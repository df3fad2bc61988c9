import { unionOf } from '../contract/identity.ts';
import type { AttentionReason, LedgerRecord } from '../ledger/record.ts';
import type { Database } from '../mirror/database.ts';
import type { Box } from './box.ts';
import { updateRequest } from './erasure-parts.ts';
import { nextGeneration, type Course } from './request-courses.ts';

/**
 * Makes a request that was fenced before begin anew here; what the service has answered stays. It was approved, if it
 * had to be, when it was fenced the first time. Call it inside a transaction.
 */
export function reopenRequest(
  db: Database,
  id: string,
  { generation, at, box }: { generation: number; at: string; box?: Buffer },
): void {
  updateRequest(db, id, {
    generation,
    scopedAt: at,
    approvedAt: at,
    heldAt: null,
    refusedAt: null,
    cancelledAt: null,
    fencedAt: null,
    verifiedAt: null,
    certifiedAt: null,
    sealedAt: null,
    ...(box && { box }),
  });
}

/** What the ledger has to be told of a request that begins anew: nothing when it knows already. */
export function reopenedRecords(request: string, course: Course, reason: AttentionReason): LedgerRecord[] {
  const generation = nextGeneration(course);
  return generation > course.generation ? [{ type: 'reopened', request, generation, reason }] : [];
}

/** Two boxes of one request as one. */
export function unionOfTwo(box: Box, found: Box): Box {
  return {
    ...box,
    identity: unionOf([box.identity, found.identity]),
    values: [...new Set([...box.values, ...found.values])],
  };
}
