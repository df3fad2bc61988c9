import { randomUUID } from 'node:crypto';
import { createApp, type App } from '../app/app.ts';
import { verifyDataFolder } from '../audit/verify-data-folder.ts';
import { isoTime, systemClock } from '../core/clock.ts';
import { whereIs } from '../erasure/find/where.ts';
import { addRequests } from '../erasure/receive.ts';
import { scanRequests } from '../erasure/scan/scan-requests.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { runEraseJob } from '../erasure/fence/restore-guard.ts';
import { runExportJob } from '../worker/export-job.ts';
import { runReconcileJob } from '../worker/reconcile-job.ts';
import { runSyncJob } from '../worker/sync-job.ts';
import { besideSandbox, clockOf, startEmbeddedSandbox, unhurried } from './embedded-sandbox.ts';

/** One thing that the drill had to show. */
type DrillStep = { step: string; passed: boolean };

/** The result of a drill. The person in it is invented. Times are ISO 8601 UTC. */
export type Drill = { startedAt: string; finishedAt: string; outcome: 'passed' | 'failed'; steps: DrillStep[] };

const persons = 300;
const weekMs = 7 * 86_400_000;

/**
 * Erases an invented person, the canary, from an embedded service, in an empty folder, by the same code that erases real
 * persons. The canary is synced, published twice, found, fenced, erased, proved gone, deleted at the service, certified
 * after the weekly batch, sealed, verified, and kept out when it comes back. Throws only when the drill cannot be held.
 */
export async function holdDrill(dataDir: string, signal: AbortSignal): Promise<Drill> {
  const startedAt = isoTime(systemClock.now());
  const sandbox = await startEmbeddedSandbox({
    persons,
    recordings: 30,
    hostile: true,
    seed: Math.floor(systemClock.now()),
    port: 0,
  });
  try {
    // It follows the service's clock, which the drill moves past the weekly batch.
    const quiet = { path: 'log.level', value: 'silent' };
    const set = [{ path: 'dataDir', value: dataDir }, quiet, ...unhurried];
    await using app = createApp({ ...besideSandbox(sandbox), clock: clockOf(sandbox) }, { set });
    const steps = await eraseCanary(app, signal, sandbox);
    const outcome = steps.every(({ passed }) => passed) ? 'passed' : 'failed';
    return { startedAt, finishedAt: isoTime(systemClock.now()), outcome, steps };
  } finally {
    await sandbox.close();
  }
}

async function eraseCanary(app: App, signal: AbortSignal, sandbox: Sandbox): Promise<DrillStep[]> {
  const job = app.serviceContext(signal);
  const steps: DrillStep[] = [];
  const check = (step: string, passed: boolean): void => void steps.push({ step, passed });
  const sync = () => runSyncJob(job, { datasets: ['persons', 'recordings'], mode: 'full', resume: true });
  const reconcile = () => runReconcileJob(job, undefined);
  const source = app.databaseReadOnly;

  // Not after the time: files of the same moment are named after it, and would hold a part of the name.
  const canary = `canary-${randomUUID()}`;
  const distinctId = `${canary}@drill.example`;
  const { created } = sandbox.act({
    do: 'create',
    distinct_ids: [distinctId, `${canary}-device`],
    properties: { email: distinctId, note: `“${canary}” is nobody, € 1,000 %` },
  });
  const uuid = created[0] ?? '';
  sandbox.store.events.add({ distinctId, event: 'drill', atMs: sandbox.clock.now() });
  const { passes } = await sync();
  check(
    'the pass that mirrored the canary proves itself complete',
    passes.every(({ verdict }) => verdict === 'complete'),
  );
  const publish = () =>
    runExportJob(job, { kind: 'full', datasets: ['persons', 'recordings', 'distinct_ids'], source: source() });
  await publish();
  // An unchanged mirror would not be published again.
  sandbox.act({ do: 'create', distinct_ids: ['another@drill.example'], properties: {} });
  await sync();
  await publish();
  const given = [{ kind: 'email', value: distinctId }] as const;
  const { whereabouts } = await whereIs(job, given);
  check('mirror and both generations of files hold it', whereabouts.places.length >= 5);

  const authority = { basis: 'other', by: 'drill', deleteEvents: true };
  await runEraseJob(job, async (erasing) => {
    await addRequests(erasing, given, authority);
    return { outcome: 'done', counts: {} };
  });
  const { erasure } = await reconcile();
  check('it is erased, and a scan that had found it finds nothing', erasure.verified === 1 && erasure.residue === 0);
  check('every file that held it was rewritten', erasure.filesRewritten >= 4);
  check('the service has it no longer', ![...sandbox.living()].some((person) => person.uuid === uuid));
  const { report } = await runEraseJob(job, async (erasing) => ({
    outcome: 'done',
    counts: {},
    ...(await scanRequests(erasing, given, [])),
  }));
  check(
    'a scan of everything finds nothing of it',
    report.subjects.every(({ hits }) => hits === 0),
  );
  sandbox.act({ do: 'resurrect', uuid });
  const { passes: later } = await sync();
  check(
    'it comes back at the service and is kept out',
    later.some(({ rowsFenced }) => rowsFenced > 0),
  );

  sandbox.clock.moveTo(sandbox.clock.now() + 2 * weekMs);
  check('the weekly batch has deleted its events', sandbox.store.events.count(distinctId) === 0);
  const last = await reconcile();
  check(
    'it is certified, and its identifiers are destroyed',
    last.erasure.certified === 1 && last.erasure.sealed === 1,
  );
  const verdict = await verifyDataFolder(app.settings.dataDir, {}, job.signal);
  check('ledger, certificate and files verify', verdict.ok && verdict.certificates === 1);
  return steps;
}
