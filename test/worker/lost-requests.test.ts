import { expect, test } from 'vitest';
import { settingsWith } from '../config/settings-with.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { createLogger } from '../../src/log/logger.ts';
import { readProjectState } from '../../src/worker/read-project.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { jobContext } from '../job/job-context.ts';
import { lifeOf, requestId } from '../ledger/ledger-fixture.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

test('a worker that ends requests which an older mirror does not name logs their ids, and has an alert for a week', async () => {
  const { db, dataDir } = openTestMirror();
  openLedger(dataDir, stillClock).append(lifeOf(1, 1)[0] ?? []);
  const settings = settingsWith({ dataDir });
  const written: string[] = [];
  const log = createLogger({ level: 'warn', isTerminal: false, destination: { write: (text) => written.push(text) } });
  const context = jobContext({ db, settings, clock: stillClock }, { log });
  const alertsIn = (days: number): string[] =>
    readProjectState(db, { name: 'shop', settings, keyFrom: '' }, stillClock.now() + days * 86_400_000).alerts.map(
      ({ kind }) => kind,
    );
  expect(await runReconcileJob(context, undefined)).toMatchObject({ outcome: 'held', lost: [requestId(1)] });
  expect(written.join('')).toContain(requestId(1));
  // The next one has nothing to tell, and the persons are still to be added again.
  expect(await runReconcileJob(context, undefined)).toMatchObject({ lost: [] });
  expect(alertsIn(6)).toContain('given_up');
  expect(alertsIn(8)).not.toContain('given_up');
});
