import { expect, it } from 'vitest';
import { localServer } from '../client/local-server.ts';
import { hostileAnswers } from './hostile-answers.ts';
import { peakOf } from './peak-memory.ts';
import { openWorkspace, unlimited } from './workspace.ts';

const residentBytesMax = 400e6;

it.skipIf(process.platform !== 'linux').each(Object.entries(hostileAnswers))(
  'the command bears %s in 400 MB',
  async (name, { code, says, send }) => {
    await using workspace = await openWorkspace({ persons: 1, recordings: 0 });
    const { origin } = await localServer((request, response) => send(response, request));
    const beganAt = Date.now();
    const args = ['sync', 'persons', ...unlimited, '--set', 'retry.attemptsMax=1', '--log-level', 'error', '--json'];
    const running = workspace.start(args, { env: { MIRROR_BASE_URL: origin }, timeoutMs: 600_000 });
    const bytes = await peakOf(running.child);
    const ended = await running.ended;
    const seconds = ((Date.now() - beganAt) / 1000).toFixed(1);
    process.stdout.write(`${name}: ${Math.round(bytes / 1e6)} MB, ${seconds} s, exit ${ended.code}\n`);
    expect(ended.stdout + ended.stderr).toMatch(says);
    expect(ended.code).toBe(code);
    expect(bytes).toBeGreaterThan(50e6);
    expect(bytes).toBeLessThan(residentBytesMax);
  },
);
