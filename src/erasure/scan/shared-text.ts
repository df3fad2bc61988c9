import type { Needles } from './needles.ts';

/** Which shingles stand in what remains rightly, and so prove nothing. */
export type SharedText = {
  /** Takes texts of rows that are nobody's who is looked for: what they hold is shared. */
  take(values: readonly unknown[]): void;
  /** Takes the texts of a feed of deletions: of the subjects, only uuids and recording ids may stand there. */
  takeFeed(values: readonly unknown[]): void;
  /** Whether a shingle is shared, by all that was taken so far. */
  has(shingle: number): boolean;
};

const batchBytes = 1 << 20;
const separator = 0;

/** Prepares an empty record of shared text. */
export function createSharedText({ search, isFeedKey }: Needles): SharedText {
  const isShared = new Uint8Array(search.size());
  const rows = batchTexts(
    search.openStream((shingle) => {
      isShared[shingle] = 1;
    }),
  );
  const feeds = batchTexts(
    search.openStream((shingle) => {
      if (isFeedKey(shingle)) isShared[shingle] = 1;
    }),
  );
  return {
    take: rows.take,
    takeFeed: feeds.take,
    has: (shingle) => {
      rows.flush();
      feeds.flush();
      return isShared[shingle] === 1;
    },
  };
}

/** Writes texts, apart from each other, into one buffer: short ones one by one would cost more than their search. */
function batchTexts(write: (bytes: Uint8Array) => void): {
  take: (values: readonly unknown[]) => void;
  flush: () => void;
} {
  const batch = Buffer.alloc(batchBytes);
  let used = 0;
  const flush = (): void => {
    if (used > 0) write(batch.subarray(0, used));
    used = 0;
  };
  const takeText = (text: string): void => {
    const bytesMax = text.length * 3 + 1;
    if (used + bytesMax > batchBytes) flush();
    if (bytesMax > batchBytes) write(Buffer.from(`${text}\0`));
    else {
      used += batch.write(text, used);
      batch[used] = separator;
      used += 1;
    }
  };
  const take = (values: readonly unknown[]): void => {
    for (const value of values)
      if (typeof value === 'string') takeText(value);
      else if (Array.isArray(value)) take(value);
  };
  return { take, flush };
}
