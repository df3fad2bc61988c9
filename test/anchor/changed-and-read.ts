import { readTimeStamp } from '../../docs/verifier/verify.mjs';

/** The places of a token at which it is still read after a change: of a bit, cut there, or one byte longer. */
export function changedAndRead(token: Buffer, nth: number): number[] {
  const read: number[] = [];
  for (let at = 0; at < token.length; at += nth) {
    const changed = Buffer.from(token);
    changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
    const others = [changed, token.subarray(0, at), Buffer.concat([token, Buffer.of(at % 256)])];
    if (others.some((other) => readTimeStamp(other) !== undefined)) read.push(at);
  }
  return read;
}
