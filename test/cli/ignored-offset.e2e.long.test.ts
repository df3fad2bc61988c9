import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { jsonOf } from './run-cli.ts';
import { openWorkspace } from './workspace.ts';

const rows = 1000;

/** A list of the service in document form or as live ones are, that serves no row from beyond an offset. */
const services = [
  ['persons', 'ignores the offset', 0, 'count'],
  ['persons', 'ignores the offset and counts nothing', 0, 'next'],
  ['persons', 'clamps the offset', 300, 'count'],
  ['recordings', 'ignores the offset and never ends', 0, 'has_next'],
] as const;

function rowOf(dataset: 'persons' | 'recordings', index: number): object {
  const time = new Date(Date.UTC(2026, 0, 1) - index * 60_000).toISOString();
  const uuid = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  return dataset === 'persons'
    ? { id: index, uuid, name: 'Ann', distinct_ids: [`ann-${index}`], properties: {}, created_at: time }
    : { id: uuid, distinct_id: `ann-${index}`, start_time: time, end_time: time };
}

it.each(services)('a pass over %s ends incomplete where the service %s', async (dataset, _what, clamp, serving) => {
  await using workspace = await openWorkspace({ persons: 1, recordings: 1 });
  let requests = 0;
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://service.invalid');
    const offset = Number(searchParams.get('offset'));
    const limit = Number(searchParams.get('limit'));
    requests += 1;
    const results = Array.from({ length: limit }, (_row, index) => rowOf(dataset, Math.min(offset, clamp) + index));
    const next = offset + limit < rows ? `/persons/?limit=${limit}&offset=${offset + limit}` : null;
    const said = { count: { count: rows, next, previous: null }, next: { next }, has_next: { has_next: true } }[
      serving
    ];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ ...said, results }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const size = ['--set', `${dataset}.pageSize=100`, '--set', 'budget.windows=[]'];
    const free = [...size, '--set', 'budget.recordings.windows=[]', '--log-level', 'error', '--json'];
    const ended = await workspace.run(['sync', dataset, ...free], { env: { MIRROR_BASE_URL: url } });
    expect(ended).toMatchObject({ code: 4, stderr: '' });
    const { passes } = jsonOf(ended) as { passes: { verdict: string; reason: string; windows: number }[] };
    expect(passes).toMatchObject([{ verdict: 'incomplete', reason: 'no_progress' }]);
    expect(requests).toBeLessThan(40);
    const gone = jsonOf(await workspace.run(['query', '--json', 'SELECT count(*) AS n FROM deletions'])) as {
      rows: [number][];
    };
    expect(JSON.stringify(gone.rows)).toMatch(/\b0\b/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
