import { hash, randomBytes } from 'node:crypto';
import { isTrusted, readTimeStamp, type AuthorityCertificate } from '../../docs/verifier/verify.mjs';
import { checkpointOfSize, keepTimeStamp } from '../ledger/checkpoint.ts';
import { askOutside, type Answer, type Ask } from './ask.ts';
import { timeStampQuery, tokenOfReply } from './time-stamp.ts';

/**
 * Asks a time-stamp authority (RFC 3161) for a token over a checkpoint. It is kept only where it is over this checkpoint, for
 * this request, and by one of these certificates.
 */
export async function askAuthority(
  url: string,
  certificates: readonly AuthorityCertificate[],
  { folder, size, signal }: Ask,
): Promise<Answer> {
  const imprint = hash('sha256', checkpointOfSize(folder, size)?.note.text ?? '', 'buffer');
  const nonce = randomBytes(8);
  // A positive number without zeros in front, so that it has one spelling.
  nonce[0] = ((nonce[0] ?? 0) & 0x7f) | 0x40;
  const query = { body: timeStampQuery(imprint, nonce), type: 'application/timestamp-query' };
  const reply = await askOutside(url, query, signal);
  if ('result' in reply) return reply;
  const token = reply.status === 200 ? tokenOfReply(reply.body) : undefined;
  if (!token) return { result: 'away', says: `gave no time stamp (status ${reply.status})` };
  const stamp = readTimeStamp(token);
  if (stamp?.imprint !== imprint.toString('hex') || stamp.nonce?.equals(nonce) !== true)
    return { result: 'away', says: 'gave a time stamp that is damaged, or of something else' };
  if (!isTrusted(stamp, certificates))
    return { result: 'away', says: 'gave a time stamp by a certificate that is not trusted: see `certificates`' };
  keepTimeStamp(folder, size, token);
  return { result: 'anchored', says: `has stamped ${size} entries` };
}
