import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { verify } from '../../docs/verifier/verify.mjs';
import { readLedger } from '../../src/ledger/ledger.ts';
import { eraseBody } from './intake-world.ts';
import { openIntakeWorkspace, poster, senderCount, startWorker } from './intake-workspace.ts';

/** The resident memory of a process, in MB. */
function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

test('10,000 senders send at once: each is answered within a second, in bounded memory, and received once', async () => {
  const workspace = await openIntakeWorkspace();
  const { worker, url } = await startWorker(workspace, ['checkpoint']);
  const post = poster(url, 100);
  await post(0, randomUUID(), JSON.stringify(eraseBody('first@canary.example')));
  const before = residentMb(worker.child.pid ?? 0);
  const keys = Array.from({ length: senderCount }, () => randomUUID());
  const bodyOf = (sender: number): string => JSON.stringify(eraseBody(`person-${sender}@canary.example`));
  const beganMs = performance.now();
  const answers = await Promise.all(keys.map((key, sender) => post(sender, key, bodyOf(sender))));
  const seconds = (performance.now() - beganMs) / 1000;
  const after = residentMb(worker.child.pid ?? 0);
  const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b);
  // This process is as busy as the worker, and measures its own pauses too: one answer of a hundred is not looked at.
  const slowestMs = times[Math.floor(0.99 * times.length)] ?? 0;
  const byStatus = Object.fromEntries([...Map.groupBy(answers, ({ status }) => status)].map(([s, a]) => [s, a.length]));
  process.stdout.write(`${JSON.stringify({ seconds, slowestMs, before, after, byStatus })}\n`);
  expect(slowestMs).toBeLessThan(1000);
  // Whoever was told to come again comes again.
  const postUntilTaken = async (sender: number) => {
    for (;;) {
      const answer = await post(sender, keys[sender] ?? '', bodyOf(sender));
      if (answer.status !== 503) return answer;
    }
  };
  for (const [sender, { status }] of answers.entries())
    if (status !== 201) answers[sender] = await postUntilTaken(sender);
  const replays = await Promise.all(keys.slice(0, 500).map((_key, sender) => postUntilTaken(sender)));
  expect(replays.map(({ text }) => text)).toEqual(answers.slice(0, 500).map(({ text }) => text));
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect([...readLedger(workspace.dataDir).histories.all()]).toHaveLength(senderCount + 1);
  const folder = join(workspace.dataDir, 'ledger');
  for (const { text } of [answers[0], answers[5_000], answers.at(-1)].filter((one) => one !== undefined))
    expect(verify({ folder, receipt: text })).toMatchObject({ ok: true });
  expect(after - before).toBeLessThan(300);
}, 1_500_000);
