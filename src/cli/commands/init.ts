import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { Option, type Command } from 'commander';
import { createApp, type App } from '../../app/app.ts';
import { defaultFiles } from '../../config/default-file.ts';
import type { Environment } from '../../config/environment.ts';
import { firstConfiguration, presetNames, type PresetName } from '../../config/presets.ts';
import { readProjects } from '../../contract/projects.ts';
import { refuseUnwritable, writeNewFile } from '../../core/atomic-file.ts';
import { AppError, usageError } from '../../core/errors.ts';
import { printableLines } from '../../core/words.ts';
import type { Check } from '../../status/check.ts';
import { planPasses, type PassPlan } from '../../status/cost-forecast.ts';
import { ask, askUntilRead } from '../ask.ts';
import { printResult, withApp, type CommandAction, type CommandContext } from '../command.ts';
import { projectQuestion, readAddress, readPreset, readProjectId, type SeenProjects } from '../init-answers.ts';
import { findingsOf, findingsTable } from './doctor.ts';
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
      'the project at the service, by its id or name (MIRROR_PROJECT_ID); by default the only one that the key sees',
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
      refuseBeforeQuestions(file, environment);
      const choose = chooserOf(context, flags);
      const preset = await choose({ question: presetQuestion, given: flags.preset, suggestion: 'none' }, readPreset);
      const known = flags.baseUrl ?? (environment['MIRROR_BASE_URL'] || undefined) ?? preset.baseUrl ?? undefined;
      const baseUrl = await choose({ question: 'the address of the service', given: known }, readAddress);
      const dataDir = resolve(flags.dataDir ?? (environment['MIRROR_DATA_DIR'] || join(dirname(file), 'data')));
      const open = (projectId: string | null, pathPrefix: string): App => {
        const settings = { dataDir, 'service.baseUrl': baseUrl, 'service.pathPrefix': pathPrefix };
        // The trial asks as the file will: without a first day, live services show three days only.
        const query = preset.dateFrom === null ? {} : { 'recordings.query': { date_from: preset.dateFrom } };
        const set = Object.entries({ ...settings, ...query, 'service.projectId': projectId });
        return createApp(context, { set: set.map(([path, value]) => ({ path, value })) });
      };
      const given = flags.projectId ?? (environment['MIRROR_PROJECT_ID'] || undefined);
      const projectId =
        // Nobody has to be asked for an id, and nothing but an id is all of digits.
        given !== undefined && /^\d+$/.test(given)
          ? given
          : await chooseProject(open(null, preset.pathPrefix), { given, choose, signal });
      const { findings, plan, pathPrefix } = await trySettings(
        (prefix) => open(projectId, prefix),
        preset.pathPrefix,
        signal,
      );
      writeNewFile(file, firstConfiguration({ ...preset, baseUrl, pathPrefix, projectId, dataDir, schema }));
      const next = plan === null ? 'analytics-mirror doctor' : 'analytics-mirror sync && analytics-mirror export';
      const forecast = plan === null ? '' : `\n${planText(plan)}`;
      printResult(context, command, {
        ended: plan === null ? 'failed' : 'done',
        json: { file, ok: plan !== null, findings, plan },
        text: `${findingsTable(findings)}${forecast}\nwritten: ${file}\nnext:    ${next}\n`,
      });
    },
  };
}

const presetQuestion = `which service (${presetNames.join(', ')})`;

/** What no answer can mend is refused before the first question. */
function refuseBeforeQuestions(file: string, environment: Environment): void {
  if (existsSync(file))
    throw usageError(
      `there is a configuration already: ${file}`,
      'edit it, remove it, or name another file with --out',
    );
  refuseUnwritable(file);
  if (!environment['MIRROR_API_KEY'] && !environment['MIRROR_API_KEY_FILE'])
    throw usageError(
      'not configured: the API key (MIRROR_API_KEY or MIRROR_API_KEY_FILE)',
      'set one of them and run it again; the key is not written anywhere',
    );
}

/** Takes what is given, or asks until the answer can be read; without a person to ask, the suggestion is the answer. */
type Choose = <T>(
  asked: { question: string; given: string | undefined; suggestion?: string },
  read: (answer: string) => T,
) => Promise<T>;

function chooserOf(context: CommandContext, { yes }: InitFlags): Choose {
  const canAsk = yes !== true && process.stdin.isTTY && context.isTerminal;
  return ({ question, given, suggestion = '' }, read) =>
    given === undefined && canAsk
      ? askUntilRead(
          () => ask(question, suggestion, context.signal),
          read,
          (text) => context.stderr.write(printableLines(text)),
        )
      : Promise.resolve(given ?? suggestion).then(read);
}

/** The id of the project that is given by its id or name, or chosen among those that the key sees. Throws where the key is refused. */
async function chooseProject(
  app: App,
  { given, choose, signal }: { given: string | undefined; choose: Choose; signal: AbortSignal },
): Promise<string> {
  return withApp(app, async () => {
    const seen = await listProjects(app, signal);
    return choose({ ...projectQuestion(seen), given }, (answer) => readProjectId(answer, seen));
  });
}

/** The projects that the key sees; null where the service lists none to it. Throws where the key is refused. */
async function listProjects(app: App, signal: AbortSignal): Promise<SeenProjects> {
  try {
    return readProjects((await app.service().call('projects.list', { signal })).body) ?? null;
  } catch (error) {
    if (error instanceof AppError && (error.status === 403 || error.status === 404)) return null;
    throw error;
  }
}

/** What `doctor` finds with the new settings, and the forecast of a full pass where nothing failed. */
type Trial = { findings: Check[]; plan: PassPlan | null; pathPrefix: string };

/** Tries the settings. A path prefix that the service retires, or no longer knows, is replaced by the one that such services want. */
async function trySettings(open: (pathPrefix: string) => App, pathPrefix: string, signal: AbortSignal): Promise<Trial> {
  await using app = open(pathPrefix);
  const { settings, budget, clock, deprecation } = app;
  const findings = await findingsOf(app, signal);
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
}
