import { existsSync, statfsSync } from 'node:fs';
import { AppError } from '../core/errors.ts';
import type { Settings } from '../config/settings.ts';
import type { Service } from '../client/service.ts';
import { databasePath, type Database } from '../mirror/database.ts';
import { checkDatabase } from '../mirror/check-database.ts';
import { verifySnapshots } from '../snapshot/verify.ts';

/** One thing that was checked. `fix` says what to do when it is not well. */
export type Finding = { check: string; state: 'ok' | 'skipped' | 'failed'; detail: string; fix?: string };

/** What the checks look at. The functions throw an `AppError` with the reason when they cannot do their part. */
export type DoctorParts = {
  settings: Settings;
  openReader: () => Database;
  openService: () => Service;
  signal: AbortSignal;
};

const diskFreeMin = 1_000_000_000;

/** Checks configuration, key, scopes, disk, database and published files. Changes nothing; reports all it finds. */
export async function examine({
  settings,
  openReader,
  openService,
  signal,
}: DoctorParts): Promise<Finding[]> {
  const { dataDir } = settings;
  const hasMirror = existsSync(databasePath(dataDir));
  const noMirror: Finding = {
    check: 'mirror',
    state: 'skipped',
    detail: 'there is none yet; `sync` makes it',
  };
  return [
    { check: 'configuration', state: 'ok', detail: 'every setting is known and valid' },
    await attempt('disk', () => diskSpace(dataDir)),
    hasMirror ? await attempt('mirror', () => checkDatabase(openReader())) : noMirror,
    await attempt('snapshots', async () => {
      const { files, bytes, problems } = await verifySnapshots(dataDir, signal);
      if (problems.length > 0)
        throw new AppError(
          problems.map(({ dataset, file, problem }) => `${dataset} ${file}: ${problem}`).join(', '),
          {
            code: 'storage',
            hint: 'run `analytics-mirror export` to publish whole files again',
          },
        );
      return `${files} published files, ${bytes} bytes, all as their manifests say`;
    }),
    ...(await examineService(settings, openService, signal)),
  ];
}

async function examineService(
  settings: Settings,
  openService: () => Service,
  signal: AbortSignal,
): Promise<Finding[]> {
  const first = { limit: 1, offset: 0 };
  const findings = [
    await attempt('service: persons', async () => {
      await openService().call('persons.list', { query: first, signal });
      return 'answers; the key may read persons (person:read)';
    }),
  ];
  if (findings.some(({ state }) => state === 'failed')) return findings;
  findings.push(
    await attempt('service: recordings', async () => {
      await openService().call('recordings.list', {
        query: first,
        extraQuery: settings.recordings.query,
        signal,
      });
      return 'answers; the key may read recordings (session_recording:read)';
    }),
  );
  for (const shortId of settings.playlists.shortIds) {
    findings.push(
      await attempt(`service: playlist ${shortId}`, async () => {
        await openService().call('playlists.retrieve', { params: { short_id: shortId }, signal });
        return 'answers; the key may read playlists (session_recording_playlist:read)';
      }),
    );
  }
  return findings;
}

function diskSpace(dataDir: string): string {
  const { bavail, bsize } = statfsSync(existsSync(dataDir) ? dataDir : '.');
  const free = bavail * bsize;
  if (free < diskFreeMin)
    throw new AppError(`only ${Math.round(free / 1e6)} MB are free`, {
      code: 'storage',
      hint: 'free some space on the volume of dataDir',
    });
  return `${Math.round(free / 1e9)} GB free`;
}

async function attempt(check: string, run: () => string | Promise<string>): Promise<Finding> {
  try {
    return { check, state: 'ok', detail: await run() };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'interrupted') throw error;
    return {
      check,
      state: 'failed',
      detail: error.message,
      ...(error.hint === undefined ? {} : { fix: error.hint }),
    };
  }
}
