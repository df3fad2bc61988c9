import { join } from 'node:path';
import type { Clock } from '../core/clock.ts';
import { sha256 } from '../core/digest.ts';
import { AppError, systemCode } from '../core/errors.ts';
import { makeFolder } from '../core/folder.ts';
import { scopes } from '../contract/endpoints.ts';
import { fillStore, type Amounts } from './generator/fill-store.ts';
import { documentedRecordings, type RecordingStyle } from './generator/recording.ts';
import { haunt, type LiveOptions, liveRecordings } from './live/live-data.ts';
import { openStore, type Store } from './store/store.ts';

/** The profiles: as documented, or as live services behave. */
export const profileNames = ['documented', 'live'] as const;
export type ProfileName = (typeof profileNames)[number];

/** The style of a profile's recordings. Live recordings begin in the days before now. */
export function recordingStyle(profile: ProfileName, clock: Pick<Clock, 'now'>): RecordingStyle {
  return profile === 'live' ? liveRecordings(() => Math.floor(clock.now())) : documentedRecordings;
}

/** What a new store is filled with. */
export type Filling = {
  amounts: Amounts;
  style: RecordingStyle;
  /** The additions of a live service; undefined for the documented profile. */
  live: LiveOptions | undefined;
  nowMs: number;
};

/**
 * Opens the store in a folder, or in memory without one, and fills it when it is new. Throws a `storage` error when
 * the folder cannot be used.
 */
export function openSandboxStore(dir: string | undefined, { amounts, style, live, nowMs }: Filling): Store {
  try {
    if (dir !== undefined) makeFolder(dir);
    const path = dir === undefined ? ':memory:' : join(dir, 'sandbox.db');
    return openStore(path, live?.deletionRows ?? 'always', (store) => {
      fillStore(store, amounts, style);
      if (live) haunt(store, amounts, live, nowMs);
      const { apiKey, readOnlyKey } = keysOf(amounts.seed);
      store.apiKeys.issue(apiKey, 1, scopes);
      store.apiKeys.issue(
        readOnlyKey,
        2,
        scopes.filter((scope) => scope.endsWith(':read')),
      );
    });
  } catch (cause) {
    if (systemCode(cause) === undefined) throw cause;
    throw new AppError('the sandbox cannot use its folder', {
      code: 'storage',
      hint: 'Choose another folder, or none to keep everything in memory.',
      cause,
    });
  }
}

/** The keys of a seed, the same each time. Their names say that they belong to a sandbox. */
export function keysOf(seed: number): { apiKey: string; readOnlyKey: string } {
  return {
    apiKey: `sandbox_full_${sha256(`full ${seed}`).slice(0, 32)}`,
    readOnlyKey: `sandbox_read_${sha256(`read ${seed}`).slice(0, 32)}`,
  };
}
