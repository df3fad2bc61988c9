import { Writable } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { progressLine, reportProgress } from '../../src/cli/progress.ts';
import type { OnProgress } from '../../src/job/job-context.ts';

test.for([
  [
    { label: 'persons', done: 500, total: 1000, before: 0, elapsedMs: 1000, requestsLeft: null, waits: null },
    'persons  ████████████░░░░░░░░░░░░  500 of 1,000  500/s  1 s left',
  ],
  [
    { label: 'persons', done: 0, total: 1000, before: 0, elapsedMs: 0, requestsLeft: null, waits: null },
    'persons  ░░░░░░░░░░░░░░░░░░░░░░░░  0 of 1,000  0/s',
  ],
  [
    { label: 'persons', done: 1200, total: 1000, before: 0, elapsedMs: 2000, requestsLeft: null, waits: null },
    'persons  ████████████████████████  1,200 of 1,000  600/s  0 s left',
  ],
  [
    { label: 'persons', done: 1200, total: null, before: 0, elapsedMs: 2000, requestsLeft: null, waits: null },
    'persons  1,200 rows  600/s',
  ],
  [
    { label: 'persons', done: 500, total: 1000, before: 0, elapsedMs: 1000, requestsLeft: 1180, waits: null },
    'persons  ████████████░░░░░░░░░░░░  500 of 1,000  500/s  1,180 requests free  1 s left',
  ],
  [
    { label: 'persons', done: 1200, total: null, before: 0, elapsedMs: 2000, requestsLeft: 0, waits: null },
    'persons  1,200 rows  600/s  0 requests free',
  ],
  [
    { label: 'persons', done: 17_500, total: 20_000, before: 17_000, elapsedMs: 1000, requestsLeft: null, waits: null },
    'persons  █████████████████████░░░  17,500 of 20,000  500/s  5 s left',
  ],
  [
    { label: 'persons', done: 0, total: 0, before: 0, elapsedMs: 5, requestsLeft: null, waits: null },
    'persons  0 rows  0/s',
  ],
] as const)('%j', ([state, line]) => {
  expect(progressLine(state)).toBe(line);
  expect(progressLine(state, 40)).toBe(line.replace(/[█░]+ {2}/, ''));
});

test.each([
  [100, 'sync persons  waits for the service (429) until 2026-01-01 00:36:42 UTC  1,200 of 9,000'],
  [80, 'sync persons  waits for the service (429) until 2026-01-01 00:36:42 UTC'],
  [40, 'sync persons  waits until 00:36:42 UTC'],
])('a terminal of %i columns shows of a wait what fits, and no number cut off', (columns, line) => {
  const waits = { until: '2026-01-01T00:36:42.000Z', why: 'the service (429)' } as const;
  const done = { done: 1200, total: 9000, before: 0, elapsedMs: 2000, requestsLeft: 0 };
  expect(progressLine({ label: 'sync persons', ...done, waits }, columns)).toBe(line);
});

/** A context whose standard error is kept. */
function surroundings(isTerminal: boolean, terminalColumns = 80) {
  const written: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written.push(chunk.toString());
      done();
    },
  });
  const context = {
    environment: {},
    stdout: stream,
    stderr: stream,
    isTerminal,
    terminalColumns,
    signal: new AbortController().signal,
    setExitCode: () => undefined,
    exit: () => undefined,
  };
  return { context, written };
}

const clearLine = '\r\u001B[2K';

test('where there is no terminal, nothing is written', async () => {
  const { context, written } = surroundings(false);
  await expect(
    reportProgress(context, 'sync', async (onProgress) => onProgress('persons', 1, 2)),
  ).resolves.toBeUndefined();
  expect(written).toEqual([]);
});

test('a new part is drawn at once, soon after it nothing, and the line is cleared at the end', async () => {
  const { context, written } = surroundings(true);
  const result = await reportProgress(context, 'sync', async (onProgress) => {
    for (let done = 0; done < 5; done += 1) onProgress('persons', done, 10);
    onProgress('recordings', 0, null);
    return 'done';
  });
  expect(result).toBe('done');
  expect(written).toEqual([
    `${clearLine}sync persons  ░░░░░░░░░░░░░░░░░░░░░░░░  0 of 10  0/s`,
    `${clearLine}sync recordings  0 rows  0/s`,
    clearLine,
  ]);
});

test('what is left of the budget is asked for by the part that is under way', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { context, written } = surroundings(true);
  const left: Record<string, number | null> = { persons: 7, recordings: null };
  const work = async (onProgress: OnProgress) => {
    onProgress('persons', 0, null);
    await vi.advanceTimersByTimeAsync(200);
    onProgress('persons', 0, null);
    onProgress('recordings', 0, null);
  };
  await reportProgress(context, 'sync', work, async (part) => ({ requestsLeft: left[part] ?? null, waits: null }));
  expect(written.slice(0, 3)).toEqual([
    `${clearLine}sync persons  0 rows  0/s`,
    `${clearLine}sync persons  0 rows  0/s  7 requests free`,
    `${clearLine}sync recordings  0 rows  0/s`,
  ]);
});

test('while a job waits and reports nothing, its line says for what and until when', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { context, written } = surroundings(true);
  const work = async (onProgress: OnProgress) => {
    onProgress('persons', 1200, 9000);
    await vi.advanceTimersByTimeAsync(2500);
  };
  const waits = { until: '2026-01-01T00:36:42.000Z', why: 'the budget' } as const;
  await reportProgress(context, 'sync', work, () => Promise.resolve({ requestsLeft: 0, waits }));
  expect(written.at(-2)).toBe(`${clearLine}sync persons  waits for the budget until 2026-01-01 00:36:42 UTC`);
});

test('a line never fills the terminal, and is cleared when the work fails', async () => {
  const { context, written } = surroundings(true, 10);
  const failing = reportProgress(context, 'sync', async (onProgress) => {
    onProgress('persons', 1, 10);
    throw new Error('failed');
  });
  await expect(failing).rejects.toThrow('failed');
  expect(written).toEqual([`${clearLine}sync pers`, clearLine]);
});
