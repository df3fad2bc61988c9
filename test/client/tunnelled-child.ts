import { openTransport } from '../../src/client/transport.ts';
import { postWebhook } from '../../src/client/post.ts';
import { systemClock } from '../../src/core/clock.ts';
import { limits } from './child-limits.ts';

// Asks the service and posts to the webhook, once each. Prints `done`, or what went wrong.
const origin = process.argv[2] ?? '';
try {
  const transport = openTransport(origin, 'key', 1, limits);
  await transport.send({ method: 'GET', path: '/service' });
  await transport.close();
  const signal = new AbortController().signal;
  await postWebhook(`${origin}/webhook`, {}, { clock: systemClock, random: () => 0, signal });
  process.stdout.write('done');
} catch (error) {
  process.stdout.write((error as Error).message);
}
