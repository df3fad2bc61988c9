import { readCertificates, type TimeStamp } from '../../docs/verifier/verify.mjs';
import { type AppError, systemCode, usageError } from '../core/errors.ts';
import type { Settings } from '../config/settings.ts';
import { checkpointOfSize, listCheckpointSizes, type Checkpoint } from '../ledger/checkpoint.ts';
import { entriesPath, readLines } from '../ledger/entry-file.ts';
import { readEntry } from '../ledger/entry.ts';
import { cosignedAt, readVkey } from '../ledger/note.ts';
import { askAuthority, type Ask, type Answer, askWitness } from './ask.ts';
import { readTimeStamps, stampedAt } from './time-stamp.ts';
import { readWholeFile } from '../core/folder.ts';

/** An authority or a witness of the settings. */
export type Anchor = {
  /** What messages call it: its host. */
  name: string;
  /** Whether it is asked about a checkpoint that it has anchored, too: a witness says when it has seen a longer ledger. */
  isAskedAgain: boolean;
  isAnchored(checkpoint: Checkpoint, stamps: readonly TimeStamp[]): boolean;
  /** Asks for its token or cosignature over a checkpoint, and keeps it beside. `covered`: the newest size that it has anchored. */
  ask(task: Ask): Promise<Answer>;
};

/** The anchors of the settings. Throws `usage` where a key or a file of certificates is wrong. */
export function openAnchors({ audit }: Pick<Settings, 'audit'>): Anchor[] {
  return audit.anchors.map((anchor): Anchor => {
    if ('witness' in anchor) {
      const key = readVkey(anchor.key, 'cosignature');
      if (!key)
        throw wrong(`the key of the witness ${anchor.witness} is no vkey of a witness (Ed25519, cosignature/v1)`);
      return {
        name: new URL(anchor.witness).host,
        isAskedAgain: true,
        isAnchored: ({ note }) => typeof cosignedAt(note, key) === 'number',
        ask: (task) => askWitness(anchor.witness, key, task),
      };
    }
    const certificates = certificatesIn(anchor.certificates);
    return {
      name: new URL(anchor.timeStampAuthority).host,
      isAskedAgain: false,
      isAnchored: (checkpoint, stamps) => stampedAt(checkpoint, stamps, certificates) !== undefined,
      ask: (task) => askAuthority(anchor.timeStampAuthority, certificates, task),
    };
  });
}

function certificatesIn(file: string): ReturnType<typeof readCertificates> {
  try {
    return readCertificates(readWholeFile(file).toString());
  } catch (error) {
    throw wrong(`${file} holds no certificate of an authority (${systemCode(error) ?? 'no PEM'})`);
  }
}

function wrong(message: string): AppError {
  return usageError(message, 'correct `audit.anchors` in the settings');
}

/** How far an anchor reaches. Times are ISO 8601 UTC. */
export type Reach = {
  anchor: Anchor;
  /** How many entries, from the first, it has anchored. */
  covered: number;
  /** The earliest time of the others: the clock can have been ahead at the first. Null where there is no other. */
  waitingSince: string | null;
};

/** An entry may wait so long for an anchor. Then the anchor is missing. */
const waitMaxMs = 2 * 86_400_000;

/** How far each anchor reaches in a ledger's folder. Throws `storage` when the ledger cannot be read. */
export function reachOf(folder: string, anchors: readonly Anchor[]): Reach[] {
  const stamps = readTimeStamps(folder);
  const covered = anchors.map((anchor) => newestSize(folder, (checkpoint) => anchor.isAnchored(checkpoint, stamps)));
  const reaches = anchors.map((anchor, index): Reach => ({ anchor, covered: covered[index] ?? 0, waitingSince: null }));
  const least = Math.min(...covered);
  let seq = 0;
  for (const line of readLines(entriesPath(folder))) {
    const entry = seq >= least ? readEntry(line) : undefined;
    if (typeof entry === 'object')
      for (const reach of reaches)
        if (seq >= reach.covered && (reach.waitingSince === null || entry.at < reach.waitingSince))
          reach.waitingSince = entry.at;
    seq += 1;
  }
  return reaches;
}

/** The size of the newest checkpoint for which a condition holds; 0 for none. */
function newestSize(folder: string, isSo: (checkpoint: Checkpoint) => boolean): number {
  for (const size of listCheckpointSizes(folder).toReversed()) {
    const checkpoint = checkpointOfSize(folder, size);
    if (checkpoint && isSo(checkpoint)) return checkpoint.size;
  }
  return 0;
}

/** A sentence for each anchor that is missing or old at a time, in milliseconds since 1970. */
export function missingAnchors(reaches: readonly Reach[], nowMs: number): string[] {
  return reaches.flatMap(({ anchor, covered, waitingSince }) => {
    if (waitingSince === null || nowMs - Date.parse(waitingSince) <= waitMaxMs) return [];
    const what =
      covered === 0 ? 'has never anchored the ledger' : `has anchored ${covered} entries and none after them`;
    return [`${anchor.name} ${what}; the next entry has waited since ${waitingSince.slice(0, 16)}Z`];
  });
}

/** The answer of an anchor, in a sentence. */
export type Anchored = { name: string; result: Answer['result']; entries: number; says: string };

/**
 * Asks each anchor for the newest checkpoint, and first for those that another anchor has and it has not, so that each anchored
 * checkpoint gets all anchors. All are asked at the same time. An anchor that is away does not make this fail.
 */
export async function askAnchors(
  folder: string,
  anchors: readonly Anchor[],
  tools: { signal: AbortSignal },
): Promise<Anchored[]> {
  const stamps = readTimeStamps(folder);
  const reaches = reachOf(folder, anchors);
  const newest = newestSize(folder, () => true);
  const anchoredSizes = listCheckpointSizes(folder).flatMap((size) => {
    const checkpoint = checkpointOfSize(folder, size);
    return checkpoint && anchors.some((anchor) => anchor.isAnchored(checkpoint, stamps)) ? [checkpoint.size] : [];
  });
  return Promise.all(
    reaches.map(async ({ anchor, covered }) => {
      const sizes = new Set([...anchoredSizes.filter((size) => size > covered).slice(-sizesMax), newest]);
      let answer: Answer = { result: 'anchored', says: `has anchored ${covered} entries` };
      let reached = covered;
      for (const size of sizes) {
        if (size <= reached && !(anchor.isAskedAgain && size === newest)) continue;
        answer = await anchor.ask({ folder, size, covered: reached, isNewest: size === newest, ...tools });
        if (answer.result !== 'anchored') break;
        reached = size;
      }
      const { result, says } = answer;
      return { name: anchor.name, entries: reached, result, says };
    }),
  );
}

/** So many older checkpoints are anchored after an absence. */
const sizesMax = 8;
