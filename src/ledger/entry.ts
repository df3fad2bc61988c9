import { z } from 'zod';
import { readJson } from '../core/exact-json.ts';
import { canonicalJson } from './canonical-json.ts';
import { LedgerRecord, Time } from './record.ts';

/** A record in its place: `seq` counts from 0, `at` is when it was appended (ISO 8601 UTC). */
export type LedgerEntry = LedgerRecord & { seq: number; at: string };

/** What can be wrong with a line by itself, worst first. */
export type LineProblem = 'too_long' | 'not_json' | 'not_canonical' | 'not_in_schema';

const Place = z.object({ seq: z.int().min(0), at: Time });

/** A line has at most so many bytes, without its newline. */
export const lineBytesMax = 2 ** 20;

/**
 * An entry's line: canonical JSON, without the newline. Throws when the record is none that the ledger takes, or its line is
 * longer than `lineBytesMax`.
 */
export function entryLine(record: LedgerRecord, seq: number, at: string): Buffer {
  const line = Buffer.from(canonicalJson({ ...record, seq, at }));
  // By itself first: a seq or at of its own would not show in the line.
  const isTaken = LedgerRecord.safeParse(record).success && typeof readEntry(line) === 'object';
  // A bug of ours: the message never tells what the record holds.
  if (!isTaken) throw new Error('a record that the ledger does not take');
  return line;
}

/** The entry that a line's bytes (without the newline) hold, or what is wrong with them. Its place is not checked. */
export function readEntry(line: Buffer): LedgerEntry | LineProblem {
  if (line.length > lineBytesMax) return 'too_long';
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
