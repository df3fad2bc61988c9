import type { Service } from '../client/service.ts';
import { readProjects } from '../contract/projects.ts';
import { AppError } from '../core/errors.ts';
import { countedText } from '../core/words.ts';
import type { Found } from './check.ts';

const namedMax = 10;

/** What the check of the projects works with. */
export type ProjectCheck = {
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
export async function checkProjects({ service, projectId, isAnswering, signal }: ProjectCheck): Promise<Found> {
  const listed = await listProjects(service, signal);
  if (typeof listed === 'number')
    return { state: 'skipped', detail: `the service does not list projects to this key (it answered ${listed})` };
  if (listed === undefined) return { state: 'skipped', detail: 'the service answers, but not with a list of projects' };
  const { projects, isWhole } = listed;
  const names = projects.slice(0, namedMax).map(({ id, name }) => (name === '' ? id : `${id} (${name})`));
  const more = projects.length > namedMax ? `, and ${projects.length - namedMax} more` : '';
  const seen = `the key sees ${isWhole ? '' : 'at least '}${countedText(projects.length, 'project')}`;
  const text = names.length === 0 ? 'the key sees no project' : `${seen}: ${names.join(', ')}${more}`;
  if (projects.some(({ id }) => id === projectId)) return text;
  const chooseOne = 'set service.projectId (MIRROR_PROJECT_ID) to the id of one of them';
  if (projectId === null) throw new AppError(`${text}; none is configured`, { code: 'usage', hint: chooseOne });
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
