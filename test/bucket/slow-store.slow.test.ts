import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Bucket } from '../../src/bucket/bucket.ts';
import type { Answerer } from '../client/local-server.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { bucketAt } from './follow-world.ts';

/** Sends a little now and then: never silent for so long that the connection ends. */
function drip(
  start: (response: Parameters<Answerer>[1]) => void,
  more: (response: Parameters<Answerer>[1]) => void,
): Answerer {
  return (_request, response) => {
    start(response);
    const timer = setInterval(() => more(response), 5_000);
    response.on('close', () => clearInterval(timer));
  };
}

it('an answer that comes in drops, or never begins, ends after five minutes; so does an object that is slower than it may be', async () => {
  const bytes = drip(
    (response) => response.writeHead(200, { 'Content-Length': '1000' }).write('x'),
    (response) => response.write('x'),
  );
  const answers: [Answerer, (bucket: Bucket) => Promise<unknown>][] = [
    [
      drip(
        (response) => response.write('<?xml version="1.0"?><a>'),
        (response) => response.write('x'),
      ),
      (bucket) => bucket.listVersions(),
    ],
    [
      drip(
        () => undefined,
        (response) => response.writeProcessing(),
      ),
      (bucket) => bucket.describe('a'),
    ],
    [bytes, (bucket) => bucket.read('a', 1_000)],
    [bytes, (bucket) => bucket.fetch('a', join(freshFolder(), 'to'), 1_000)],
  ];
  const began = performance.now();
  await Promise.all(
    answers.map(async ([answer, ask]) => {
      const bucket = await bucketAt(answer);
      await expect(ask(bucket)).rejects.toMatchObject({ code: 'unreachable' });
    }),
  );
  expect(performance.now() - began).toBeGreaterThan(290_000);
  expect(performance.now() - began).toBeLessThan(330_000);
}, 400_000);
