import { expect, it } from 'vitest';
import { isoToMicros, microsToIso } from '../../src/core/time.ts';
import type { Person } from '../../src/contract/resources.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { ask, askUrl, smallSandbox, standingClock, type ListBody } from './sandbox-requests.ts';

const pages = async (sandbox: Sandbox): Promise<string[]> => {
  const paths = [
    '/persons?limit=1000',
    '/session_recordings?limit=1000',
    ...sandbox.playlists.map((id) => `/session_recording_playlists/${id}`),
  ];
  const answers = await Promise.all(paths.map((path) => ask(sandbox, path)));
  return answers.map(({ text }) => text.replaceAll(sandbox.url, ''));
};

it('gives equal bytes and keys for equal seeds, at any time, and others for another seed', async () => {
  await using first = await smallSandbox({ clock: standingClock('2025-01-01T00:00:00Z') });
  await using second = await smallSandbox({ clock: standingClock('2031-01-01T00:00:00Z') });
  await using other = await smallSandbox({ seed: 8 });
  expect(await pages(second)).toEqual(await pages(first));
  expect([second.apiKey, second.readOnlyKey, second.playlists]).toEqual([
    first.apiKey,
    first.readOnlyKey,
    first.playlists,
  ]);
  expect((await pages(other))[0]).not.toBe((await pages(first))[0]);
  expect(other.apiKey).not.toBe(first.apiKey);
  expect(first.apiKey).toMatch(/^sandbox_full_[0-9a-f]{32}$/);
});

/** Every number of a JSON text, as it is written, outside its strings. */
const numbersIn = (text: string): string[] =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];

it.each(['documented', 'live'] as const)(
  'the default data of the %s profile can be read by common tools, and is the hostile data without its hostile values',
  async (profile) => {
    const options = { profile, persons: 240, clock: standingClock('2025-06-04T12:00:00Z') };
    await using plain = await smallSandbox({ ...options, hostile: undefined, churn: 5 });
    await using hostile = await smallSandbox({ ...options, churn: 5 });
    // Persons that are created while the service runs are of the same kind.
    for (const sandbox of [plain, hostile])
      for (let page = 0; page < 60; page += 1) await ask(sandbox, '/persons?limit=1');
    const [read, hostileRead] = [await pages(plain), await pages(hostile)];
    const broken = (text: string): boolean =>
      /\\u0000/.test(text) ||
      /\\ud[89a-f]/i.test(text) ||
      numbersIn(text).some((number) =>
        /^-?\d+$/.test(number)
          ? BigInt.asIntN(64, BigInt(number)) !== BigInt(number)
          : !Number.isFinite(Number(number)),
      );
    expect(read.filter(broken)).toEqual([]);
    expect(broken(hostileRead[0] ?? '')).toBe(true);
    const without = (text: string): string =>
      text
        .replaceAll('"lone_surrogate":"\\ud800","reversed_pair":"\\udc00\\ud800","nul":"a\\u0000b",', '')
        .replaceAll('"huge":123456789012345678901234567890,"exponent":1.5E+400,', '');
    expect(hostileRead.map(without)).toEqual(read);
  },
);

it('shows within 60 persons everything that a reader gets wrong, if it is asked for hostile values', async () => {
  await using sandbox = await smallSandbox({ hostile: true });
  const { text } = await ask(sandbox, '/persons?limit=60');
  const { results } = JSON.parse(text) as ListBody<Person>;
  for (const exact of [
    '9007199254740993',
    '123456789012345678901234567890',
    '-0.0',
    '1.5E+400',
    String.raw`"\ud800"`,
    String.raw`a\u0000b`,
  ]) {
    expect(text).toContain(exact);
  }
  const properties = results.map((person) => JSON.stringify(person.properties));
  expect(properties).toContain('null');
  expect(properties).toContain('{}');
  expect(properties).toContain('["not","an","object"]');
  expect(properties.some((json) => json.includes('"level":'.repeat(20).replaceAll(':"', ':{"')))).toBe(true);
  expect(properties.some((json) => json.includes('"名前"'))).toBe(true);
  expect(properties.some((json) => !json.includes('"email"') && json.length > 50)).toBe(true);
  const sizes = new Set(results.map(({ distinct_ids }) => distinct_ids.length));
  expect(sizes).toEqual(new Set([1, 2, 3, 4]));
  expect(results.some(({ created_at }) => created_at < '1970')).toBe(true);
  expect(new Set(results.map(({ created_at }) => created_at)).size).toBeLessThan(60);
  expect(new Set(results.flatMap(({ distinct_ids }) => distinct_ids)).size).toBe(
    results.flatMap((p) => p.distinct_ids).length,
  );
  for (const { uuid, created_at } of results) {
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  }
});

it('serves an empty project, whose recordings show people deleted since', async () => {
  await using sandbox = await smallSandbox({ persons: 0, recordings: 3 });
  expect(JSON.parse((await ask(sandbox, '/persons')).text)).toEqual({
    count: 0,
    next: null,
    previous: null,
    results: [],
  });
  expect(JSON.parse((await ask(sandbox, '/session_recordings')).text)).toMatchObject({ count: 3 });
  await using nothing = await smallSandbox({ persons: 0, recordings: 0 });
  expect((await ask(nothing, `/session_recording_playlists/${nothing.playlists[0]}`)).status).toBe(200);
  expect((await askUrl(nothing.url)).status).toBe(200);
});

it('serves 20,000 persons from a cold start, deep pages included', async () => {
  const startedAt = performance.now();
  await using sandbox = await smallSandbox({ persons: 20_000 });
  const readyMs = performance.now() - startedAt;
  const { text } = await ask(sandbox, '/persons?limit=1000&offset=19000');
  const pageMs = performance.now() - startedAt - readyMs;
  expect(JSON.parse(text)).toMatchObject({ count: 20_000, next: null });
  process.stdout.write(
    `sandbox: 20,000 persons in ${readyMs.toFixed(0)} ms, a page of 1,000 in ${pageMs.toFixed(0)} ms\n`,
  );
});

it.each([-1, 0, 1, -1_000_001, 1_735_689_600_123_456, -62_135_596_800])('writes %d microseconds exactly', (micros) => {
  expect(isoToMicros(microsToIso(micros))).toBe(BigInt(micros));
});
