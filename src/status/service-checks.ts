import type { Budget } from '../client/budget.ts';
import { askForEntries } from '../client/playlist-entries.ts';
import { deprecationHint, type Deprecation } from '../client/deprecation.ts';
import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Lane } from '../contract/datasets.ts';
import { readProjects } from '../contract/projects.ts';
import { isoTime } from '../core/clock.ts';
import { AppError, usageError } from '../core/errors.ts';
import { countedText, secondText } from '../core/words.ts';
import { untoldWords } from '../sync/pass-report.ts';
import type { Attempt, Check, Found } from './check.ts';
import { askToChangePlaylists, askToDelete } from './scope-check.ts';

/** What the checks of a service work with. */
export type ServiceParts = {
  settings: Settings;
  openService: () => Service;
  /** Whether an answer of the service has declared its address deprecated. */
  deprecation: () => Deprecation | null;
  budget: Pick<Budget, 'usedUpUntilMs' | 'standing'>;
  /** Whether an erasure request is open. */
  isErasing: () => boolean;
  signal: AbortSignal;
};

/** Asks the service what the jobs will ask it for. */
export async function examineService(
  attempt: Attempt,
  { settings, openService, deprecation, budget, isErasing, signal }: ServiceParts,
): Promise<Check[]> {
  const first = { limit: 1, offset: 0 };
  /** Does not wait for the budget: that may take an hour, and it says nothing about the service. */
  const ask = (check: string, lane: Lane, run: () => Promise<Found>): Promise<Check> =>
    attempt(check, async () => {
      const untilMs = await budget.usedUpUntilMs(lane);
      if (untilMs === null) return run();
      return { state: 'skipped', detail: `not asked: the budget is used up until ${secondText(isoTime(untilMs))}` };
    });
  // A key that is refused is not tried again. If only the project is refused or missing, the others are worth a look.
  const cause = { isProject: false };
  const persons = await ask('service: persons', 'general', async () => {
    const service = openService();
    try {
      await service.call('persons.list', { query: first, signal });
    } catch (error) {
      if (error instanceof AppError) cause.isProject = error.code === 'usage' || [403, 404].includes(error.status ?? 0);
      throw error;
    }
    return 'answers; the key may read persons (person:read)';
  });
  const isFailed = persons.state === 'failed';
  if (isFailed && !cause.isProject) return [persons];
  const projects = await ask('service: projects', 'general', () =>
    checkProjects({ service: openService(), projectId: settings.service.projectId, isAnswering: !isFailed, signal }),
  );
  if (isFailed) return [persons, projects];
  const recordings = await ask('service: recordings', 'recordings list', async () => {
    const { query: extraQuery } = settings.recordings;
    await openService().call('recordings.list', { query: first, extraQuery, signal });
    return 'answers; the key may read recordings (session_recording:read)';
  });
  const deleting = await ask('service: deleting persons', 'general', () =>
    askToDelete(openService(), signal, isErasing()),
  );
  const findings = [persons, projects, recordings, deleting];
  const deprecated = deprecation();
  if (deprecated) findings.push(deprecationFinding(deprecated, settings.service.pathPrefix));
  for (const shortId of settings.playlists.shortIds) {
    findings.push(
      await ask(`service: playlist ${shortId}`, 'general', () => checkPlaylist(openService(), shortId, signal)),
    );
  }
  if (settings.playlists.shortIds.length > 0)
    findings.push(
      await ask('service: changing playlists', 'general', () =>
        askToChangePlaylists(openService(), signal, isErasing()),
      ),
    );
  return findings;
}

function deprecationFinding({ since, sunsetAt }: Deprecation, pathPrefix: string): Check {
  const from = since === null ? '' : ` since ${secondText(since)}`;
  const until = sunsetAt === null ? '' : `, and will switch it off at ${secondText(sunsetAt)}`;
  const detail = `the service has declared ${pathPrefix} deprecated${from}${until}`;
  return { check: 'service: address', state: 'warning', detail, fix: deprecationHint(pathPrefix) };
}

const playlistFixes = {
  cut: {
    fix: 'live services show 50 at most, and no recordings that are gone or older than a year: take these out there',
  },
  refused: {
    fix: 'give the key the scope session_recording_playlist:read; services older than December 2025 show the list to no key',
  },
  no_list: {},
  not_found: {},
} as const;

/** Asks for a playlist and for its recordings. Rejects where the playlist is refused or unknown. */
async function checkPlaylist(service: Service, shortId: string, signal: AbortSignal): Promise<Found> {
  const { body } = await service.call('playlists.retrieve', { params: { short_id: shortId }, signal });
  const { reason } = await askForEntries(service, shortId, body, { signal });
  if (reason === null)
    return 'answers, with its recordings; the key may read playlists (session_recording_playlist:read)';
  return {
    state: 'warning',
    detail: `answers, but its recordings cannot all be read: ${untoldWords[reason]}; certificates will call them not verifiable`,
    ...playlistFixes[reason],
  };
}

const projectsNamed = 10;

type ProjectCheck = {
  service: Service;
  projectId: string | null;
  /** Whether the configured project has answered already. Then it exists, whether listed or not. */
  isAnswering: boolean;
  signal: AbortSignal;
};

/**
 * Says which projects the key sees, and whether the configured one is among them. Throws `refused` where it is not and
 * does not answer either. Many services list projects only to some keys, so a refused list is skipped.
 */
async function checkProjects({ service, projectId, isAnswering, signal }: ProjectCheck): Promise<Found> {
  const listed = await listProjects(service, signal);
  if (typeof listed === 'number')
    return { state: 'skipped', detail: `the service does not list projects to this key (it answered ${listed})` };
  if (listed === undefined) return { state: 'skipped', detail: 'the service answers, but not with a list of projects' };
  const { projects, isWhole } = listed;
  const names = projects.slice(0, projectsNamed).map(({ id, name }) => (name === '' ? id : `${id} (${name})`));
  const more = projects.length > projectsNamed ? `, and ${projects.length - projectsNamed} more` : '';
  const seen = `the key sees ${isWhole ? '' : 'at least '}${countedText(projects.length, 'project')}`;
  const text = names.length === 0 ? 'the key sees no project' : `${seen}: ${names.join(', ')}${more}`;
  if (projects.some(({ id }) => id === projectId)) return text;
  const chooseOne = 'set service.projectId (MIRROR_PROJECT_ID) to the id of one of them';
  if (projectId === null) throw usageError(`${text}; none is configured`, chooseOne);
  const missing = `${text}; the configured project ${projectId} is not among ${isWhole ? 'them' : 'those listed first'}`;
  if (isAnswering || !isWhole) return missing;
  const hint = names.length === 0 ? 'give the key access to the project' : chooseOne;
  throw new AppError(missing, { code: 'refused', hint });
}

/** The projects that the service lists; the status if it refuses; undefined if the answer is no list. */
async function listProjects(service: Service, signal: AbortSignal): Promise<ReturnType<typeof readProjects> | number> {
  try {
    return readProjects((await service.call('projects.list', { signal })).body);
  } catch (error) {
    if (error instanceof AppError && error.status !== undefined) return error.status;
    throw error;
  }
}
