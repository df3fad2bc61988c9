import type { Budget } from '../client/budget.ts';
import { deprecationHint, type Deprecation } from '../client/deprecation.ts';
import type { Service } from '../client/service.ts';
import type { Settings } from '../config/settings.ts';
import type { Lane } from '../contract/datasets.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { secondText } from '../core/words.ts';
import type { Attempt, Check, Found } from './check.ts';
import { checkPlaylist } from './playlist-check.ts';
import { checkProjects } from './project-check.ts';
import { askToChangePlaylists, askToDelete } from './scope-check.ts';

/** What the checks of a service work with. */
export type ServiceParts = {
  settings: Settings;
  openService: () => Service;
  /** Whether an answer of the service has declared its address deprecated. */
  deprecation: () => Deprecation | null;
  budget: Pick<Budget, 'usedUpUntilMs' | 'standing'>;
  signal: AbortSignal;
};

/** Asks the service what the jobs will ask it for. */
export async function examineService(
  attempt: Attempt,
  { settings, openService, deprecation, budget, signal }: ServiceParts,
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
  const deleting = await ask('service: deleting persons', 'general', () => askToDelete(openService(), signal));
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
      await ask('service: changing playlists', 'general', () => askToChangePlaylists(openService(), signal)),
    );
  return findings;
}

function deprecationFinding({ since, sunsetAt }: Deprecation, pathPrefix: string): Check {
  const from = since === null ? '' : ` since ${since}`;
  const until = sunsetAt === null ? '' : `, and will switch it off at ${sunsetAt}`;
  const detail = `the service has declared ${pathPrefix} deprecated${from}${until}`;
  return { check: 'service: address', state: 'warning', detail, fix: deprecationHint(pathPrefix) };
}
