import type { Service } from '../../client/service.ts';
import type { Settings } from '../../config/settings.ts';
import type { Clock } from '../../core/clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Database } from '../../mirror/database.ts';
import { changeRequest, findRequest, readBox, type RequestChange } from '../../mirror/erasure-requests.ts';
import { listTargets } from '../../mirror/erasure-targets.ts';
import { openBox, type Box } from './box.ts';
import { requestReason, requestState } from './request-state.ts';
import type { runScan } from '../scan/run-scan.ts';

/** What erasing needs. Whoever has it holds the data folder's lease. */
export type ErasureParts = {
  db: Database;
  ledger: Ledger;
  settings: Settings;
  clock: Clock;
  /** Null where no service is configured: then everything but the service is reached. */
  service: Service | null;
  signal: AbortSignal;
  /** How the data folder is scanned: by a process of its own, unless given. */
  scan?: typeof runScan | undefined;
};

/** The box of a request; undefined once it is sealed. */
export function boxOf({ db, settings }: Pick<ErasureParts, 'db' | 'settings'>, id: string): Box | undefined {
  const sealed = readBox(db, id);
  return sealed && openBox(settings.dataDir, id, sealed);
}

/** Changes a request, and brings its state in line with its facts and targets. Call it inside a transaction. */
export function updateRequest(db: Database, id: string, change: RequestChange): void {
  changeRequest(db, id, change);
  const request = findRequest(db, id);
  if (!request) throw new Error('a request that is not there');
  const targets = listTargets(db, id);
  const state = requestState(request, targets);
  const reason = requestReason(request, state, targets);
  if (state !== request.state || reason !== request.reason) changeRequest(db, id, { state, reason });
}
