import { systemClock } from '../../src/core/clock.ts';
import { openTransport } from '../../src/client/transport.ts';
import { postWebhook } from '../../src/client/post.ts';
import { openTracer } from '../../src/log/open-tracer.ts';
import { limits } from './child-limits.ts';

// Everything that this program sends, once, to the address given.
const origin = process.argv[2] ?? '';
const transport = openTransport(origin, 'key', 1, limits);
await transport.send({ method: 'GET', path: '/service' });
await transport.close();
const signal = new AbortController().signal;
await postWebhook(`${origin}/webhook`, {}, { clock: systemClock, random: () => 0, signal });
const onLost = (spans: number, reason: string): never => {
  throw new Error(`${spans} spans were lost: ${reason}`);
};
const tracer = openTracer(process.env, { version: '1', now: () => systemClock.now(), onLost });
await tracer.span('a span', { kind: 'internal', attributes: {} }, () => Promise.resolve());
await tracer.close();
// The process's own client, which shows that the proxy would be followed.
process.stdout.write(
  await fetch(`${origin}/other`, { signal: AbortSignal.timeout(2000) }).then(
    (response) => response.text(),
    () => 'no answer',
  ),
);
