import { expect, it } from 'vitest';
import { alertKinds } from '../../src/config/alert-kinds.ts';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/log/logger.ts';
import { alertMessage, signOfLife, type AlertMessage, alertPost } from '../../src/worker/alert-post.ts';
import { alertOf, type AlertChange } from '../../src/worker/alerts.ts';

const log = createLogger({ level: 'silent', isTerminal: false });
const change = (event: 'began' | 'ended', alert = alertOf('stale', 'full is <old> & slow', 'full')): AlertChange => ({
  event,
  project: 'shop',
  alert,
  at: '2026-11-20T12:00:00.000Z',
});
const routingKey = 'R0';

it('json tells what an alert is, in the words of this program', () => {
  expect(alertMessage({ format: 'json', routingKey }, change('began'))).toEqual({
    path: '',
    body: {
      event: 'began',
      project: 'shop',
      alert: 'stale',
      job: 'full',
      message: 'full is <old> & slow',
      todo: alertOf('stale', '').todo.replace('analytics-mirror ', 'analytics-mirror --project shop '),
      at: '2026-11-20T12:00:00.000Z',
    },
  });
});

it('slack gets one text, in which nothing of ours becomes a link or a mention', () => {
  const text = (event: 'began' | 'ended'): unknown => {
    const { body } = alertMessage({ format: 'slack', routingKey }, change(event)) ?? {};
    return typeof body === 'object' && 'text' in body ? body.text : undefined;
  };
  expect(text('began')).toMatch(
    /^:red_circle: \*shop\*: full is &lt;old&gt; &amp; slow\.\n.+`analytics-mirror --project shop doctor`/,
  );
  expect(text('ended')).toBe(':large_green_circle: Over: *shop*: full is &lt;old&gt; &amp; slow.');
});

it.each(alertKinds)('pagerduty resolves the very incident that %s has opened', (kind) => {
  const target = { format: 'pagerduty', routingKey } as const;
  const bodies = (['began', 'ended'] as const).map((event) => {
    // The message may have changed meanwhile: it holds numbers and times.
    const alert = alertOf(kind, event, 'full');
    return alertMessage(target, change(event, alert))?.body as Record<string, unknown>;
  });
  expect(bodies.map((body) => [body['routing_key'], body['event_action'], body['dedup_key']])).toEqual([
    ['R0', 'trigger', `analytics-mirror/shop/${kind}/full`],
    ['R0', 'resolve', `analytics-mirror/shop/${kind}/full`],
  ]);
  expect(bodies[0]?.['payload']).toMatchObject({
    summary: 'shop: began',
    source: 'shop',
    severity: expect.stringMatching(/^(critical|warning)$/) as string,
  });
});

it('healthchecks hears of a failure, and of life while no alert is open', () => {
  const target = { format: 'healthchecks', routingKey } as const;
  expect(alertMessage(target, change('began'))).toMatchObject({ path: '/fail' });
  expect(alertMessage(target, change('ended'))).toBeNull();
  expect(signOfLife(target)).toMatchObject({ path: '' });
  expect(signOfLife({ format: 'slack', routingKey })).toBeNull();
});

it('posts in order, one at a time; a sign of life only while nothing waits and no alert is open', async () => {
  const posted: AlertMessage[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const post = alertPost(
    (message) => {
      posted.push(message);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      return gate.promise;
    },
    { format: 'healthchecks', routingKey },
    log,
  );
  const project = { name: 'shop', alerts: [] };
  const look = (alerts: AlertChange['alert'][]): void => post.look({ projects: [{ ...project, alerts }] as never });
  const { alert } = change('began');
  post.add(change('began'));
  look([alert]);
  look([]);
  expect(posted.map(({ path }) => path)).toEqual(['/fail']);
  gates[0]?.reject(new Error('no'));
  await post.idle();
  look([alert]);
  expect(posted).toHaveLength(1);
  look([]);
  look([]);
  expect(posted.map(({ path }) => path)).toEqual(['/fail', '']);
  gates[1]?.resolve();
  await post.idle();
});

it('an alert that a receiver could not be told waits for the next look; one that it refuses does not', async () => {
  const posted: unknown[] = [];
  let problem: Error | undefined = new AppError('away', { code: 'unreachable', retryable: true });
  const post = alertPost(
    ({ body }) => {
      posted.push((body as { event: string }).event);
      return problem ? Promise.reject(problem) : Promise.resolve();
    },
    { format: 'json', routingKey },
    log,
  );
  post.add(change('began'));
  await post.idle();
  post.look({ projects: [] });
  await post.idle();
  expect(posted).toEqual(['began', 'began']);
  problem = undefined;
  post.add(change('ended'));
  await post.idle();
  expect(posted).toEqual(['began', 'began', 'began', 'ended']);
  problem = new AppError('no', { code: 'service', retryable: false });
  post.add(change('began'));
  await post.idle();
  post.look({ projects: [] });
  await post.idle();
  expect(posted).toHaveLength(5);
  // It answers, but with an error each time: the others are not kept from it for ever.
  problem = new AppError('500', { code: 'service', retryable: true });
  post.add(change('began'));
  await post.idle();
  for (let look = 0; look < 20; look += 1) {
    post.look({ projects: [] });
    await post.idle();
  }
  expect(posted).toHaveLength(5 + 12);
});
