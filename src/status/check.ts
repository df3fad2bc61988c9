/** The result of one check. `fix` says what to do when the check failed or warns. A warning is no failure. */
export type Check = {
  check: string;
  state: 'ok' | 'warning' | 'skipped' | 'failed';
  detail: string;
  fix?: string | undefined;
};

/** Runs one check, and makes a result of what it returns or throws. */
export type Attempt = (check: string, run: () => Found | Promise<Found>) => Promise<Check>;

/** What a check found; the words alone where all is well. */
export type Found = string | Omit<Check, 'check'>;
