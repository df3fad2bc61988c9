/**
 * What went wrong, as a closed set. Code branches on these, never on words.
 *
 * - `usage`: the command line or the configuration is wrong.
 * - `refused`: the service refuses the key, the scope or the project.
 * - `quota`: the account has used up what it pays for (402).
 * - `service`: the service answered with something that is not an answer (a 5xx, a redirect, HTML).
 * - `oversize`: the service's answer is larger than allowed.
 * - `unreachable`: no answer at all.
 * - `rejected`: the service refused this one request (400, 404, 405, 409).
 * - `storage`: disk, file or database.
 * - `busy`: another run holds the data folder.
 * - `interrupted`: a signal ended the work.
 */
export type ErrorCode =
  | 'usage'
  | 'refused'
  | 'quota'
  | 'service'
  | 'oversize'
  | 'unreachable'
  | 'rejected'
  | 'storage'
  | 'busy'
  | 'interrupted';

/** Everything about an error but its message. `hint` says in one sentence what the reader should do. */
export type ErrorDetail = {
  code: ErrorCode;
  hint?: string | undefined;
  /** What was found, as a code, where a run's record shall say more than `code`. */
  finding?: string;
  /** Whether the very same call may succeed later. */
  retryable?: boolean;
  /** The HTTP status that caused it, where there was one. */
  status?: number;
  /** How long the service asked us to wait, in milliseconds. */
  retryAfterMs?: number;
  /** The answer was not in the service's own words: a proxy wrote it, or the service does not know the path. */
  isForeign?: boolean;
  cause?: unknown;
};

/** The program's one error. Its message names operation, object, found and expected, and holds no personal data. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly finding: string | undefined;
  readonly retryable: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly isForeign: boolean;

  constructor(message: string, detail: ErrorDetail) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = detail.code;
    this.hint = detail.hint;
    this.finding = detail.finding;
    this.retryable = detail.retryable ?? false;
    this.status = detail.status;
    this.retryAfterMs = detail.retryAfterMs;
    this.isForeign = detail.isForeign ?? false;
  }
}

/** An error of the command line or of the configuration. `hint` says in one sentence what to write instead. */
export function usageError(message: string, hint: string): AppError {
  return new AppError(message, { code: 'usage', hint });
}

/** The same error, whose hint says something more. */
export function withHint(error: AppError, more: string): AppError {
  return Object.assign(error, { hint: error.hint === undefined ? more : `${error.hint}; ${more}` });
}

/** Node's `rmSync` tells some failures by words alone, which differ between systems. */
const codeOfWords = new Map([
  ['Input/output error', 'EIO'],
  ['I/O error', 'EIO'],
  ['Read-only file system', 'EROFS'],
  ['Device or resource busy', 'EBUSY'],
  ['Resource busy', 'EBUSY'],
  ['No space left on device', 'ENOSPC'],
]);

/** The system's code of an error (`ENOSPC`, `SQLITE_FULL`, …), or undefined. Of two, where closing a file failed too, that of the first. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof SuppressedError) return systemCode(error.suppressed);
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  if (error.code === '') return codeOfWords.get(/^, Unknown error: (.*?) '/.exec(error.message)?.[1] ?? '');
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Marks a branch that the types say cannot be reached. Throws if it is. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${String(value)}`);
}
