import { addCosignature, readCheckpointFile } from '../ledger/checkpoint.ts';
import { entriesPath, readLines } from '../ledger/entry-file.ts';
import { consistencyProof } from '../ledger/merkle-proof.ts';
import { leafHash } from '../ledger/merkle.ts';
import { cosignedAt, readNote, type VerifierKey } from '../ledger/note.ts';
import { askOutside, type Answer, type Ask } from './ask.ts';

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
