import { provedGone } from './acknowledge.ts';
import { isoTime } from '../core/clock.ts';
import { identityOf } from '../contract/identity.ts';
import type { JobContext } from '../job/job-context.ts';
import { listRequests, hasBox, updateRequest } from '../mirror/erasure-requests.ts';
import { findFencedIdentifiers } from '../mirror/fence.ts';
import { purgeDeleted } from '../mirror/purge.ts';
import { findFencedInFiles } from './bound/find-in-files.ts';
import { nameAgain, reopenRequest } from './request/reopen.ts';
import { callAttention, intend, settle } from './request/target-journal.ts';
import { scanner } from './scan/run-scan.ts';

/**
 * Takes up the requests that a scan has opened again after their identifiers were destroyed. Where the mirror or a published
 * file holds the person, the request is named by it and goes on as any other. Otherwise it ends once a scan finds nothing of it
 * by the fence; until then an operator has to remove what the scan names.
 */
export async function settleUnnamed(context: JobContext): Promise<void> {
  const { db, clock, settings, signal } = context;
  const ledger = context.ledger();
  const unnamed = listRequests(db, 'open').filter(
    ({ id, generation, fencedAt, verifiedAt }) =>
      generation > 1 && fencedAt !== null && verifiedAt === null && !hasBox(db, id),
  );
  if (unnamed.length === 0) return;
  const fenced = [...(await findFencedIdentifiers(db, signal)), ...(await findFencedInFiles(context))];
  const found = Map.groupBy(fenced, ({ requestId }) => requestId);
  const nameless = unnamed.filter((request) => {
    const own = found.get(request.id);
    if (!own) return true;
    db.transaction(() => {
      const valuesOf = (kind: string): string[] => own.flatMap((each) => (each.kind === kind ? [each.value] : []));
      nameAgain(context, request.id, identityOf(valuesOf));
      ledger.append([reopenRequest(context, request, 'residue_found')]);
    }).immediate();
    return false;
  });
  if (nameless.length === 0) return;
  intend(context, nameless, 'mirror');
  const isPurged = await purgeDeleted(db, clock, signal);
  const { dataDir } = settings;
  const report = await scanner.scan(
    { dataDir, phase: 'verify', subjects: [], fence: true, extraPaths: [] },
    { signal },
  );
  const { files, bytes, unreadable } = report;
  const isWhole = isPurged && unreadable.length === 0;
  const left = new Set(report.fencedFor.flatMap(({ requests }) => requests));
  for (const request of nameless) {
    if (!isWhole || left.has(request.id)) callAttention(context, request, 'mirror', 'residue_found');
    else {
      // The scan compared every identifier with the keyed hashes of the fence.
      const needles = ledger.histories.of(request.id)?.fence?.entries ?? 0;
      ledger.append([{ type: 'scan', requests: [request.id], phase: 'verify', files, bytes, needles, hits: 0 }]);
      settle(context, [request], 'mirror', { result: 'purged', assurance: 'observed' });
      ledger.append([provedGone(context, request)]);
    }
    const change = isWhole && !left.has(request.id) ? { verifiedAt: isoTime(clock.now()) } : {};
    updateRequest(db, request.id, change);
  }
}
