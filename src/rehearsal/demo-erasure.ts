import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copyFiles, reportsFolder } from '../core/folder.ts';
import type { App } from '../app/app.ts';
import { bundleText, writeForOthers } from '../audit/bundle.ts';
import { certificatePage } from '../audit/certificate-page.ts';
import { findCertificate } from '../audit/issued-certificates.ts';
import { gatherReport } from '../audit/report-data.ts';
import { reportPage } from '../audit/report-page.ts';
import { verifyDataFolder } from '../audit/verify-data-folder.ts';
import { writeRequestedFile } from '../core/atomic-file.ts';
import { AppError } from '../core/errors.ts';
import { refuseRestored, runEraseJob } from '../erasure/fence/restore-guard.ts';
import { addRequests } from '../erasure/receive.ts';
import { readLedger } from '../ledger/ledger.ts';
import { openDatabase } from '../mirror/database.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { ExportJobResult } from '../worker/export-job.ts';
import { runReconcileJob } from '../worker/reconcile-job.ts';
import type { SyncJob, SyncJobResult } from '../worker/sync-job.ts';

/** The result of erasing some persons of the demo. */
export type DemoErasure = {
  people: number;
  filesRewritten: number;
  /** Rows of these persons that were removed from the mirror and from published files. */
  rowsRemoved: number;
  /** Matches that the same scan found before (it stops when it has found each person once) and after. */
  foundBefore: number;
  foundAfter: number;
  /** Rows of persons who came back at the service, which the fence kept out at the next sync. */
  keptOut: number;
  /** Whether an older copy of the mirror was accepted. */
  olderCopy: 'refused' | 'let in';
  /** The files of two pages to look at. */
  certificate: string;
  report: string;
  /** Whether ledger, certificates and published files verify. */
  isVerified: boolean;
};

const people = 5;
const cameBack = 2;

/** What the erasure uses. It syncs and publishes as the commands do, with progress bars. `passTime`: days pass, at most until today. */
export type ErasingCommands = {
  signal: AbortSignal;
  say: (line: string) => void;
  sync: (app: App, job: SyncJob) => Promise<SyncJobResult>;
  publish: (app: App) => Promise<ExportJobResult>;
  passTime: (days: number) => void;
};

/**
 * Erases some persons, lets some of them come back at the service, waits for the service's weekly batch, and tries an older copy of
 * the mirror.
 */
export async function eraseSome(
  app: App,
  sandbox: Sandbox,
  { signal, say, sync, publish, passTime }: ErasingCommands,
): Promise<DemoErasure> {
  const job = app.serviceContext(signal);
  using older = mkdtempDisposableSync(join(tmpdir(), 'analytics-mirror-older-'));
  await app.database().backup(join(older.path, 'mirror.db'));
  const uuids = [...sandbox.living()].slice(100, 100 + people).map(({ uuid }) => uuid);
  const given = uuids.map((value) => ({ kind: 'uuid', value }) as const);
  say(`finding  ${people} people in the mirror and in every published file`);
  const { last } = await runEraseJob(job, async (own) => {
    const decision = { decided_by: 'privacy_team', identity: 'logged_in' } as const;
    const authority = { basis: 'consent_withdrawn', by: 'demo', decision };
    const added = await addRequests(own, given, { ...authority, deleteEvents: true });
    return { outcome: 'done', counts: {}, last: added.at(-1)?.id ?? '' };
  });
  say('erasing  them here, searching every file for them before and after, then erasing them at the service');
  const { erasure } = await runReconcileJob(job, undefined);
  // The service takes minutes.
  passTime(0.05);
  await runReconcileJob(job, undefined);
  for (const uuid of uuids.slice(0, cameBack)) sandbox.act({ do: 'resurrect', uuid });
  say(`syncing  again, after ${cameBack} of them have come back at the service`);
  const again = { datasets: ['persons', 'recordings', 'playlists'], mode: 'full', resume: true } as const;
  const { passes } = await sync(app, again);
  say("waiting  two weeks of the sandbox's clock: the service deletes events in a weekly batch");
  for (const days of [13, 1]) {
    passTime(days);
    await runReconcileJob(job, undefined);
  }
  await sync(app, again);
  await publish(app);
  say('checking the ledger, the certificate and all files');
  return {
    people: erasure.fenced,
    filesRewritten: erasure.filesRewritten,
    rowsRemoved: erasure.rowsErased + erasure.rowsRemoved,
    foundBefore: scanned(app.settings.dataDir, 'control'),
    foundAfter: scanned(app.settings.dataDir, 'verify'),
    keptOut: passes.find(({ dataset }) => dataset === 'persons')?.rowsFenced ?? 0,
    olderCopy: await tryOlderCopy(app, older.path),
    // The first ones have come back.
    ...(await prove(app, last, signal)),
  };
}

/** How many matches the scans of the erasure found in a phase. */
function scanned(dataDir: string, phase: 'control' | 'verify'): number {
  let hits = 0;
  for (const entry of readLedger(dataDir).entries())
    if (entry.type === 'scan' && entry.phase === phase) hits += entry.hits;
  return hits;
}

/** Puts the older mirror.db beside a copy of today's ledger, in a folder of its own. */
async function tryOlderCopy({ settings, clock }: App, older: string): Promise<DemoErasure['olderCopy']> {
  copyFiles(join(settings.dataDir, 'ledger'), join(older, 'ledger'));
  using db = openDatabase(older, clock);
  try {
    refuseRestored(db, readLedger(older));
    return 'let in';
  } catch (error) {
    if (error instanceof AppError) return 'refused';
    throw error;
  }
}

/** Writes the certificate of a request and today's report, and verifies the data folder. */
async function prove(
  { settings, clock, databaseReadOnly }: App,
  request: string,
  signal: AbortSignal,
): Promise<Pick<DemoErasure, 'certificate' | 'report' | 'isVerified'>> {
  const { dataDir } = settings;
  const db = databaseReadOnly();
  const ledger = readLedger(dataDir);
  const found = findCertificate(settings, ledger, request);
  const { file: certificate } = writeForOthers({ dataDir, out: undefined, name: 'certificate.html' }, () =>
    certificatePage(found, bundleText(dataDir, ledger, found)),
  );
  const report = join(reportsFolder(dataDir), 'audit.html');
  writeRequestedFile(report, reportPage(gatherReport({ db, settings, nowMs: clock.now() }), 'certificates/'));
  const { ok } = await verifyDataFolder(dataDir, {}, signal);
  return { certificate, report, isVerified: ok };
}
