import { httpUrlProblem } from '../config/addresses.ts';
import { presetNames, presets, type Preset, type PresetName } from '../config/presets.ts';
import type { ListedProject } from '../contract/projects.ts';
import { type AppError, usageError } from '../core/errors.ts';

/** The projects that a key sees. `isWhole`: the service has named all of them. Null where it names none to this key. */
export type SeenProjects = { projects: readonly ListedProject[]; isWhole: boolean } | null;

/** The preset of a name. Throws `usage` for another name. */
export function readPreset(name: string): Preset {
  if (presetNames.includes(name as PresetName)) return presets[name as PresetName];
  throw missing(`no service is called ${name}: choose one of ${presetNames.join(', ')}`, '--preset');
}

/** The address of a service. Throws `usage` for none, and for what is no address to which a key may be sent. */
export function readAddress(address: string): string {
  if (address === '') throw missing('the address of the service is missing', '--base-url');
  const problem = httpUrlProblem(address);
  if (problem !== null) throw missing(`the address of the service ${problem}`, '--base-url');
  return address;
}

const unlisted =
  'this key may not list projects (a key that is limited to a project never may), so the project has to be named';
const whereIdStands =
  'name it with --project-id or MIRROR_PROJECT_ID: it is the number after /project/ in the address of the pages of the service';

/**
 * The id of the project that is meant by its id or its name. Throws `usage` where none of those that the key sees is meant, or
 * several of one name are.
 */
export function readProjectId(text: string, seen: SeenProjects): string {
  const projects = seen?.projects ?? [];
  if (projects.some(({ id }) => id === text)) return text;
  const named = projects.filter(({ name }) => name !== '' && name.toLowerCase() === text.toLowerCase());
  const [found, other] = named;
  if (found && !other) return found.id;
  if (other) throw missing(`several projects are called so: ${namesOf(named)}`, '--project-id');
  if (text !== '' && seen?.isWhole !== true) return text;
  if (projects.length > 0)
    throw missing(
      `the key sees ${projects.length} project${projects.length === 1 ? '' : 's'}: ${namesOf(projects)}`,
      '--project-id',
    );
  const message = seen === null ? unlisted : 'the key sees no project, so the project has to be named';
  throw usageError(message, whereIdStands);
}

/** The question for the project, and the answer that suggests itself. */
export function projectQuestion(seen: SeenProjects): { question: string; suggestion: string } {
  if (seen === null)
    return { question: 'the project (the number after /project/ in the address of its pages)', suggestion: '' };
  const [first, second] = seen.projects;
  return second === undefined
    ? { question: 'the project', suggestion: first?.id ?? '' }
    : { question: `the key sees ${namesOf(seen.projects)}; which project`, suggestion: '' };
}

function namesOf(projects: readonly ListedProject[]): string {
  return projects.map(({ id, name }) => (name === '' ? id : `${id} (${name})`)).join(', ');
}

function missing(message: string, option: string): AppError {
  return usageError(message, `name it with ${option}`);
}
