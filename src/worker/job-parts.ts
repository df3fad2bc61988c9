import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/clock.ts';
import type { Logger } from '../log/logger.ts';
import type { Database } from '../mirror/database.ts';

/** What every job needs. `onProgress` hears how many rows of how many a part of the job has taken. */
export type JobSurroundings = {
  db: Database;
  settings: Settings;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  onProgress: (part: string, done: number, total: number | null) => void;
};
