import { AppError, systemCode } from '../core/errors.ts';

/**
 * The `storage` error for a failed read or write of a snapshot's file. Its hint says what to do, also about a full disk.
 * `operation` is what failed, such as `write a Parquet file`, without personal data. DuckDB's errors differ in words only.
 */
export function storageError(operation: string, cause: unknown): AppError {
  const words = cause instanceof Error ? cause.message : '';
  const code = systemCode(cause);
  // The words of ENOSPC and EDQUOT, which the system's errors and DuckDB's both carry.
  const isFull = /no space left|quota exceeded/i.test(words);
  const reason = isFull ? 'the disk is full' : (code ?? /^[A-Z][A-Za-z ]+ Error/.exec(words)?.[0] ?? 'it failed');
  return new AppError(`cannot ${operation}: ${reason}`, { code: 'storage', hint: hintFor(reason), cause });
}

function hintFor(reason: string): string {
  if (reason === 'the disk is full')
    return "free space on the data folder's volume and run it again; what was published is untouched";
  if (reason.startsWith('Out of Memory'))
    return 'a single value may be too large: leave out the property that holds it (`export.mask`)';
  return "check the data folder's volume and permissions; `doctor` checks the published files";
}
