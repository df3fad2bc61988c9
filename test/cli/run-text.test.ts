import { expect, test } from 'vitest';
import { startText } from '../../src/cli/commands/run.ts';
import { worlds } from '../status/worlds.ts';

test('a job whose time is past is due, and not next in the past', () => {
  const { startedAt, projects } = structuredClone(worlds.fresh);
  const job = projects[0].jobs.find((each) => each.job === 'full');
  if (!job) throw new Error('a world without a full pass');
  job.nextAt = '2026-11-01T05:30:00.000Z';
  const worker = { state: () => ({ startedAt, projects }) };
  const { text } = startText(worker, { statusUrl: 'http://127.0.0.1:8080', intakeUrl: null }, worlds.fresh.at);
  expect(text).toMatch(/full +0 2 \* \* \* +due/);
  expect(text).not.toContain('2026-11-01');
});
