import { readJsonText, textLeaves } from '../../core/exact-json.ts';
import { longPieces, type Needles } from './needles.ts';
import type { ScanSubject } from './scan-task.ts';
import { readRaw } from './search-files.ts';
import type { SharedText } from './shared-text.ts';
import { isDatabase } from './unread-formats.ts';

/** An identifier or e-mail address of a subject, by its place in the task. */
type HiddenText = { subject: number; bytes: Buffer };

/** A text of no more than an address: nothing else has this form. */
const emailForm = /^[^\s@]+@[^\s@]+$/;

/**
 * The identifiers and e-mail addresses that the search by pieces passes over, since rows of others hold every piece: another person's
 * property can quote them. To be asked once all is searched.
 */
export function* hiddenTexts(
  subjects: readonly ScanSubject[],
  { search }: Pick<Needles, 'search'>,
  shared: SharedText,
): Generator<HiddenText> {
  for (const [subject, { identity, values }] of subjects.entries()) {
    const leaves = values.flatMap((value) => Array.from(textLeaves(readJsonText(value) ?? value)));
    const emails = leaves.filter((leaf) => emailForm.test(leaf));
    for (const text of new Set([
      ...identity.person_uuid,
      ...identity.distinct_id,
      ...identity.recording_id,
      ...emails,
    ])) {
      const bytes = Buffer.from(text);
      let isFound = longPieces(text).length === 0;
      search.openStream((shingle) => void (isFound ||= !shared.has(shingle)))(bytes);
      if (!isFound) yield { subject, bytes };
    }
  }
}

/** How often texts stand in a file, whole; in no database, where rows of others stand. Throws the system's error. */
export function countWhole(texts: readonly HiddenText[], path: string): Map<HiddenText, number> {
  const longest = texts.reduce((most, { bytes }) => Math.max(most, bytes.length), 0);
  const counts = new Map<HiddenText, number>();
  let before: Buffer | undefined;
  readRaw(path, (chunk) => {
    const bytes = Buffer.concat([before ?? Buffer.alloc(0), chunk]);
    const seen = before?.length ?? 0;
    if (before === undefined && isDatabase(bytes.toString('hex', 0, 16))) texts = [];
    for (const text of texts)
      for (let at = -1; (at = bytes.indexOf(text.bytes, at + 1)) !== -1;)
        // What ends within the bytes of before was counted then.
        if (at + text.bytes.length > seen) counts.set(text, (counts.get(text) ?? 0) + 1);
    before = bytes.subarray(Math.max(0, bytes.length - longest + 1));
  });
  return counts;
}
