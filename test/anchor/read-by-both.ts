import type { X509Certificate } from 'node:crypto';
import { expect } from 'vitest';
import { readTimeStamp, type TimeStamp } from '../../src/anchor/time-stamp.ts';

const verifier = new URL('../../docs/verifier/verify.mjs', import.meta.url).href;
/** The stand-alone verifier. */
export const alone = (await import(verifier)) as {
  readTimeStamp: (token: Buffer) => TimeStamp | undefined;
  isTrusted: (stamp: TimeStamp, trusted: readonly X509Certificate[]) => boolean;
};

/** What both implementations make of a token. They have to agree. */
export function readByBoth(token: Buffer): { imprint: string; time: number } | undefined {
  const [ours, theirs] = [readTimeStamp(token), alone.readTimeStamp(token)];
  const facts = ours && { imprint: ours.imprint, time: ours.time };
  expect(theirs && { imprint: theirs.imprint, time: theirs.time }).toEqual(facts);
  return facts;
}

/** The places of a token at which both implementations still read it after a change: of a bit, cut there, or one byte longer. */
export function changedAndRead(token: Buffer, nth: number): number[] {
  const read: number[] = [];
  for (let at = 0; at < token.length; at += nth) {
    const changed = Buffer.from(token);
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
    const others = [changed, token.subarray(0, at), Buffer.concat([token, Buffer.of(at % 256)])];
    if (others.some(readByBoth)) read.push(at);
  }
  return read;
}
