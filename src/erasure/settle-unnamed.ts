import { provedGone } from './acknowledge.ts';
import type { JobContext } from '../job/job-context.ts';
import { listRequests, type ErasureRequest } from '../mirror/erasure-requests.ts';
import { hasBox } from '../mirror/request-box.ts';
import { findFencedIdentifiers } from '../mirror/fence.ts';
import { purgeDeleted } from '../mirror/purge.ts';
import { findFencedInFiles } from './bound/find-unbound.ts';
import { identityOfFound } from './fence/restore.ts';
import { nameAgain, reopenRequest } from './request/reopen.ts';
import { callAttention, intend, settle } from './request/target-journal.ts';
import { eachTogether, record, together } from './request/together.ts';
import { scanner } from './scan/run-scan.ts';

/**
 * Takes up the open requests that were fenced, and have no identifiers: these were destroyed before a scan opened the request again,
 * or are lost with an older mirror. Where the mirror or a published file holds the person, the request is named by it and goes on
 * as any other. A request that was opened without identifiers ends once a scan finds nothing of it by the fence; until then an
 * operator has to remove what the scan names. The others are ended. Returns their ids: they have to be added again.
 */
export async function settleUnnamed(context: JobContext): Promise<string[]> {
  const { db, signal } = context;
  const { histories } = context.ledger();
  const isNameless = ({ id, verifiedAt, certifiedAt }: ErasureRequest): boolean => {
    const history = histories.of(id);
    if (!history?.fence || certifiedAt !== null || hasBox(db, id)) return false;
    // Ended by its age, or in attention at the service.
    return history.reason !== 'life_exceeded' && !(history.isUnnamed && verifiedAt !== null);
  };
  const nameless = listRequests(db, 'open').filter(isNameless);
  if (nameless.length === 0) return [];
  const fenced = [...(await findFencedIdentifiers(db, signal)), ...(await findFencedInFiles(context))];
  const found = Map.groupBy(fenced, ({ requestId }) => requestId);
  const left = nameless.filter(({ id }) => {
    const own = found.get(id);
    if (!own) return true;
    together(context, (step) => {
      nameAgain(step, id, identityOfFound(own));
      reopenRequest(step, id, 'residue_found');
    });
    return false;
  });
  const isUnnamed = ({ id }: ErasureRequest): boolean => histories.of(id)?.isUnnamed === true;
  await proveUnnamed(context, left.filter(isUnnamed));
  const lost = left.filter((request) => !isUnnamed(request));
  // Nothing more can be proved of it. The fence stays.
  await eachTogether(context, lost, (step, { id, generation }) =>
    record(
      step,
      { type: 'attention', request: id, generation, target: 'mirror', reason: 'life_exceeded' },
      { type: 'sealed', request: id, generation },
    ),
  );
  return lost.map(({ id }) => id);
}

/** Ends what the mirror and the files still have to prove of requests without identifiers. */
async function proveUnnamed(context: JobContext, requests: readonly ErasureRequest[]): Promise<void> {
  if (requests.length === 0) return;
  const { db, clock, settings, signal } = context;
  const { dataDir } = settings;
  intend(context, requests, 'mirror');
  const isPurged = await purgeDeleted(db, clock, signal);
  const { files, bytes, unreadable, foundHere } = await scanner.scan(
    { dataDir, phase: 'verify', subjects: [], fence: true, extraPaths: [] },
    { signal },
  );
  const isWhole = isPurged && unreadable.length === 0;
  const left = new Set(foundHere);
  for (const request of requests) {
    if (!isWhole || left.has(request.id)) {
      callAttention(context, request, 'mirror', 'residue_found');
      continue;
    }
    // The scan compared every identifier with the keyed hashes of the fence.
    const needles = context.ledger().histories.of(request.id)?.fence?.entries ?? 0;
    together(context, (step) => {
      record(step, { type: 'scan', requests: [request.id], phase: 'verify', files, bytes, needles, hits: 0 });
      settle(step, [request], 'mirror', { result: 'purged', assurance: 'observed' });
      record(step, provedGone(step, request));
    });
  }
}
