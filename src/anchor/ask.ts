import { post, type Post } from '../client/post.ts';
import { AppError } from '../core/errors.ts';
import { hash, randomBytes } from 'node:crypto';
import { isTrusted, readTimeStamp, type AuthorityCertificate } from '../../docs/verifier/verify.mjs';
import { checkpointOfSize, keepTimeStamp, addCosignature, readCheckpointFile } from '../ledger/checkpoint.ts';
import { timeStampQuery, tokenOfReply } from './time-stamp.ts';
import { entriesPath, readLines } from '../ledger/entry-file.ts';
import { consistencyProof } from '../ledger/merkle-proof.ts';
import { leafHash } from '../ledger/merkle.ts';
import { cosignedAt, readNote, type VerifierKey } from '../ledger/note.ts';

/** What an anchor is asked: to anchor the checkpoint of a size. `covered`: the newest size that it is known to have anchored. */
export type Ask = { folder: string; size: number; covered: number; isNewest: boolean; signal: AbortSignal };

/** `away`: it may answer later. `refused`: it says that the ledger is not the one that it has seen. */
export type Answer = { result: 'anchored' | 'away' | 'refused'; says: string };

// All anchors are asked at the same time, so a run waits for the slowest only, and a witness is asked twice at the most.
const bounds = { timeoutMs: 10_000, bytesMax: 100_000 };

/** Posts to an anchor. An anchor that gives no answer in time, or a longer one than allowed, is `away`. Throws when the signal is aborted. */
async function askOutside(
  url: string,
  content: Pick<Post, 'body' | 'type'>,
  signal: AbortSignal,
): Promise<{ status: number; body: Buffer } | Answer> {
  try {
    const { status, body } = await post(url, { ...content, ...bounds }, signal);
    return body === null ? { result: 'away', says: 'answered with too many bytes' } : { status, body };
  } catch (error) {
    if (!(error instanceof AppError) || signal.aborted) throw error;
    return { result: 'away', says: `cannot be reached (${error.message})` };
  }
}

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

/**
 * Asks a witness (https://c2sp.org/tlog-witness) to cosign a checkpoint, from the size that it is known to have cosigned; once
 * more, from the size that it says to have. Only a cosignature of its own is kept, and none where it has cosigned that size.
 */
export async function askWitness(url: string, key: VerifierKey, task: Ask): Promise<Answer> {
  const { folder, size, covered, isNewest, signal } = task;
  const note = readCheckpointFile(folder, size) ?? '';
  const leaves: Buffer[] = [];
  for (const line of readLines(entriesPath(folder))) {
    if (leaves.length === size) break;
    leaves.push(leafHash(line));
  }
  const askFrom = (old: number): ReturnType<typeof askOutside> => {
    const proof = consistencyProof(leaves, old).map((each) => `${each.toString('base64')}\n`);
    const body = `old ${old}\n${proof.join('')}\n${note}`;
    return askOutside(`${url.replace(/\/$/, '')}/add-checkpoint`, { body, type: 'text/plain' }, signal);
  };
  let reply = await askFrom(covered);
  const seen = 'body' in reply && reply.status === 409 ? Number(/^(\d{1,15})\n?$/.exec(String(reply.body))?.[1]) : NaN;
  if (seen > size && !isNewest) return { result: 'anchored', says: `has cosigned ${seen} entries` };
  if (seen > size)
    return {
      result: 'refused',
      says: `has seen ${seen} entries; this ledger has ${size}: some were removed, or an older one was put back`,
    };
  if (seen !== covered && seen <= size) reply = await askFrom(seen);
  if ('result' in reply) return reply;
  if (reply.status === 409 || reply.status === 422)
    return {
      result: 'refused',
      says: 'has seen other entries than this ledger has: some were changed, or an older ledger was put back and went on',
    };
  if (reply.status === 403 || reply.status === 404)
    return {
      result: 'away',
      says: 'does not know this ledger; give its operator the newest line of ledger/public-keys.txt',
    };
  const lines =
    reply.status === 200
      ? String(reply.body)
          .split('\n')
          .map((line) => `${line}\n`)
      : [];
  const own = lines.find((line) => {
    const cosigned = readNote(`${readNote(note)?.text ?? ''}\n${line}`);
    return cosigned && typeof cosignedAt(cosigned, key) === 'number';
  });
  if (own === undefined) return { result: 'away', says: `gave no cosignature of its key (status ${reply.status})` };
  if (size > covered) addCosignature(folder, size, own);
  return { result: 'anchored', says: `has cosigned ${size} entries` };
}
