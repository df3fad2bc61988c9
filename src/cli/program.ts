import { Command, CommanderError } from 'commander';
import type { App } from '../app/app.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { refuseUnsafeTls } from '../config/environment.ts';
import { AppError } from '../core/errors.ts';
import { printableJson, printableLines } from '../core/words.ts';
import { printResult, withApp, type CommandAction, type CommandContext, type CommandResult } from './command.ts';
import { exitCodeOf, explainCommandLine, presentError, traceError } from './errors.ts';
import { addGlobalOptions, settingsFlags, type GlobalOptions } from './global-options.ts';
import { refuseTakenOptions } from './npm.ts';

/** A command: what its help says first. */
type Entry = {
  does: string;
  /** Its file in commands/, where that is not named like the command; null for a word that only has commands below it. */
  file?: string | null;
  help?: string;
  /** Of a cluster: whether it works on the project, which this machine then has to hold; or reads what is in its data folder. */
  holds?: 'to write' | 'to read';
};

/** Every command by its words, in the order of the help. */
const commands: Readonly<Record<string, Entry>> = {
  init: { does: 'write a configuration: asks the service which projects the key sees, and what it may do' },
  demo: { does: 'show sync, export and erasure on an embedded sandbox, in a fresh folder' },
  sync: { holds: 'to write', does: 'bring the mirror up to date: one pass over each list' },
  export: { holds: 'to write', does: 'publish a Parquet snapshot of each dataset' },
  snapshots: {
    holds: 'to read',
    does: 'show the published files that readers should load now, or statements that load them',
  },
  load: { holds: 'to write', does: 'make the tables of a warehouse what is published' },
  erase: {
    does: 'erase people from the service, the mirror and every published file',
    file: null,
    help: `
An erasure request names one person. \`erase add\` receives it and says where the person is found; \`reconcile\` carries
it out.

Examples:
  analytics-mirror erase add --file requests.csv --basis consent_withdrawn --by TICKET-812
  analytics-mirror reconcile --dry-run
  analytics-mirror reconcile
  analytics-mirror erase list`,
  },
  'erase add': { holds: 'to write', does: 'receive erasure requests, and show where each person is found' },
  'erase list': { holds: 'to read', does: 'list the open erasure requests' },
  'erase show': {
    holds: 'to read',
    does: 'show one erasure request: its targets, the rows that the fence kept out, its entries in the ledger',
    file: 'erase-list',
  },
  'erase cancel': {
    holds: 'to write',
    does: 'cancel erasure requests that nothing has been done for yet',
    file: 'erase-steps',
  },
  'erase approve': {
    holds: 'to write',
    does: 'let held erasure requests go on; an identifier shared with a living person stays with that person',
    file: 'erase-steps',
  },
  'erase acknowledge': {
    holds: 'to write',
    does: 'record that a consumer of the published files says it has deleted people too',
    file: 'erase-steps',
  },
  'erase kit': {
    holds: 'to write',
    does: 'print statements that delete erased people from the tables of a consumer, and report on it',
  },
  'erase readmit': {
    holds: 'to write',
    does: 'let an erased person be mirrored again, if the service has that person',
    file: 'erase-steps',
  },
  'erase amend': {
    holds: 'to write',
    does: 'mend the basis of an open erasure request, or its reference: the role or ticket that asks for it',
  },
  'erase receipt': {
    holds: 'to write',
    does: 'write the receipt of an erasure request, while its identifiers are kept',
  },
  'erase scan': { holds: 'to write', does: 'search every file that this program wrote for erased people' },
  'erase drill': {
    holds: 'to write',
    does: 'show that erasing works: erase an invented person from an embedded service, and file the result',
  },
  reconcile: { holds: 'to write', does: 'carry out erasure requests, and remove rows that the service no longer has' },
  access: {
    does: 'answer people who ask what is held about them',
    file: null,
    help: `
The intake receives these requests. \`where --request\` writes what is held, for the person; the answer is yours to send.

Examples:
  analytics-mirror access list
  analytics-mirror where --request 3f2a --page answer.html
  analytics-mirror access answer 3f2a`,
  },
  'access list': { holds: 'to read', does: 'list the open requests for access', file: 'access' },
  'access answer': {
    holds: 'to write',
    does: 'record that people who asked for access were answered; what names them here is destroyed',
    file: 'access',
  },
  'access cancel': { holds: 'to write', does: 'cancel requests for access', file: 'access' },
  where: { holds: 'to read', does: 'show every place that holds data of a person, for access requests' },
  audit: {
    does: 'show what was erased, and let others check it',
    file: null,
    help: `
Only a checkpoint that is kept outside detects a ledger that was cut short or rewritten. Give one away now and then, and
check the ledger against it later.

Examples:
  analytics-mirror audit checkpoint --out checkpoint.txt
  analytics-mirror audit verify --checkpoint checkpoint.txt
  analytics-mirror audit report --from 2026-10-01 --to 2026-12-31
  analytics-mirror audit certificate 3f2a`,
  },
  'audit report': {
    holds: 'to read',
    does: 'report on the erasure requests of a period: the result of each, how long it took, which are open',
  },
  'audit certificate': {
    holds: 'to read',
    does: 'show the certificate of an erasure request, as a page to print or as the JSON whose hash is on the ledger',
  },
  'audit bundle': {
    holds: 'to read',
    does: 'write a certificate and all that proves it into one file, which verify.mjs checks alone',
  },
  'audit open': {
    holds: 'to read',
    does: 'show with a receipt which erasure request and certificates are about a person',
  },
  'audit checkpoint': { holds: 'to write', does: 'sign the ledger as it is now, for a person outside to keep' },
  'audit anchor': {
    holds: 'to write',
    does: 'have the ledger anchored outside, by time-stamp authorities and witnesses',
  },
  'audit verify': { holds: 'to read', does: 'check the ledger, every certificate and every published file' },
  'audit rotate-key': { holds: 'to write', does: 'make a new signing key; the old key signs the change on the ledger' },
  run: { does: 'run every job of every project by schedule, until the process is stopped' },
  status: { does: 'show the state of the mirror: rows, passes and their verdicts, snapshots, runs' },
  cluster: { does: 'show a cluster, and say which machine works on what', file: null },
  'cluster list': {
    does: 'list the projects and machines of a cluster, and which machine holds what',
    file: 'cluster',
  },
  'cluster pause': { does: 'let no machine work on a project until it is resumed', file: 'cluster' },
  'cluster resume': { does: 'let machines work on a paused project again', file: 'cluster' },
  'cluster move': { does: 'have a machine take a project', file: 'cluster' },
  'cluster drain': { does: 'have a machine give up all projects, and take no other', file: 'cluster' },
  'cluster import': { does: 'move a data folder into the bucket of the cluster', file: 'cluster-data' },
  'cluster export': { does: 'make a data folder of a project of the cluster', holds: 'to write', file: 'cluster-data' },
  'cluster forget': { does: 'declare that a machine and its disk are gone', file: 'cluster' },
  plan: {
    holds: 'to read',
    does: 'forecast the requests and the time that a full pass over each list costs under the budget',
  },
  backup: { holds: 'to read', does: 'copy mirror, ledger, keys and reports to another folder' },
  query: { holds: 'to read', does: 'run a SELECT statement on the mirror' },
  doctor: { does: 'check configuration, key, scopes, disk, database and published files' },
  config: { does: 'show the configuration', file: null },
  'config print': { does: 'print every setting in force, from defaults, file, environment and flags' },
  call: { does: 'call any endpoint of the service' },
  sandbox: { does: 'serve the documented service on loopback, with generated data' },
};

/** What a file of commands/ exports: it gives the command its arguments and options, and returns what the command does. */
type CommandFile = { define: (command: Command, context: CommandContext) => CommandAction };

/** Runs one command line (without program and script name) to its end. Never throws: errors are shown and coded. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<void> {
  const program = buildProgram(context);
  try {
    await addCommands(program, argv, context);
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    showError(error, program.opts(), argv.includes('--json'), context);
  }
}

function buildProgram(context: CommandContext): Command {
  return addGlobalOptions(new Command('analytics-mirror'))
    .description(packageJson.description)
    .version(packageJson.version)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      // `showError` shows it, like every other error.
      outputError: () => undefined,
    })
    .hook('preAction', (_program, command) => {
      refuseUnsafeTls(context.environment);
      refuseTakenOptions(command, context.environment);
    })
    .exitOverride();
}

/** Adds every command to the program, and loads those that the command line can mean: others only stand in the help. */
async function addCommands(program: Command, argv: readonly string[], context: CommandContext): Promise<void> {
  const added = new Map([['', program]]);
  for (const [name, { does, file = name.replace(' ', '-'), help = '', holds }] of Object.entries(commands)) {
    const words = name.split(' ');
    const parent = added.get(words.slice(0, -1).join(' ')) ?? program;
    const command = parent
      .command(words.at(-1) ?? '')
      .description(does)
      .addHelpText('after', ({ command: helped }) => wrapHelp(helped, help));
    added.set(name, command);
    const isMeant = words.every((word) => argv.includes(word));
    if (file === null || !isMeant) continue;
    const { define } = (await import(`./commands/${file}.ts`)) as CommandFile;
    const action = define(command, context);
    addAction(context, command, 'run' in action && holds ? holding(action, name, holds, context.signal) : action);
  }
}

/** An action that holds its project first, where that is one of a cluster. */
function holding(
  action: Extract<CommandAction, { run: unknown }>,
  name: string,
  holds: NonNullable<Entry['holds']>,
  signal: AbortSignal,
): CommandAction {
  const run = async (app: App, ...given: never[]): Promise<CommandResult> => {
    await app.take(name, holds, { signal });
    return action.run(app, ...given);
  };
  return { ...action, run };
}

/** The last part of a help text, as wide as its options. Examples and tables stay as they are. */
function wrapHelp(command: Command, text: string): string {
  const width = command.configureOutput().getOutHelpWidth?.() ?? 80;
  const paragraphs = text.replaceAll(/([^\n:])\n(?=(?!Exit codes)\S)/g, '$1 ').split('\n');
  return paragraphs.map((line) => (/^ | {2}/.test(line) ? line : command.createHelp().boxWrap(line, width))).join('\n');
}

/** Gives a command its help and its action. The program of a `run` is built from the options, and closed after it. */
function addAction(context: CommandContext, command: Command, action: CommandAction): void {
  command
    .addHelpText('after', () => wrapHelp(command, action.help))
    .action(async (...given: unknown[]) => {
      if ('act' in action) return action.act(...(given as never[]));
      // Help, and the errors of a wrong command line, need no program.
      const { createApp, createProjectApps } = await import('../app/app.ts');
      const options = command.optsWithGlobals<GlobalOptions>();
      const surroundings = { ...context, wait: options.wait };
      const flags = settingsFlags(options, context.environment);
      if (action.runAll && options.project === undefined) {
        await using programs = createProjectApps(surroundings, flags);
        const { apps } = programs;
        if (apps.length > 1) return printResult(context, command, await action.runAll(apps, ...(given as never[])));
      }
      const app = createApp(surroundings, flags);
      return withApp(app, async () => {
        const { text, ...result } = await action.run(app, ...(given as never[]));
        // What these two print are data.
        const isData = ['query', 'call'].includes(command.name());
        printResult(context, command, { ...result, text: isData ? text : forProject(text, options) });
      });
    });
}

const firstWords = [...new Set(Object.keys(commands).map((name) => name.split(' ')[0]))].join('|');
const commandPattern = new RegExp(`\\banalytics-mirror (?=(?:${firstWords})\\b)`, 'g');

/** Names the project in every command of a text, where the command line has named it: else the command would not run. */
function forProject(text: string, { project }: GlobalOptions): string {
  return project === undefined || !/^[\w-]+$/.test(project)
    ? text
    : text.replaceAll(commandPattern, `analytics-mirror --project ${project} `);
}

/** Shows the error that a command ended with, and sets the exit code. After a signal, the signal is the reason. */
function showError(thrown: unknown, options: GlobalOptions, asJson: boolean, context: CommandContext): void {
  const error = whatEnded(thrown, context.signal);
  context.setExitCode(exitCodeOf(error));
  const { code, message, hint: given } = presentError(error);
  const hint = given === null ? null : forProject(given, options);
  if (asJson) context.stdout.write(`${printableJson(JSON.stringify({ error: { code, message, hint } }))}\n`);
  context.stderr.write(printableLines(`error: ${message}\n${hint === null ? '' : `  ${hint}\n`}`));
  const level = options.logLevel ?? context.environment['MIRROR_LOG_LEVEL'];
  if (level === 'debug' || level === 'trace') context.stderr.write(traceError(thrown));
}

/** After a signal, any unexpected error is a consequence of it; after an error, one of closing the program says less. */
export function whatEnded(thrown: unknown, signal: AbortSignal): unknown {
  if (thrown instanceof SuppressedError) return whatEnded(thrown.suppressed, signal);
  if (thrown instanceof CommanderError) return explainCommandLine(thrown);
  const interruption: unknown = signal.reason;
  return signal.aborted && !(thrown instanceof AppError) ? interruption : thrown;
}
