import type { Database } from '../../src/mirror/database.ts';
import type { ErasureRequest } from '../../src/mirror/erasure-requests.ts';
import { assignmentsOf } from '../../src/mirror/tables.ts';

/** Writes columns of a request's row as they are given: what only the ledger's entries change in the program. */
export function editRequest(db: Database, id: string, change: Partial<Omit<ErasureRequest, 'deleteEvents'>>): void {
  db.prepare(`UPDATE erasure_requests SET ${assignmentsOf(change)} WHERE id = @id`).run({ ...change, id });
}
