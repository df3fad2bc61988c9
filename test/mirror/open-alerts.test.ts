import { expect, it } from 'vitest';
import { readOpenAlerts, replaceOpenAlerts, type Alert } from '../../src/mirror/open-alerts.ts';
import { openTestMirror } from './open-test-mirror.ts';

it('keeps the alerts that stand now, in their order, and no others', () => {
  const { db, dataDir } = openTestMirror();
  const held: Alert = { kind: 'held', job: null, message: 'waiting', todo: 'approve it' };
  const stale: Alert = { kind: 'stale', job: 'full', message: 'old', todo: 'look' };
  expect(readOpenAlerts(db)).toEqual([]);
  replaceOpenAlerts(db, [held, stale]);
  expect(readOpenAlerts(openTestMirror(dataDir).db)).toEqual([held, stale]);
  replaceOpenAlerts(db, [stale]);
  expect(readOpenAlerts(db)).toEqual([stale]);
});

it('passes over an alert of a kind that there is no more', () => {
  const { db } = openTestMirror();
  db.exec(`INSERT INTO open_alerts (kind, job, message, todo) VALUES ('tired', NULL, '', '')`);
  expect(readOpenAlerts(db)).toEqual([]);
});
