import { expect, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { otlpBody, type EndedSpan } from '../../src/log/otlp-encoding.ts';
import { readOtlpTarget } from '../../src/log/otlp-target.ts';
import { createTracer, silentTracer } from '../../src/log/tracer.ts';
import { collector } from './collector.ts';

function tracerTo(url: string) {
  const lost: [number, string][] = [];
  const target = readOtlpTarget({
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
  });
  if (!target) throw new Error('no target');
  const tracer = createTracer({
    target,
    version: '1.2.3',
    clock: { now: () => 1_700_000_000_000 },
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
  expect(headers[0]).toMatchObject({
    path: '/v1/traces',
    'x-key': 'a b',
    'content-type': 'application/json',
  });
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

test('no more spans wait than a bound, and they are sent in batches', async () => {
  const { url, bodies, spans } = await collector();
  const { tracer, lost } = tracerTo(url);
  for (let count = 0; count < 2100; count += 1) await tracer.span('request', about, async () => undefined);
  await tracer.close();
  expect(spans()).toHaveLength(2048);
  expect(bodies).toHaveLength(4);
  expect(lost).toEqual([[52, 'too many']]);
});

test('numbers, booleans and times are encoded as the protocol says', () => {
  const span: EndedSpan = {
    traceId: 'a',
    spanId: 'b',
    parentSpanId: 'c',
    name: 'persons.list',
    kind: 'client',
    startedAtMs: 1.4,
    endedAtMs: 2,
    attributes: { whole: 3, part: 0.5, is: true },
    hasFailed: false,
  };
  expect(JSON.parse(otlpBody([span], {}))).toMatchObject({
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: [
              {
                parentSpanId: 'c',
                kind: 3,
                startTimeUnixNano: '1000000',
                attributes: [
                  { key: 'whole', value: { intValue: '3' } },
                  { key: 'part', value: { doubleValue: 0.5 } },
                  { key: 'is', value: { boolValue: true } },
                ],
              },
            ],
          },
        ],
      },
    ],
  });
});

test('the standard variables say where spans go, and whether', () => {
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector/otlp/' };
  expect(readOtlpTarget({})).toBeNull();
  expect(readOtlpTarget({ ...base, OTEL_SDK_DISABLED: 'true' })).toBeNull();
  expect(readOtlpTarget({ ...base, OTEL_TRACES_EXPORTER: 'none' })).toBeNull();
  expect(readOtlpTarget(base)).toEqual({
    url: 'https://collector/otlp/v1/traces',
    headers: {},
    serviceName: 'analytics-mirror',
  });
  const own = { ...base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://own/x', OTEL_SERVICE_NAME: 'mine' };
  expect(readOtlpTarget(own)).toMatchObject({ url: 'http://own/x', serviceName: 'mine' });
  expect(() => readOtlpTarget({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' })).toThrow(/no http address/);
  expect(() => readOtlpTarget({ ...base, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })).toThrow(/http\/json/);
});

test('a tracer that tells nobody does the work all the same', async () => {
  expect(await silentTracer.span('run', about, async (set) => (set({ a: 1 }), 5))).toBe(5);
  await silentTracer.close();
});
