import { assertNever } from '../../core/errors.ts';
import { randomFor, type SeededRandom } from '../generator/seeded-random.ts';

/** The faults, each with the requests that it can strike. */
const faults = {
  /** Too many requests; `Retry-After` in seconds, as a date, absent or absurd. */
  '429': 'any',
  '500': 'any',
  '502': 'any',
  '503': 'any',
  '504': 'any',
  /** A status that only some live services know. */
  '512': 'any',
  /** The connection is reset before anything is answered or done. */
  reset: 'any',
  /** The connection is cut in the middle of the body. */
  cut: 'any',
  /** The headers come late, or the body drips. */
  slow: 'any',
  /** 200 with a login page. */
  html: 'any',
  /** 200 without a body. */
  empty: 'any',
  /** 200 with JSON that ends too early. */
  garbage: 'any',
  /** A small body that unpacks to hundreds of megabytes. */
  huge: 'any',
  redirect: 'any',
  /** One row of a page has wrong types. */
  'bad-row': 'list',
  /** `next` repeats the offset that was asked for. */
  'next-stuck': 'list',
  /** `next` goes back. */
  'next-back': 'list',
  /** `next` names another host. This is harmless to a caller that takes only the offset from it. */
  'next-elsewhere': 'list',
  /** A large page at a large offset always fails. */
  deep: 'deep page',
  /** A DELETE is carried out, and not answered. */
  'timeout-after-act': 'delete',
} as const satisfies Record<string, 'any' | 'list' | 'delete' | 'deep page'>;

export type Fault = keyof typeof faults;

/** A fault, or a mixture of all faults that pass when the request is repeated. */
export type FaultKind = Fault | 'mixed';

/** Every kind that may be asked for. */
export const faultKinds: readonly FaultKind[] = [...(Object.keys(faults) as Fault[]), 'mixed'];

/** The faults that pass when the request is repeated. */
const mixture = (Object.keys(faults) as Fault[]).filter(
  (fault) => faults[fault] === 'any' && fault !== 'huge' && fault !== 'redirect',
);

/** Which faults, how often and how long. */
export type FaultOptions = {
  kind: FaultKind;
  /** The share, from 0 to 1, of the requests that the fault can strike. */
  share: number;
  seed: number;
  /** The longest delay of an answer, in milliseconds. In a mixture, a twentieth of it. */
  holdMs: number;
};

/** The request for which a fault is chosen. */
export type FaultTarget = { requestNumber: number; method: string; isList: boolean; offset: number; limit: number };

/** A planned fault with its random choices. A mild one asks the caller to wait for a second at most. */
export type PlannedFault = { fault: Fault; isMild: boolean; holdMs: number; random: SeededRandom };

/** From this offset on, pages with more rows than this fail. */
export const deepPage = { offset: 1000, limitMax: 100 };

/** The fault that strikes a request, if any. The same seed and request number give the same fault. */
export function planFault(options: FaultOptions, target: FaultTarget): PlannedFault | undefined {
  const { kind, share, seed } = options;
  const random = randomFor('fault', seed, target.requestNumber);
  const isMild = kind === 'mixed';
  const fault = kind === 'mixed' ? random.pick(mixture) : kind;
  const isStruck = random.int(1, 1_000_000) <= share * 1_000_000;
  if (!strikes(fault, target) || !(isStruck || fault === 'deep')) return undefined;
  return { fault, isMild, holdMs: isMild ? options.holdMs / 20 : options.holdMs, random };
}

function strikes(fault: Fault, { method, isList, offset, limit }: FaultTarget): boolean {
  switch (faults[fault]) {
    case 'any':
      return true;
    case 'list':
      return isList;
    case 'delete':
      return method === 'DELETE';
    case 'deep page':
      return isList && offset >= deepPage.offset && limit > deepPage.limitMax;
    default:
      return assertNever(faults[fault]);
  }
}
