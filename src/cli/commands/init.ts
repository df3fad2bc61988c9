import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { Option, type Command } from 'commander';
import { createApp, type App } from '../../app/app.ts';
import { defaultFiles } from '../../config/default-file.ts';
import { firstConfiguration, presetNames, presets, type Preset, type PresetName } from '../../config/presets.ts';
import { readProjects, type ListedProject } from '../../contract/projects.ts';
import { writeNewFile } from '../../core/atomic-file.ts';
import { AppError } from '../../core/errors.ts';
import type { Check } from '../../status/check.ts';
import { planPasses, type PassPlan } from '../../status/cost-forecast.ts';
import { examine } from '../../status/doctor.ts';
import { ask } from '../ask.ts';
import { printResult, withApp, type CommandAction, type CommandContext } from '../command.ts';
import { exitCodes } from '../errors.ts';
import { findingsTable } from './doctor.ts';
import { planText } from './plan.ts';

type InitFlags = {
  preset?: PresetName;
  yes?: boolean;
  baseUrl?: string;
  projectId?: string;
  out?: string;
  dataDir?: string;
};

/** The prefix that services name when they retire another. */
const wantedPrefix = '/api/projects';

/** An address, since editors end a path at its first blank. */
const schema = new URL('../../../config/settings.schema.json', import.meta.url).href;

/** Defines `init`: writes a configuration file, after the service has been asked about the key and its projects. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .addOption(new Option('--preset <service>', 'what is known of the service').choices(presetNames))
    .option('--base-url <url>', 'the address of the service (MIRROR_BASE_URL)')
    .option(
      '--project-id <id>',
      'the project at the service (MIRROR_PROJECT_ID); by default the only one that the key sees',
    )
    .option('--out <file>', 'the file to write; by default analytics-mirror.yaml in this folder')
    .option('--yes', 'ask nothing: take the options and the defaults');
  return {
    help: `
Give the key in MIRROR_API_KEY, or the path of a file with it in MIRROR_API_KEY_FILE; it is not written anywhere. The service
is asked what the key may read and delete, and nothing is changed there. An existing file is not replaced.
Exit codes: 0 written, 1 written although a check failed.

Examples:
  analytics-mirror init
  analytics-mirror init --preset posthog-eu --yes
  analytics-mirror init --preset none --base-url https://analytics.example.com --project-id 1`,
    act: async () => {
      const flags = command.optsWithGlobals<InitFlags>();
      const { environment, signal } = context;
      const file = resolve(flags.out ?? defaultFiles(environment)[0] ?? '');
      if (existsSync(file))
        throw new AppError(`there is a configuration already: ${file}`, {
          code: 'usage',
          hint: 'edit it, remove it, or name another file with --out',
        });
      const canAsk = flags.yes !== true && process.stdin.isTTY && context.isTerminal;
      const choose = (question: string, given: string | undefined, suggestion = ''): Promise<string> =>
        given === undefined && canAsk ? ask(question, suggestion, signal) : Promise.resolve(given ?? suggestion);
      const name = await choose(`which service (${presetNames.join(', ')})`, flags.preset, 'none');
      if (!presetNames.includes(name as PresetName))
        throw missing(`no service is called ${name}: choose one of ${presetNames.join(', ')}`, '--preset');
      const preset: Preset = presets[name as PresetName];
      const known = flags.baseUrl ?? (environment['MIRROR_BASE_URL'] || undefined) ?? preset.baseUrl ?? undefined;
      const baseUrl = await choose('the address of the service', known);
      if (baseUrl === '') throw missing('the address of the service is missing', '--base-url');
      const dataDir = resolve(flags.dataDir ?? (environment['MIRROR_DATA_DIR'] || join(dirname(file), 'data')));
      const open = (projectId: string | null, pathPrefix: string): App => {
        const settings = { dataDir, 'service.baseUrl': baseUrl, 'service.pathPrefix': pathPrefix };
        // The trial asks as the file will: without a first day, live services show three days only.
        const query = preset.dateFrom === null ? {} : { 'recordings.query': { date_from: preset.dateFrom } };
        const set = Object.entries({ ...settings, ...query, 'service.projectId': projectId });
        return createApp(context, { set: set.map(([path, value]) => ({ path, value })) });
      };
      const given = flags.projectId ?? (environment['MIRROR_PROJECT_ID'] || undefined);
      let projectId = given ?? '';
      if (given === undefined) {
        const unnamed = open(null, preset.pathPrefix);
        await withApp(unnamed, async () => {
          projectId = await chooseProject(await listProjects(unnamed, signal), choose);
        });
      }
      const { findings, plan, pathPrefix } = await trySettings(
        (prefix) => open(projectId, prefix),
        preset.pathPrefix,
        signal,
      );
      writeNewFile(file, firstConfiguration({ ...preset, baseUrl, pathPrefix, projectId, dataDir, schema }));
      if (plan === null) context.setExitCode(exitCodes.failed);
      const next = plan === null ? 'analytics-mirror doctor' : 'analytics-mirror sync && analytics-mirror export';
      const forecast = plan === null ? '' : `\n${planText(plan)}`;
      printResult(context, command, {
        json: { file, ok: plan !== null, findings, plan },
        text: `${findingsTable(findings)}${forecast}\nwritten: ${file}\nnext:    ${next}\n`,
      });
    },
  };
}

function missing(message: string, option: string): AppError {
  return new AppError(message, { code: 'usage', hint: `name it with ${option}` });
}

/** The projects that the key sees; null where the service lists none to it. Throws where the key is refused. */
async function listProjects(app: App, signal: AbortSignal): Promise<ListedProject[] | null> {
  try {
    return readProjects((await app.service().call('projects.list', { signal })).body)?.projects ?? null;
  } catch (error) {
    if (error instanceof AppError && (error.status === 403 || error.status === 404)) return null;
    throw error;
  }
}

const unlisted =
  'this key may not list projects (a key that is limited to a project never may), so the project has to be named';
const whereIdStands =
  'name it with --project-id or MIRROR_PROJECT_ID: it is the number after /project/ in the address of the pages of the service';

async function chooseProject(
  listed: readonly ListedProject[] | null,
  choose: (question: string, given: string | undefined, suggestion?: string) => Promise<string>,
): Promise<string> {
  const projects = listed ?? [];
  const names = projects.map(({ id, name }) => (name === '' ? id : `${id} (${name})`)).join(', ');
  if (projects.length > 1) {
    const id = await choose(`the key sees ${names}; which project`, undefined);
    if (projects.some((project) => project.id === id)) return id;
    throw missing(`the key sees ${projects.length} projects: ${names}`, '--project-id');
  }
  const question =
    listed === null ? 'the project (the number after /project/ in the address of its pages)' : 'the project';
  const id = await choose(question, projects[0]?.id);
  if (id !== '') return id;
  const message = listed === null ? unlisted : 'the key sees no project, so the project has to be named';
  throw new AppError(message, { code: 'usage', hint: whereIdStands });
}

/** What `doctor` finds with the new settings, and the forecast of a full pass where nothing failed. */
type Trial = { findings: Check[]; plan: PassPlan | null; pathPrefix: string };

/** Tries the settings. A path prefix that the service retires, or no longer knows, is replaced by the one that such services want. */
async function trySettings(open: (pathPrefix: string) => App, pathPrefix: string, signal: AbortSignal): Promise<Trial> {
  const app = open(pathPrefix);
  try {
    const { settings, budget, clock, deprecation, signers } = app;
    const { databaseReadOnly: openReader, service: openService } = app;
    const findings = await examine({ settings, openReader, openService, signers, deprecation, budget, clock, signal });
    const stateOf = (name: string): string | undefined => findings.find(({ check }) => check === name)?.state;
    const isOther = pathPrefix !== wantedPrefix;
    if (isOther && deprecation() !== null) return await trySettings(open, wantedPrefix, signal);
    // The key is known, and the project is not: a service that has retired the prefix answers so.
    if (isOther && stateOf('service: persons') === 'failed' && stateOf('service: projects') !== undefined) {
      const other = await trySettings(open, wantedPrefix, signal);
      if (other.plan !== null) return other;
    }
    if (findings.some(({ state }) => state === 'failed')) return { findings, plan: null, pathPrefix };
    const parts = { settings, service: app.service(), budget, mirrorRows: null, signal, nowMs: () => clock.now() };
    return { findings, plan: await planPasses(parts), pathPrefix };
  } finally {
    await app.close();
  }
}
