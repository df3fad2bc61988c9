import { AppError } from '../core/errors.ts';
import { freeBytesAt } from '../core/folder.ts';
import { bytesText } from '../core/words.ts';
import type { Settings } from '../config/settings.ts';
import type { JobContext } from './job-context.ts';

const lookEveryMs = 1000;

/** Throws `storage` where the disk of the data folder has less room than `alerts.diskFreeBytesMin`. */
export function refuseLowDisk({ dataDir, alerts }: Pick<Settings, 'dataDir' | 'alerts'>): void {
  const free = freeBytesAt(dataDir);
  if (free >= alerts.diskFreeBytesMin) return;
  throw new AppError(
    `only ${bytesText(free)} are free on the disk of the data folder, less than alerts.diskFreeBytesMin (${bytesText(alerts.diskFreeBytesMin)})`,
    {
      code: 'storage',
      finding: 'disk_low',
      hint: 'free some space, or lower alerts.diskFreeBytesMin; what is stored already is kept, and the next run goes on from there',
    },
  );
}

/**
 * The work of a job that writes much: it is refused while the disk has less room than `alerts.diskFreeBytesMin`, and its signal
 * is aborted once that comes to be so.
 */
export function aboveDiskFloor<Context extends JobContext, Result>(
  work: (own: Context) => Promise<Result>,
): (own: Context) => Promise<Result> {
  return async (own) => {
    refuseLowDisk(own.settings);
    const low = new AbortController();
    const timer = setInterval(() => {
      try {
        refuseLowDisk(own.settings);
      } catch (error) {
        low.abort(error);
      }
    }, lookEveryMs);
    try {
      return await work({ ...own, signal: AbortSignal.any([own.signal, low.signal]) });
    } finally {
      clearInterval(timer);
    }
  };
}
