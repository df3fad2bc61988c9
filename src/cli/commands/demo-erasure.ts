import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from '../../app.ts';
import { AppError } from '../../core/errors.ts';
import { openDatabase } from '../../mirror/database.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { ErasureJobSurroundings } from '../../worker/job-parts.ts';
import type { CommandContext } from '../context.ts';
import { serviceJob } from '../service-job.ts';
import { syncNow } from './sync.ts';

/** What erasing some people of the demo came to. */
export type DemoErasure = {
  people: number;
  filesRewritten: number;
  /** Rows of the mirror and of published files that held them. */
  rowsRemoved: number;
  /** What the same scan found before and after. */
  foundBefore: number;
  foundAfter: number;
  /** Rows that the fence kept out at the next sync, of people who came back. */
  keptOut: number;
  /** Whether an older copy of the mirror was let in. */
  olderCopy: 'refused' | 'let in';
};

const people = 5;
const cameBack = 2;

/** Erases some people, lets some of them come back at the service, and tries an older copy of the mirror. */
export async function eraseSome(app: App, context: CommandContext, sandbox: Sandbox): Promise<DemoErasure> {
  const { addRequests } = await import('../../erasure/requests.ts');
  const { runEraseJob } = await import('../../worker/erase-job.ts');
  const { runReconcileJob } = await import('../../worker/reconcile-job.ts');
  const job = serviceJob(app, context);
  const older = mkdtempSync(join(tmpdir(), 'analytics-mirror-older-'));
  try {
    await app.database().backup(join(older, 'mirror.db'));
    const uuids = [...sandbox.living()].slice(100, 100 + people).map(({ uuid }) => uuid);
    const foundBefore = await scan(job, uuids);
    const authority = { basis: 'consent_withdrawn', by: 'demo', deleteEvents: true };
    const given = uuids.map((value) => ({ kind: 'uuid', value }) as const);
    await runEraseJob(job, async (parts) => {
      await addRequests(parts, given, authority);
      return { outcome: 'done', counts: {} };
    });
    const { erasure } = await runReconcileJob(job, undefined);
    const foundAfter = await scan(job, uuids);
    for (const uuid of uuids.slice(0, cameBack)) sandbox.act({ do: 'resurrect', uuid });
    const { passes } = await syncNow(app, context, { datasets: ['persons'], mode: 'full', resume: true });
    return {
      people: erasure.fenced,
      filesRewritten: erasure.filesRewritten,
      rowsRemoved: erasure.rowsErased + erasure.rowsRemoved,
      foundBefore,
      foundAfter,
      keptOut: passes.reduce((sum, { rowsFenced }) => sum + rowsFenced, 0),
      olderCopy: await tryOlderCopy(app, older),
    };
  } finally {
    rmSync(older, { recursive: true });
  }
}

/** How many pieces of these people a scan of everything finds, while their values are known. */
async function scan(job: ErasureJobSurroundings, uuids: readonly string[]): Promise<number> {
  const { scanRequests } = await import('../../erasure/scan-requests.ts');
  const { runEraseJob } = await import('../../worker/erase-job.ts');
  const given = uuids.map((value) => ({ kind: 'uuid', value }) as const);
  const { report } = await runEraseJob(job, async (parts) => ({
    outcome: 'done',
    counts: {},
    ...(await scanRequests(parts, given, [])),
  }));
  return report.subjects.reduce((sum, { hits }) => sum + hits, 0);
}

/** Puts the older mirror.db beside the ledger of today, in a folder of its own. */
async function tryOlderCopy({ settings, clock }: App, older: string): Promise<DemoErasure['olderCopy']> {
  const { refuseRestored } = await import('../../erasure/restore-guard.ts');
  cpSync(join(settings.dataDir, 'ledger'), join(older, 'ledger'), { recursive: true });
  const db = openDatabase(older, clock);
  try {
    refuseRestored(db, older);
    return 'let in';
  } catch (error) {
    if (error instanceof AppError) return 'refused';
    throw error;
  } finally {
    db.close();
  }
}
