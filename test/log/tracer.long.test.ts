import { gunzipSync } from 'node:zlib';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { openTracer, readOtlpSettings } from '../../src/log/open-tracer.ts';
import { silentTracer } from '../../src/log/tracer.ts';
import { collector } from './collector.ts';

/** A tracer whose variables stand in the process too, where the SDK reads some of them by itself. */
function tracerTo(url: string, variables: Record<string, string> = {}) {
  const lost: [number, string][] = [];
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
    ...variables,
  };
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const tracer = openTracer(environment, {
    version: '1.2.3',
    now: () => 1_700_000_000_000,
    onLost: (spans, reason) => lost.push([spans, reason]),
  });
  return { tracer, lost };
}

const about = { kind: 'internal', attributes: {} } as const;

test('a span within a span is its child, of the same trace', async () => {
  const { url, headers, spans } = await collector();
  const { tracer, lost } = tracerTo(url);
  const result = await tracer.span('run', { kind: 'internal', attributes: { job: 'full' } }, async (set) => {
    await Promise.all([
      tracer.span('request', about, async () => undefined),
      tracer.span('request', about, async () => undefined),
    ]);
    set({ outcome: 'done' });
    return 7;
  });
  await tracer.span('another run', about, async () => undefined);
  await tracer.close();
  expect(result).toBe(7);
  expect(headers[0]).toMatchObject({ path: '/v1/traces', 'x-key': 'a b', 'content-type': 'application/json' });
  const [first, second, run, other] = spans();
  expect(run).toMatchObject({
    name: 'run',
    kind: 1,
    startTimeUnixNano: '1700000000000000000',
    attributes: [
      { key: 'job', value: { stringValue: 'full' } },
      { key: 'outcome', value: { stringValue: 'done' } },
    ],
    status: {},
  });
  expect(run).not.toHaveProperty('parentSpanId');
  for (const child of [first, second])
    expect(child).toMatchObject({ parentSpanId: run?.['spanId'], traceId: run?.['traceId'] });
  expect(first?.['spanId']).not.toBe(second?.['spanId']);
  expect(first?.['traceId']).toMatch(/^[0-9a-f]{32}$/);
  expect(other?.['traceId']).not.toBe(run?.['traceId']);
  expect(lost).toEqual([]);
});

test('a span that fails says why as a code, never in words, and fails as its work does', async () => {
  const { url, spans, bodies } = await collector();
  const { tracer } = tracerTo(url);
  const failure = new AppError('about ann@example.com', { code: 'unreachable' });
  await expect(tracer.span('run', about, () => Promise.reject(failure))).rejects.toBe(failure);
  await tracer.close();
  expect(spans()[0]).toMatchObject({
    status: { code: 2 },
    attributes: [{ key: 'error.type', value: { stringValue: 'unreachable' } }],
  });
  expect(JSON.stringify(bodies)).not.toContain('ann');
});

test('what a collector refuses, or nobody takes, is lost and counted, and work goes on', async () => {
  const refusing = await collector(500);
  const { tracer, lost } = tracerTo(refusing.url);
  await tracer.span('run', about, async () => undefined);
  await tracer.close();
  expect(lost).toEqual([[1, 'status 500']]);
  const away = tracerTo('http://127.0.0.1:9');
  expect(await away.tracer.span('run', about, async () => 1)).toBe(1);
  await away.tracer.close();
  expect(away.lost).toEqual([[1, 'no answer']]);
});

test('no more spans wait than a bound, beside the batch that is under way, and they are sent in batches', async () => {
  const { url, bodies, spans } = await collector();
  const { tracer } = tracerTo(url);
  for (let count = 0; count < 6000; count += 1) await tracer.span('request', about, async () => undefined);
  await tracer.close();
  expect(spans()).toHaveLength(2048 + 512);
  expect(bodies).toHaveLength(5);
});

test('the resource names the program and what its variables say, and nothing of the machine', async () => {
  const { url, bodies } = await collector();
  const { tracer } = tracerTo(url, { OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' });
  await tracer.span('run', about, async () => undefined);
  await tracer.close();
  const attributes = bodies[0]?.resourceSpans[0]?.resource.attributes ?? [];
  const valueOf = (key: string) => attributes.find((each) => each.key === key)?.value;
  expect(valueOf('service.name')).toEqual({ stringValue: 'analytics-mirror' });
  expect(valueOf('service.version')).toEqual({ stringValue: '1.2.3' });
  expect(valueOf('deployment.environment.name')).toEqual({ stringValue: 'test' });
  expect(attributes.filter(({ key }) => /^(host|process|os)\./.test(key))).toEqual([]);
});

test('spans go as protobuf unless told otherwise, and packed where that is asked for', async () => {
  const { url, headers, raw } = await collector();
  const { tracer, lost } = tracerTo(url, {
    OTEL_EXPORTER_OTLP_PROTOCOL: '',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_SERVICE_NAME: 'shop-mirror',
  });
  await tracer.span('run', about, async () => undefined);
  await tracer.close();
  expect(headers[0]).toMatchObject({ 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' });
  expect(gunzipSync(raw[0] ?? '').toString()).toContain('shop-mirror');
  expect(lost).toEqual([]);
});

test.each([
  ['always_off', '', 0],
  ['parentbased_always_off', '', 0],
  ['traceidratio', '0', 0],
  ['parentbased_traceidratio', '1', 2],
  ['always_on', '', 2],
])('the sampler %s %s lets %d spans of two through, and loses none', async (sampler, argument, count) => {
  const { url, spans } = await collector();
  const variables = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: argument };
  const { tracer, lost } = tracerTo(url, variables);
  await tracer.span('run', about, () => tracer.span('request', about, async () => undefined));
  await tracer.close();
  expect(spans()).toHaveLength(count);
  expect(lost).toEqual([]);
});

test('a collector that is busy is asked again, and closing does not wait for it for long', async () => {
  const { url } = await collector(503);
  const { tracer, lost } = tracerTo(url);
  await tracer.span('run', about, async () => undefined);
  const began = performance.now();
  await tracer.close();
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(lost).toEqual([[1, 'busy']]);
});

test('a collector that takes a connection and never answers costs three seconds at the end, and no more', async () => {
  const { url } = await collector('silent');
  const { tracer, lost } = tracerTo(url);
  await tracer.span('run', about, async () => undefined);
  const began = performance.now();
  await tracer.close();
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(lost).toEqual([[1, 'no answer']]);
});

test('the standard variables say whether spans are sent, and how', () => {
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector/otlp/' };
  expect(readOtlpSettings({})).toBeNull();
  expect(readOtlpSettings({ ...base, OTEL_SDK_DISABLED: 'true' })).toBeNull();
  expect(readOtlpSettings({ ...base, OTEL_TRACES_EXPORTER: 'none' })).toBeNull();
  expect(readOtlpSettings(base)).toEqual({
    protocol: 'http/protobuf',
    sampler: { name: 'parentbased_always_on', ratio: 1 },
    batch: { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMillis: 5_000, exportTimeoutMillis: 30_000 },
    limits: { attributeCountLimit: 128, attributeValueLengthLimit: Infinity },
  });
  const own = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://own/x',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_BSP_MAX_QUEUE_SIZE: '100',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_ATTRIBUTE_COUNT_LIMIT: '3',
  };
  expect(readOtlpSettings(own)).toMatchObject({
    protocol: 'http/json',
    batch: { maxQueueSize: 100, maxExportBatchSize: 100, scheduledDelayMillis: 50 },
    limits: { attributeCountLimit: 3 },
  });
  expect(() => readOtlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' })).toThrow(/not an http address/);
  expect(() => readOtlpSettings({ ...base, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(/http\/json/);
  expect(() => readOtlpSettings({ ...base, OTEL_TRACES_SAMPLER: 'jaeger_remote' })).toThrow(/unknown sampler/);
  expect(() => readOtlpSettings({ ...base, OTEL_BSP_SCHEDULE_DELAY: 'often' })).toThrow(/not a number/);
});

test('a tracer that tells nobody does the work all the same', async () => {
  expect(await silentTracer.span('run', about, async (set) => (set({ a: 1 }), 5))).toBe(5);
  await silentTracer.close();
});
