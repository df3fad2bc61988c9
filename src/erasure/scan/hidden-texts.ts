import { longPieces, type Needles } from './needles.ts';
import type { ScanSubject } from './scan-task.ts';
import { readRaw } from './search-files.ts';
import type { SharedText } from './shared-text.ts';
import { createShingleSearch, shingleBytes } from './shingle-search.ts';
import { isDatabase } from './unread-formats.ts';

/** An identifier of a subject, by its place in the task. */
type HiddenText = { subject: number; bytes: Buffer };

/**
 * The identifiers that the search by pieces passes over, since rows of others hold every piece: another person's property can quote
 * them. To be asked once all is searched.
 */
export function* hiddenTexts(
  subjects: readonly ScanSubject[],
  { search }: Pick<Needles, 'search'>,
  shared: SharedText,
): Generator<HiddenText> {
  for (const [subject, { identity }] of subjects.entries())
    for (const texts of [identity.person_uuid, identity.distinct_id, identity.recording_id])
      for (const text of texts) {
        const bytes = Buffer.from(text);
        let isFound = longPieces(text).length === 0;
        search.openStream((shingle) => void (isFound ||= !shared.has(shingle)))(bytes);
        if (!isFound) yield { subject, bytes };
      }
}

/**
 * Prepares the count of whole identifiers in a file: no part of a longer word counts. In a database stand rows of others, and nothing
 * counts. Throws the system's error.
 */
export function countWhole(texts: readonly HiddenText[]): (path: string) => Map<HiddenText, number> {
  const keptBytes = texts.reduce((most, { bytes }) => Math.max(most, bytes.length), 0) + 1;
  // By their ends: identifiers often begin alike.
  const ends = createShingleSearch(texts.length);
  const textsOf = Map.groupBy(texts, ({ bytes }) => ends.add(bytes, bytes.length - shingleBytes));
  return (path) => {
    const counts = new Map<HiddenText, number>();
    let before: Buffer | undefined;
    let isPassedOver = false;
    const take = (chunk: Uint8Array): void => {
      const bytes = Buffer.concat([before ?? Buffer.alloc(0), chunk]);
      if (before === undefined) isPassedOver = isDatabase(bytes.toString('hex', 0, 16));
      if (isPassedOver) return;
      const seen = before?.length ?? 0;
      const found = new Set<number>();
      ends.openStream((end) => void found.add(end))(bytes);
      for (const text of [...found].flatMap((end) => textsOf.get(end) ?? []))
        for (let at = -1; (at = bytes.indexOf(text.bytes, at + 1)) !== -1;) {
          const behind = at + text.bytes.length;
          // What byte follows must be known. Where it was known before, it was counted then.
          if (behind < bytes.length && behind >= seen && isWhole(bytes, at, behind))
            counts.set(text, (counts.get(text) ?? 0) + 1);
        }
      before = bytes.subarray(Math.max(0, bytes.length - keptBytes));
    };
    readRaw(path, take);
    take(Buffer.from(' '));
    return counts;
  };
}

/** Whether no longer word holds what stands from one offset to another: `ann@x.test` is not `joann@x.test`, and ends a sentence. */
function isWhole(bytes: Buffer, from: number, to: number): boolean {
  const isOfWord = (at: number): boolean => /[\w@+\-\x80-\xff]/.test(String.fromCharCode(bytes[at] ?? 0));
  const isDot = (at: number): boolean => bytes[at] === 46;
  const isBefore = isOfWord(from - 1) || (isDot(from - 1) && isOfWord(from - 2));
  return !isBefore && !isOfWord(to) && !(isDot(to) && isOfWord(to + 1));
}
