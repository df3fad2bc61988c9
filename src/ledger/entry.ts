import { z } from 'zod';
import { readJson } from '../core/exact-json.ts';
import { canonicalJson } from './canonical-json.ts';
import { LedgerRecord, Time } from './record.ts';

/** A record in its place: `seq` counts from 0, `at` is when it was appended (ISO 8601 UTC). */
export type LedgerEntry = LedgerRecord & { seq: number; at: string };

/** What can be wrong with a line by itself, worst first. */
export type LineProblem = 'too_long' | 'not_json' | 'not_canonical' | 'not_in_schema';

const Place = z.object({ seq: z.int().min(0), at: Time });

/** This program writes no longer line, and reads a longer one only where it holds a list, as earlier versions wrote it. */
export const lineBytesMax = 2 ** 20;

/**
 * An entry's line: canonical JSON, without the newline. Throws when the record is none that the ledger takes, or its line is
 * longer than `lineBytesMax`.
 */
export function entryLine(record: LedgerRecord, seq: number, at: string): Buffer {
  const line = Buffer.from(canonicalJson({ ...record, seq, at }));
  // By itself first: a seq or at of its own would not show in the line.
  const isTaken =
    line.length <= lineBytesMax && LedgerRecord.safeParse(record).success && typeof readEntry(line) === 'object';
  // A bug of ours: the message never tells what the record holds.
  if (!isTaken) throw new Error('a record that the ledger does not take');
  return line;
}

/**
 * What a line's bytes (without the newline) hold, or what is wrong with them: an entry; of a line that is longer than
 * `lineBytesMax`, the entries that it would be split into now, all with its number. Its place is not checked.
 */
export function entriesIn(line: Buffer): Iterable<LedgerEntry> | LineProblem {
  if (line.length <= lineBytesMax) {
    const entry = readEntry(line);
    return typeof entry === 'string' ? entry : [entry];
  }
  let isGood = false;
  for (const { problem } of readParts(line)) {
    if (problem) return 'too_long';
    isGood = true;
  }
  return isGood ? { [Symbol.iterator]: () => goodParts(line) } : 'too_long';
}

function* goodParts(line: Buffer): Generator<LedgerEntry> {
  for (const { entry } of readParts(line)) if (entry) yield entry;
}

type Part = { entry: LedgerEntry; problem?: never } | { entry?: never; problem: LineProblem };

/**
 * The parts of a line that is too long, each read as a line of its own: with all that stands around the list, and some items
 * of the list. So the line needs no memory but its own. An entry has one list.
 */
function* readParts(line: Buffer): Generator<Part> {
  const open = line.indexOf('[') + 1;
  const close = line.lastIndexOf(']');
  const between = line[open] === 0x7b ? '},{' : '","';
  for (let start = open; start < close;) {
    const last = close - start > partBytes ? line.lastIndexOf(between, start + partBytes) : close - 1;
    const end = last + 1;
    const around = [line.subarray(0, open), line.subarray(start, end), line.subarray(close)];
    const entry = end > start && open + line.length - close < partBytes ? readEntry(Buffer.concat(around)) : 'too_long';
    if (typeof entry === 'string') yield { problem: entry };
    else yield { entry: start > open && entry.type === 'fencing' ? { ...entry, continued: true } : entry };
    if (end <= start) return;
    start = end + 1;
  }
}

/** How much of a list is read at once. */
const partBytes = lineBytesMax / 2;

/** The entry that a line's bytes (without the newline) hold, or what is wrong with them. Its place is not checked. */
export function readEntry(line: Buffer): LedgerEntry | LineProblem {
  const value = readJson(line.toString('utf8'));
  if (value === undefined) return 'not_json';
  if (!isCanonical(value, line)) return 'not_canonical';
  const place = Place.safeParse(value);
  if (!place.success) return 'not_in_schema';
  const { seq: _seq, at: _at, ...rest } = value as Record<string, unknown>;
  const record = LedgerRecord.safeParse(rest);
  return record.success ? { ...record.data, ...place.data } : 'not_in_schema';
}

/** Bytes that are not UTF-8, a key given twice and a number spelled otherwise all come out different. */
function isCanonical(value: unknown, line: Buffer): boolean {
  try {
    return Buffer.from(canonicalJson(value)).equals(line);
  } catch {
    return false;
  }
}
