import { writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openWorkspace, unlimited, type Workspace } from '../cli/workspace.ts';
import { digestOf } from './intake-world.ts';

/** Each sender of this many has a key of its own. */
export const senderCount = 10_000;
export const keyOf = (sender: number): string => `${'key-of-a-sender-'.repeat(2)}${sender}`;

/** A workspace whose worker takes requests of all these senders. The second one may learn how its requests end. */
export async function openIntakeWorkspace(): Promise<Workspace> {
  const workspace = await openWorkspace({ persons: 60, recordings: 5 });
  onTestFinished(() => workspace[Symbol.asyncDispose]());
  const senders = Array.from({ length: senderCount }, (_, at) => ({
    name: `sender-${at}`,
    keys: [digestOf(keyOf(at))],
    kinds: ['email', 'distinct_id'],
    outcome: at === 1,
  }));
  writeFileSync(join(workspace.folder, 'intake.json'), JSON.stringify({ intake: { port: 0, senders } }), {
    mode: 0o600,
  });
  return workspace;
}

const jobs = ['full', 'recordings', 'playlists', 'head', 'export', 'reconcile', 'checkpoint', 'drill'];

/** Starts a worker that does some jobs again and again, and takes requests. */
export async function startWorker(workspace: Workspace, does: readonly string[]) {
  const settings = jobs.map((job) => `schedule.${job}=${does.includes(job) ? '"* * * * * *"' : 'null'}`);
  const set = ['status.port=0', ...settings].flatMap((each) => ['--set', each]);
  const args = ['--config', join(workspace.folder, 'intake.json'), 'run', '--json', ...unlimited, ...set];
  // It lives as long as its test, which takes minutes on a busy machine.
  const worker = workspace.start(args, { timeoutMs: 1_500_000 });
  onTestFinished(() => void worker.child.kill('SIGKILL'));
  const { intakeUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { intakeUrl: string };
  return { worker, url: intakeUrl };
}

export type Timed = { status: number; text: string; ms: number };

/** Posts over connections that are kept, and measures how long each answer takes. */
export function poster(url: string, sockets: number): (sender: number, key: string, body: string) => Promise<Timed> {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets });
  onTestFinished(() => agent.destroy());
  return (sender, key, body) =>
    new Promise((resolve, reject) => {
      let beganMs = 0;
      const sent = httpRequest(`${url}/v1/requests`, {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${keyOf(sender)}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
      });
      sent.on('socket', () => (beganMs = performance.now()));
      sent.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - beganMs }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
}
