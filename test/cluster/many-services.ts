import { request } from 'node:http';
import { onTestFinished } from 'vitest';
import { startSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts';
import { localServer } from '../client/local-server.ts';

/** Many projects of one service, behind one address and one key. */
export type ManyServices = {
  origin: string;
  apiKey: string;
  sandboxes: Sandbox[];
  /** When each request came, in milliseconds since 1970. */
  arrivals: number[];
};

/** Serves projects, whose ids are their numbers from 1 on, from this process. */
export async function openManyServices(count: number): Promise<ManyServices> {
  const sandboxes: Sandbox[] = [];
  for (let seed = 1; seed <= count; seed += 1)
    sandboxes.push(await startSandbox({ persons: 30, recordings: 2, seed, port: 0, hostile: false }));
  onTestFinished(async () => void (await Promise.all(sandboxes.map((sandbox) => sandbox.close()))));
  const arrivals: number[] = [];
  const { origin } = await localServer((asked, answer) => {
    arrivals.push(Date.now());
    const [, id = ''] = /^\/api\/environments\/(\d+)\//.exec(asked.url ?? '') ?? [];
    const sandbox = sandboxes[Number(id) - 1];
    if (!sandbox) return answer.writeHead(404).end();
    const path = asked.url?.replace(`/environments/${id}/`, `/environments/${sandbox.projectId}/`);
    const { hostname, port } = new URL(sandbox.url);
    const { method } = asked;
    // One key opens all of them, and no other opens any.
    const isKnown = asked.headers.authorization === `Bearer ${sandboxes[0]?.apiKey}`;
    const headers = { ...asked.headers, ...(isKnown && { authorization: `Bearer ${sandbox.apiKey}` }) };
    const onward = request({ hostname, port, path, method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    return asked.pipe(onward);
  });
  return { origin, apiKey: sandboxes[0]?.apiKey ?? '', sandboxes, arrivals };
}
