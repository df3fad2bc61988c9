import type { Receipt } from '../erasure/request/receipt.ts';
import { problem, retryAfter, type Answer } from './answer.ts';
import type { GivenRequest } from './given-request.ts';
import { buckets, giveBack, takeToken } from './limits.ts';
import type { Asked, Found, Told } from './receiver.ts';
import { attemptsOf, isOwnId, type KnownSender } from './sender.ts';

/** What is needed to reach the ledger of a sender's project. */
export type SubmitterParts = { nowMs: () => number; ask: (project: string | null, asked: Asked) => Promise<Told> };

/** The core of every profile: submits requests, and finds those of a sender. Else it has the answer for what went wrong. */
export type Submitter = {
  submit: (
    known: KnownSender,
    idempotencyKey: string,
    request: GivenRequest,
  ) => Promise<{ receipt: Receipt; found: Found } | { answer: Answer }>;
  find: (known: KnownSender, id: string) => Promise<{ found: Found } | { answer: Answer }>;
};

const hourMs = 3_600_000;
/** No answer takes longer, whatever the ledger is doing. */
const answerMsMax = 500;

/** Makes the core. Each sender has its limit. */
export function createSubmitter({ nowMs, ask }: SubmitterParts): Submitter {
  const requestsOf = buckets(nowMs);
  return {
    submit: async (known, idempotencyKey, request) => {
      const { sender } = known;
      const rate = { most: sender.perHour, refillMs: hourMs };
      const bucket = requestsOf(sender.name, rate);
      const waitMs = takeToken(bucket, rate, nowMs());
      if (waitMs > 0) return { answer: problem('too_many', retryAfter(waitMs)) };
      const told = await within(ask(sender.project, { receive: onceOf(known, idempotencyKey, request) }));
      const isNew = told !== 'late' && 'isKnown' in told && !told.isKnown;
      // What is late may be new. What was there already, or is not there, takes nothing of the limit.
      if (told !== 'late' && !isNew) giveBack(bucket, rate);
      if (told === 'late' || 'unavailable' in told) return unavailable();
      if ('refused' in told) return { answer: problem(told.refused) };
      return 'receipt' in told ? told : { answer: problem('failed') };
    },
    find: async (known, id) => {
      if (!isOwnId(known, id)) return { answer: problem('no_such_request') };
      const told = await within(ask(known.sender.project, { find: id }));
      if (told === 'late' || 'unavailable' in told) return unavailable();
      const found = 'found' in told ? told.found : undefined;
      return found ? { found } : { answer: problem('no_such_request') };
    },
  };
}

function unavailable(): { answer: Answer } {
  return { answer: problem('unavailable', retryAfter(5_000)) };
}

/** A request, as the ledger is asked for it. Who allows it is its sender: nobody else has a word here, and nothing is approved. */
function onceOf(
  known: KnownSender,
  idempotencyKey: string,
  request: GivenRequest,
): Extract<Asked, { receive: unknown }>['receive'] {
  const { type, identifier, reference, identity } = request;
  const isAccess = type === 'access';
  const by = reference === undefined ? known.sender.name : `${known.sender.name}/${reference}`;
  return {
    isAccess,
    attempts: attemptsOf(known, idempotencyKey, request),
    given: identifier,
    authority: {
      basis: isAccess ? 'consumer_request' : request.basis,
      by,
      deleteEvents: !isAccess && !request.keep_events,
      ...(identity === undefined ? {} : { decision: { identity } }),
    },
  };
}

function within(told: Promise<Told>): Promise<Told | 'late'> {
  const { promise, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), answerMsMax);
  return Promise.race([told, promise]).finally(() => clearTimeout(timer));
}
