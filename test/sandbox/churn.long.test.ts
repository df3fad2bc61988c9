import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import type { GonePerson, LivingPerson } from '../../src/sandbox/store/truth.ts';
import { ask, askUrl, smallSandbox, standingClock, type ListBody } from './sandbox-requests.ts';

const clock = standingClock('2025-06-04T12:00:00Z');
const churning = (options = {}): ReturnType<typeof smallSandbox> =>
  smallSandbox({ persons: 1500, recordings: 50, churn: 1, clock, ...options });
/** Asks for a page so many times. */
const soak = async (sandbox: Sandbox, requests: number): Promise<void> => {
  for (let request = 0; request < requests; request += 1) await ask(sandbox, '/persons/?limit=1');
};
const state = (sandbox: Sandbox): unknown => [[...sandbox.living()], [...sandbox.gone()]];

it('a quiet sandbox does not change', async () => {
  await using sandbox = await churning({ churn: undefined });
  await soak(sandbox, 20);
  expect(sandbox.version()).toBe(0);
});

it('follows from the seed and the requests', async () => {
  await using first = await churning();
  await using second = await churning();
  await using other = await churning({ seed: 8 });
  await Promise.all([first, second, other].map((sandbox) => soak(sandbox, 60)));
  expect(state(second)).toEqual(state(first));
  expect(state(other)).not.toEqual(state(first));
});

it('makes so many changes per request, and only before a list', async () => {
  await using sandbox = await churning({ churn: 0.5, persons: 60 });
  for (let request = 0; request < 7; request += 1) await ask(sandbox, '/persons/1');
  expect(sandbox.version()).toBe(0);
  await ask(sandbox, '/persons/?limit=1');
  expect(sandbox.version()).toBeGreaterThan(0);
});

it('answers no page from two states', async () => {
  await using sandbox = await churning({ churn: 3 });
  for (let request = 0; request < 25; request += 1) {
    const [{ text }] = await Promise.all([
      ask(sandbox, '/persons/?limit=1500'),
      ask(sandbox, '/persons/?limit=5&offset=700'),
    ]);
    const { count, results } = JSON.parse(text) as ListBody<{ distinct_ids: string[] }>;
    expect(results).toHaveLength(Math.min(count, 1500));
    const distinctIds = results.flatMap(({ distinct_ids: ids }) => ids);
    expect(new Set(distinctIds).size).toBe(distinctIds.length);
  }
});

describe('after thousands of changes', () => {
  it('nobody is lost but by a deletion or a merge, and every distinct id has one owner', async () => {
    await using sandbox = await churning({ churn: 10, profile: 'live' });
    const start = [...sandbox.living()];
    const seen = new Map<string, LivingPerson>(start.map((person) => [person.uuid, person]));
    let sizes = new Set<number>();
    for (let round = 0; round < 15; round += 1) {
      const version = sandbox.version();
      const before = new Set([...sandbox.living()].map(({ uuid }) => uuid));
      await soak(sandbox, 10);
      const living = [...sandbox.living()];
      const gone = [...sandbox.gone()].filter(({ until_version: until }) => until > version);
      const lost = [...before].filter((uuid) => !living.some((person) => person.uuid === uuid));
      expect(lost.toSorted()).toEqual(
        gone
          .map(({ uuid }) => uuid)
          .filter((uuid) => before.has(uuid))
          .toSorted(),
      );
      expect([...sandbox.stableSince(version)].toSorted()).toEqual(
        living
          .map(({ uuid }) => uuid)
          .filter((uuid) => before.has(uuid))
          .toSorted(),
      );
      for (const person of living) seen.set(person.uuid, person);
      sizes = sizes.add(living.length);
    }
    const living = [...sandbox.living()];
    const distinctIds = living.flatMap(({ distinct_ids: ids }) => ids);
    expect(new Set(distinctIds).size).toBe(distinctIds.length);
    expect(new Set(living.map(({ uuid }) => uuid)).size).toBe(living.length);
    expect(living.length).toBe(sandbox.store.lifecycle.count());
    expect(living.length).toBeGreaterThan(300);
    const gone: GonePerson[] = [...sandbox.gone()];
    expect(gone.some(({ merged_into: into }) => into !== null)).toBe(true);
    expect(gone.some(({ merged_into: into }) => into === null)).toBe(true);
    for (const { merged_into: into } of gone)
      if (into !== null) expect(seen.has(into) || gone.some(({ uuid }) => uuid === into)).toBe(true);
    expect(sizes.size).toBeGreaterThan(10);
    expect(sandbox.version()).toBeGreaterThan(2000);
  });

  it('paging with no care misses persons who were there all along', async () => {
    await using sandbox = await churning({ churn: 4, persons: 3000 });
    const version = sandbox.version();
    const seen = new Set<string>();
    let rows = 50;
    for (let offset = 0; rows === 50; offset += 50) {
      const { text } = await ask(sandbox, `/persons/?limit=50&offset=${offset}`);
      const { results } = JSON.parse(text) as ListBody<{ uuid: string }>;
      for (const { uuid } of results) seen.add(uuid);
      rows = results.length;
    }
    const missed = [...sandbox.stableSince(version)].filter((uuid) => !seen.has(uuid));
    expect(missed.length).toBeGreaterThan(0);
  });
});

it('the truth is told line by line, between two equal versions', async () => {
  await using sandbox = await churning();
  await soak(sandbox, 100);
  const { text, headers } = await askUrl(`${sandbox.url}/__sandbox/truth`);
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { state: string });
  const version = { state: 'version', version: sandbox.version() };
  expect(lines).toEqual([version, ...sandbox.living(), ...sandbox.gone(), version]);
});

it('the truth holds properties exactly as they are served', async () => {
  await using sandbox = await smallSandbox({ clock });
  const { text } = await ask(sandbox, '/persons/?limit=60');
  for (const { uuid, id, properties } of sandbox.living()) {
    expect(text).toContain(`"properties":${properties},"created_at"`);
    expect(text).toContain(`"uuid":"${uuid}"`);
    expect(id).toBeLessThanOrEqual(60);
  }
});

it('goes on in a folder that is opened again', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const versions: number[] = [];
  for (let time = 0; time < 3; time += 1) {
    await using sandbox = await churning({ dir, churn: 20, persons: 60 });
    await soak(sandbox, 20);
    versions.push(sandbox.version());
    expect(sandbox.requests().every(({ status }) => status === 200)).toBe(true);
  }
  expect(versions.toSorted((a, b) => a - b)).toEqual(versions);
  expect(new Set(versions).size).toBe(3);
});
