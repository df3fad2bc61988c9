import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openDatabaseReadOnly, type Database } from '../../src/mirror/database.ts';
import { longTransaction } from '../../src/mirror/long-transaction.ts';
import { openTestMirror } from './open-test-mirror.ts';

const { signal } = new AbortController();

function add(db: Database, reason: string): void {
  db.prepare(`INSERT INTO deletions (dataset, key, reason, deleted_at) VALUES ('persons', ?, 'deleted', '2026')`).run(
    reason,
  );
}

function keysIn(db: Database): unknown[] {
  return db.prepare(`SELECT key FROM deletions ORDER BY key`).pluck().all();
}

/** Longer than a step may take. */
function work(): void {
  const untilMs = performance.now() + 60;
  while (performance.now() < untilMs);
}

test('other work goes on in a long transaction, and what it writes belongs to it; other connections see it at its end', async () => {
  const { db, dataDir } = openTestMirror();
  const reader = openDatabaseReadOnly(dataDir);
  const beat = setInterval(() => add(db, `beat ${Math.random()}`), 1);
  const seen = await longTransaction(db, signal, async (pause) => {
    for (const step of ['a', 'b', 'c']) {
      add(db, step);
      work();
      await pause();
    }
    return keysIn(reader);
  }).finally(() => clearInterval(beat));
  expect(seen).toEqual([]);
  expect(keysIn(reader)).toEqual(expect.arrayContaining(['a', 'b', 'c', expect.stringMatching(/^beat/)]));
  reader.close();
});

test('a signal is heard in a long transaction, and nothing is done', async () => {
  const { db } = openTestMirror();
  const abort = new AbortController();
  const timer = delay(1).then(() => abort.abort(new Error('enough')));
  const running = longTransaction(db, abort.signal, async (pause) => {
    for (let step = 0; step < 100; step += 1) {
      add(db, 'never');
      work();
      await pause();
    }
  });
  await expect(running).rejects.toThrow('enough');
  await timer;
  expect(keysIn(db)).toEqual([]);
  expect(db.inTransaction).toBe(false);
});

test('where a step fails, nothing is done', async () => {
  const { db } = openTestMirror();
  const running = longTransaction(db, signal, () => {
    add(db, 'never');
    return Promise.reject(new Error('a step'));
  });
  await expect(running).rejects.toThrow('a step');
  expect(keysIn(db)).toEqual([]);
});

test('what a long transaction has written is copied back by another process, so that nothing else waits for it', async () => {
  const { db } = openTestMirror();
  const pages = (): { log: number; checkpointed: number } => {
    // Only looks: the pages that are copied back already stay so.
    db.pragma('wal_autocheckpoint = 0');
    const [state] = db.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[];
    db.pragma('wal_autocheckpoint = 32000');
    return state ?? { log: -1, checkpointed: -1 };
  };
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 2000; n += 1) add(db, `${n} ${'x'.repeat(1000)} ${Math.random()}`);
    await Promise.resolve();
  };
  await longTransaction(db, signal, fill);
  expect(pages().checkpointed).toBeLessThan(pages().log);
  await longTransaction(db, signal, fill, 0);
  expect(pages().log).toBeGreaterThan(500);
  expect(pages().checkpointed).toBe(pages().log);
  expect(db.pragma('wal_autocheckpoint', { simple: true })).toBe(32_000);
});

test('a long transaction that was done stays done, though the signal comes while its log is copied back', async () => {
  const { db } = openTestMirror();
  const abort = new AbortController();
  const act = async (): Promise<string> => {
    add(db, 'kept');
    setTimeout(() => abort.abort(new Error('enough')), 20);
    return Promise.resolve('done');
  };
  expect(await longTransaction(db, abort.signal, act, 0)).toBe('done');
  expect(keysIn(db)).toEqual(['kept']);
});
