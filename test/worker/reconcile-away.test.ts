import { expect, it } from 'vitest';
import type { Service } from '../../src/client/service.ts';
import { isoTime } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { enterQueue, leaveQueue } from '../../src/mirror/lease-rows.ts';
import { runReconcileJob } from '../../src/worker/reconcile-job.ts';
import { settingsWith } from '../config/settings-with.ts';
import { jobContext } from '../job/job-context.ts';
import { openTestMirror, stillClock } from '../mirror/open-test-mirror.ts';

it('a reconciliation that cannot go on after others had their turn writes nothing more: it has the folder no more', async () => {
  const { db, dataDir } = openTestMirror();
  const at = isoTime(stillClock.now());
  db.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 40)
    INSERT INTO recordings (id, start_time, first_seen_pass, changed_at) SELECT n, '${at}', 1, '${at}' FROM numbers`);
  db.exec(`INSERT INTO suspects (dataset, row_key, nominated_pass, nominated_at)
    SELECT 'recordings', row_key, 1, '${at}' FROM recordings`);
  const settings = settingsWith({ dataDir, 'deletions.maxShare': 1 });
  const guest = { holder: 'guest', job: 'export', host: 'here', pid: 1, takenAt: at };
  let isAway = false;
  const clock = {
    ...stillClock,
    sleep: (): Promise<void> => {
      isAway = true;
      leaveQueue(db, [guest.holder]);
      db.exec(`CREATE TRIGGER full BEFORE INSERT ON lease BEGIN SELECT raise(ABORT, 'no room'); END`);
      return Promise.resolve();
    },
  };
  const asked: [name: string, isAway: boolean][] = [];
  const call = (name: string): Promise<never> => {
    asked.push([name, isAway]);
    enterQueue(db, { ...guest, beatAt: guest.takenAt, hasBegun: false });
    return Promise.reject(new AppError('no route', { code: 'usage' }));
  };
  const opened: boolean[] = [];
  const ledger = () => (opened.push(isAway), openLedger(dataDir, clock));
  const service = { call, requestCount: () => 0 } as unknown as Service;
  const ended = runReconcileJob(jobContext({ db, settings, clock }, { service, ledger }), undefined);
  await expect(ended).rejects.toThrow('no room');
  expect(opened).toEqual([false]);
  expect(asked.filter(([, isLate]) => isLate)).toEqual([]);
});
