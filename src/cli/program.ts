import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { AppError } from '../core/errors.ts';
import { addCallCommand } from './commands/call.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExportCommand } from './commands/export.ts';
import { addQueryCommand } from './commands/query.ts';
import { addSandboxCommand } from './commands/sandbox.ts';
import { addStatusCommand } from './commands/status.ts';
import { addSyncCommand } from './commands/sync.ts';
import type { CommandContext } from './context.ts';
import { exitCodeOf, exitCodes } from './exit-code.ts';
import { addGlobalOptions, type GlobalOptions } from './global-options.ts';
import { explainError, presentError } from './present-error.ts';

/** Runs one command line (without program and script name) to its end. Never throws: errors are shown and coded. */
export async function runProgram(argv: readonly string[], context: CommandContext): Promise<void> {
  const program = buildProgram(context);
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return;
    showError(error, program.opts<GlobalOptions>(), argv.includes('--json'), context);
  }
}

function buildProgram(context: CommandContext): Command {
  const program = addGlobalOptions(new Command('analytics-mirror'))
    .description(packageJson.description)
    .version(packageJson.version)
    .showHelpAfterError('(add --help for help)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
    })
    .exitOverride();
  const adders = [
    addDemoCommand,
    addSyncCommand,
    addExportCommand,
    addStatusCommand,
    addQueryCommand,
    addDoctorCommand,
    addConfigCommand,
    addCallCommand,
    addSandboxCommand,
  ];
  for (const add of adders) add(program, context);
  inheritSettings(program);
  return program;
}

/** Commander copies these to subcommands only when they are made by `.command()` before the settings are. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command);
    inheritSettings(child);
  }
}

function showError(thrown: unknown, options: GlobalOptions, asJson: boolean, context: CommandContext): void {
  if (thrown instanceof CommanderError) {
    // Commander has written its own words already.
    context.setExitCode(exitCodes.usage);
    if (asJson)
      context.stdout.write(
        `${JSON.stringify({ error: { code: 'usage', message: thrown.message, hint: null } })}\n`,
      );
    return;
  }
  const interruption: unknown = context.signal.reason;
  const error =
    context.signal.aborted && !(thrown instanceof AppError)
      ? interruption
      : explainError(thrown, options.dataDir ?? 'dataDir');
  context.setExitCode(exitCodeOf(error));
  const { code, message, hint } = presentError(error);
  if (asJson) context.stdout.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  context.stderr.write(`error: ${message}\n${hint === null ? '' : `  ${hint}\n`}`);
  if (options.logLevel === 'debug' && thrown instanceof Error)
    context.stderr.write(`${thrown.stack ?? ''}\n`);
}
