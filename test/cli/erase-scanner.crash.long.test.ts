import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';

const scanner = fileURLToPath(new URL('../../src/erasure/scan/scan-process.ts', import.meta.url));
const patience = { timeout: 20_000, interval: 100 };

it('a scanner whose asker is gone ends, though nobody hears of it', async () => {
  const child = spawn(process.execPath, [scanner], { stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.end('no task');
  const [code, signal] = (await once(child, 'exit', { signal: AbortSignal.timeout(20_000) })) as unknown[];
  expect({ code, signal }).toEqual({ code: 1, signal: null });
});

it('a scanner does not outlive a killed asker, and lets go of the mirror', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-scanner-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  // Its standard input stays open here, so that it waits for a task for ever.
  spawnSync('/bin/sh', ['-c', 'mkfifo "$0"', join(folder, 'task')]);
  const task = openSync(join(folder, 'task'), 'r+');
  onTestFinished(() => closeSync(task));
  const asker = spawn(
    '/bin/sh',
    ['-c', 'exec 3<&0; "$0" "$1" <&3 & echo $! > "$2"; wait', process.execPath, scanner, join(folder, 'pid')],
    { stdio: [task, 'ignore', 'ignore'] },
  );
  const pid = await vi.waitFor(() => {
    const read = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    expect(read).toBeGreaterThan(0);
    return read;
  }, patience);
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  // Once it only waits, it has seen who asks.
  let waits = 0;
  await vi.waitFor(() => {
    waits = /^State:\tS/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')) ? waits + 1 : 0;
    expect(waits).toBeGreaterThan(5);
  }, patience);
  asker.kill('SIGKILL');
  await vi.waitFor(() => expect(isAlive(pid)).toBe(false), patience);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
