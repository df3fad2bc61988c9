import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { collector } from '../log/collector.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 120, recordings: 30 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

test('a run is a span, each of its requests one within it, and neither tells whom it is about', async () => {
  const { url, spans, bodies } = await collector();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_SERVICE_NAME: 'shop-mirror',
  };
  const { code } = await workspace.run(['sync', 'persons', ...unlimited], { env });
  expect(code).toBe(0);
  const run = spans().find(({ name }) => name === 'run sync');
  expect(run?.['attributes']).toContainEqual({ key: 'analytics_mirror.outcome', value: { stringValue: 'done' } });
  const requests = spans().filter(({ kind }) => kind === 3);
  expect(requests.length).toBeGreaterThan(0);
  for (const request of requests) {
    expect(request).toMatchObject({ name: 'GET /persons', parentSpanId: run?.['spanId'] });
    expect(request['attributes']).toContainEqual({ key: 'http.response.status_code', value: { intValue: 200 } });
  }
  const sent = JSON.stringify(bodies);
  expect(sent).toContain('shop-mirror');
  expect(sent).not.toContain(workspace.sandbox.apiKey);
  expect(sent).not.toMatch(/@|\?|offset/);
});

test('a collector that is not there costs a command nothing but a warning', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const { code, stderr } = await workspace.run(['sync', 'persons', ...unlimited], { env });
  expect(code).toBe(0);
  expect(stderr).toMatch(/traces were lost/);
});

test('the worker serves its page, metrics and probes, and turns ready when everything has been seen', async () => {
  const schedule = ['full', 'recordings'].flatMap((job) => ['--set', `schedule.${job}="* * * * * *"`]);
  const worker = workspace.start(['run', '--json', '--set', 'status.port=0', ...schedule, ...unlimited]);
  const { statusUrl } = JSON.parse(await worker.output('stdout', /\n/)) as { statusUrl: string };
  const get = async (path: string) => {
    const answer = await fetch(new URL(path, statusUrl));
    return { status: answer.status, body: await answer.text() };
  };
  await vi.waitFor(async () => expect(await get('/readyz')).toMatchObject({ status: 200 }), {
    timeout: 30_000,
    interval: 100,
  });
  expect((await get('/healthz')).body).toBe('alive\n');
  expect((await get('/')).body).toContain('<h1 id="verdict">All is well</h1>');
  const metrics = (await get('/metrics')).body;
  expect(metrics).toMatch(/^analytics_mirror_rows\{project="[^"]+",table="persons"\} 120$/m);
  expect(metrics).toMatch(/^analytics_mirror_fresh\{project="[^"]+",dataset="recordings"\} 1$/m);
  const state = JSON.parse((await get('/status.json')).body) as { projects: { content: { runs: unknown[] } }[] };
  expect(state.projects[0]?.content.runs.length).toBeGreaterThan(0);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});
