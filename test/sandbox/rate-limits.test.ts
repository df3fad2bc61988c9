import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRateLimits, rateLimiter, type RateLimit } from '../../src/sandbox/rate-limits.ts';
import { requestLog, type LoggedRequest } from '../../src/sandbox/http/traffic.ts';
import { ask, askUrl, smallSandbox, standingClock } from './sandbox-requests.ts';

describe('rate limits', () => {
  it('are read from text', () => {
    expect(parseRateLimits('9/s, 480/min,4800/h')).toEqual([
      { requests: 9, perSeconds: 1 },
      { requests: 480, perSeconds: 60 },
      { requests: 4800, perSeconds: 3600 },
    ]);
    for (const text of ['', '5', '0/s', '5/day', '5/s,', '-1/s', '1.5/s', '5 /s x'])
      expect(parseRateLimits(text)).toBeUndefined();
  });

  it('no window ever holds more, none is held back without need, and the wait is exact', () => {
    const limit = fc.record({ requests: fc.integer({ min: 1, max: 5 }), perSeconds: fc.integer({ min: 1, max: 3 }) });
    const gapsMs = fc.array(fc.integer({ min: 0, max: 1500 }), { maxLength: 120 });
    const fits = (times: readonly number[], atMs: number, limits: readonly RateLimit[]): boolean =>
      limits.every(
        ({ requests, perSeconds }) => times.filter((time) => time > atMs - perSeconds * 1000).length < requests,
      );
    fc.assert(
      fc.property(fc.array(limit, { minLength: 1, maxLength: 3 }), gapsMs, (limits, gaps) => {
        const limiter = rateLimiter(limits);
        const admitted: number[] = [];
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          const waitMs = limiter.admit('key', nowMs);
          expect(waitMs === 0).toBe(fits(admitted, nowMs, limits));
          if (waitMs === 0) admitted.push(nowMs);
          else {
            expect(fits(admitted, nowMs + waitMs, limits)).toBe(true);
            expect(fits(admitted, nowMs + waitMs - 1, limits)).toBe(false);
          }
        }
      }),
    );
  });

  it('hold for each key by itself, and say how long to wait', async () => {
    const clock = standingClock('2025-06-04T12:00:00.000Z');
    await using sandbox = await smallSandbox({ clock, rates: [{ requests: 2, perSeconds: 60 }] });
    const read = async (key = sandbox.apiKey): Promise<[number, string | null]> => {
      const { status, headers } = await ask(sandbox, '/persons/1', { key });
      return [status, headers.get('retry-after')];
    };
    expect(await read()).toEqual([200, null]);
    clock.set('2025-06-04T12:00:30.500Z');
    expect(await read()).toEqual([200, null]);
    expect(await read()).toEqual([429, '30']);
    expect(await read(sandbox.readOnlyKey)).toEqual([200, null]);
    clock.set('2025-06-04T12:01:00.000Z');
    expect(await read()).toEqual([200, null]);
    expect(await read()).toEqual([429, '31']);
  });
});

describe('the request log', () => {
  it('tells what was asked, when, by which key, and what was answered', async () => {
    const clock = standingClock('2025-06-04T12:00:00.000Z');
    await using sandbox = await smallSandbox({ clock });
    sandbox.store.apiKeys.issue('sandbox_third', 1, []);
    await ask(sandbox, '/persons/?limit=5&offset=10');
    // A clock that is set back does not turn the log around.
    clock.set('2025-06-04T11:00:00.000Z');
    await ask(sandbox, '/session_recordings/?limit=x', { key: sandbox.readOnlyKey });
    await ask(sandbox, '/persons/1', { key: 'sandbox_third' });
    await ask(sandbox, '/persons/1', { key: 'unknown' });
    await ask(sandbox, '/persons/1', { key: null });
    const atMs = Date.parse('2025-06-04T12:00:00Z');
    const none = { atMs, offset: null, limit: null };
    const expected: LoggedRequest[] = [
      { atMs, endpoint: 'persons.list', status: 200, offset: 10, limit: 5, keyIndex: 0 },
      { ...none, endpoint: 'recordings.list', status: 400, keyIndex: 1 },
      { ...none, endpoint: 'persons.retrieve', status: 403, keyIndex: 2 },
      { ...none, endpoint: 'persons.retrieve', status: 401, keyIndex: null },
      { ...none, endpoint: 'persons.retrieve', status: 401, keyIndex: null },
    ];
    expect(sandbox.requests()).toEqual(expected);
    const url = `${sandbox.url}/__sandbox/requests`;
    expect(JSON.parse((await askUrl(url)).text)).toEqual({ requests: expected });
    expect((await askUrl(url, { method: 'DELETE' })).status).toBe(204);
    expect(sandbox.requests()).toEqual([]);
    await ask(sandbox, '/persons/1');
    sandbox.clearRequests();
    expect(sandbox.requests()).toEqual([]);
  });

  it('shows that no window held more than the limit, under many callers at once', async () => {
    const rates = [
      { requests: 20, perSeconds: 1 },
      { requests: 30, perSeconds: 60 },
    ];
    await using sandbox = await smallSandbox({ rates });
    await Promise.all(Array.from({ length: 120 }, () => ask(sandbox, '/persons/1')));
    const log = sandbox.requests();
    const passed = log.filter(({ status }) => status === 200).map(({ atMs }) => atMs);
    expect(log).toHaveLength(120);
    expect(passed.length).toBeLessThanOrEqual(30);
    expect(passed.length).toBeGreaterThanOrEqual(20);
    expect(log.filter(({ status }) => status === 429)).toHaveLength(120 - passed.length);
    for (const endMs of passed)
      expect(passed.filter((atMs) => atMs > endMs - 1000 && atMs <= endMs).length).toBeLessThanOrEqual(20);
  });

  it('keeps the latest, in order', () => {
    const log = requestLog(3);
    for (let offset = 0; offset < 7; offset += 1)
      log.add({ atMs: offset, endpoint: 'persons.list', status: 200, offset, limit: 1, keyIndex: 0 });
    expect(log.all().map(({ offset }) => offset)).toEqual([4, 5, 6]);
    log.clear();
    log.add({ atMs: 9, endpoint: 'persons.list', status: 200, offset: 9, limit: 1, keyIndex: 0 });
    expect(log.all().map(({ offset }) => offset)).toEqual([9]);
  });
});
