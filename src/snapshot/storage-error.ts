import { AppError, systemCode } from '../core/errors.ts';

/**
 * The `storage` error for a failed read or write of a snapshot's file. Its hint says what to do, also about a full disk.
 * `operation` is what failed, such as `write a Parquet file`, and `volume` where, without personal data.
 */
export function storageError(operation: string, cause: unknown, volume = "the data folder's volume"): AppError {
  const reason = failureOf(cause);
  return new AppError(`cannot ${operation}: ${reason}`, { code: 'storage', hint: hintFor(reason, volume), cause });
}

/** Why the system or DuckDB failed, in words that hold no value. DuckDB's errors differ in words only. */
export function failureOf(cause: unknown): string {
  const words = cause instanceof Error ? cause.message : '';
  // The words of ENOSPC and EDQUOT, which the system's errors and DuckDB's both carry.
  if (/no space left|quota exceeded/i.test(words)) return 'the disk is full';
  const code = systemCode(cause);
  if (code !== undefined) return code;
  if (/input\/output error|i\/o error|fsync failed/i.test(words)) return 'the disk answers with errors';
  if (/read-only file system/i.test(words)) return 'the disk is read-only';
  return /^[A-Z][A-Za-z ]+ Error/.exec(words)?.[0] ?? 'it failed';
}

function hintFor(reason: string, volume: string): string {
  if (reason === 'the disk is full') return `free space on ${volume} and run it again; what was published is untouched`;
  if (reason.startsWith('Out of Memory'))
    return 'a single value may be too large: leave out the property that holds it (`export.mask`)';
  return `check ${volume} and permissions; \`doctor\` checks the published files`;
}
