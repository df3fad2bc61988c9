import type { Database } from '../../src/mirror/database.ts';
import { insertRequest } from '../../src/mirror/erasure-requests.ts';

type Planted = Parameters<typeof insertRequest>[1];

/** Puts a request into the mirror, which no ledger has: an objection that was due when it was received, where nothing else is given. */
export function plantRequest(db: Database, request: Pick<Planted, 'id' | 'receivedAt'> & Partial<Planted>): void {
  insertRequest(db, {
    generation: 1,
    isAccess: false,
    origin: 'manual',
    basis: 'objection',
    authorisedBy: 'dpo',
    deleteEvents: true,
    dueAt: request.receivedAt,
    box: null,
    ...request,
  });
}
