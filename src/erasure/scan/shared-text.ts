import type { Needles } from './needles.ts';

/** A place in which a shingle was found: the file whose fixed words count there, and whether a feed stands there. */
export type Where = { file: string | undefined; isFeed: boolean };

/** Shingles that rows which may stay also hold, but for a few bytes at an end. A match of these proves nothing. */
export type SharedText = {
  /** Takes texts of rows that are about no subject: they are shared. */
  take(values: readonly unknown[]): void;
  /** Takes texts of a feed of deletions: person uuids and recording ids of subjects may stand there, nothing else of them. */
  takeFeed(values: readonly unknown[]): void;
  /** Takes fixed words of this program that stand in a file: a match of them in that file proves nothing. */
  takeFixedWords(file: string, words: readonly unknown[]): void;
  /**
   * Whether a shingle is shared, by all texts taken so far; in a file, by its fixed words too; where a feed stands, by the
   * keys in the feeds too.
   */
  has(shingle: number, where?: Where): boolean;
};

const batchBytes = 1 << 20;
const separator = '\0';

/** Prepares an empty record of shared text. */
export function createSharedText({ edges, edgesOf, search, isFeedKey }: Needles): SharedText {
  const isShared = new Uint8Array(edges.size());
  const isInFeed = new Uint8Array(edges.size());
  const isOfFeedKey = new Uint8Array(edges.size());
  for (let shingle = 0; shingle < search.size(); shingle += 1)
    if (isFeedKey(shingle)) for (const edge of edgesOf(shingle)) isOfFeedKey[edge] = 1;
  const rows = batchRows(
    edges.openStream((edge) => {
      isShared[edge] = 1;
    }),
  );
  const feeds = batchRows(
    edges.openStream((edge) => {
      if (isOfFeedKey[edge] === 1) isInFeed[edge] = 1;
    }),
  );
  const ownEdges = new Map<string, Set<number>>();
  let ownFile = new Set<number>();
  const own = batchRows(edges.openStream((edge) => ownFile.add(edge)));
  return {
    take: rows.take,
    takeFeed: feeds.take,
    takeFixedWords: (file, words) => {
      const edgesOfFile = ownEdges.get(file) ?? new Set<number>();
      ownEdges.set(file, edgesOfFile);
      if (edgesOfFile !== ownFile) own.flush();
      ownFile = edgesOfFile;
      own.take(words);
    },
    has: (shingle, { file, isFeed } = { file: undefined, isFeed: false }) => {
      for (const { flush } of [rows, feeds, own]) flush();
      const ownOfFile = file === undefined ? undefined : ownEdges.get(file);
      return edgesOf(shingle).some(
        (edge) => isShared[edge] === 1 || (isFeed && isInFeed[edge] === 1) || ownOfFile?.has(edge),
      );
    },
  };
}

/**
 * Writes rows into one buffer, since writing value by value would cost more than the search. Texts stand side by side, as
 * SQLite stores a row, so that a shingle can begin in one text and end in the next. Null, 0 and 1 take no room there.
 */
function batchRows(write: (bytes: Uint8Array) => void) {
  const batch = Buffer.alloc(batchBytes);
  let used = 0;
  const flush = (): void => {
    if (used > 0) write(batch.subarray(0, used));
    used = 0;
  };
  const takeText = (text: string): void => {
    const bytesMax = text.length * 3;
    if (used + bytesMax > batchBytes) flush();
    if (bytesMax > batchBytes) write(Buffer.from(text));
    else used += batch.write(text, used);
  };
  const takeValue = (value: unknown): void => {
    if (typeof value === 'string') takeText(value);
    else if (Array.isArray(value)) {
      for (const item of value) {
        takeValue(item);
        takeText(separator);
      }
    } else if (value !== null && Number(value) !== 0 && Number(value) !== 1) takeText(separator);
  };
  return {
    flush,
    take: (values: readonly unknown[]): void => {
      for (const value of values) takeValue(value);
      takeText(separator);
    },
  };
}
