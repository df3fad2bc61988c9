import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { refuseUnsafeTls } from '../config/environment.ts';
import { AppError } from '../core/errors.ts';
import { addAuditCommand } from './commands/audit.ts';
import { addCallCommand } from './commands/call.ts';
import { addConfigCommand } from './commands/config.ts';
import { addDemoCommand } from './commands/demo.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addEraseCommand } from './commands/erase.ts';
import { addExportCommand } from './commands/export.ts';
import { addPlanCommand } from './commands/plan.ts';
import { addQueryCommand } from './commands/query.ts';
import { addReconcileCommand } from './commands/reconcile.ts';
import { addRunCommand } from './commands/run.ts';
import { addSandboxCommand } from './commands/sandbox.ts';
import { addStatusCommand } from './commands/status.ts';
import { addSyncCommand } from './commands/sync.ts';
import { addWhereCommand } from './commands/where.ts';
import type { CommandContext } from './context.ts';
import { exitCodeOf } from './exit-code.ts';
import { addGlobalOptions, type GlobalOptions } from './global-options.ts';
import { explainCommandLine, presentError, traceError } from './present-error.ts';

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
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      // Shown like every other error instead.
      outputError: () => undefined,
    })
    .hook('preAction', () => refuseUnsafeTls(context.environment))
    .exitOverride();
  const adders = [
    addDemoCommand,
    addSyncCommand,
    addExportCommand,
    addEraseCommand,
    addReconcileCommand,
    addWhereCommand,
    addAuditCommand,
    addRunCommand,
    addStatusCommand,
    addPlanCommand,
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
  const error = whatEnded(thrown, context.signal);
  context.setExitCode(exitCodeOf(error));
  const { code, message, hint } = presentError(error);
  if (asJson) context.stdout.write(`${JSON.stringify({ error: { code, message, hint } })}\n`);
  context.stderr.write(`error: ${message}\n${hint === null ? '' : `  ${hint}\n`}`);
  const level = options.logLevel ?? context.environment['MIRROR_LOG_LEVEL'];
  if (level === 'debug' || level === 'trace') context.stderr.write(traceError(thrown));
}

/** After a signal, whatever breaks breaks because of it. */
function whatEnded(thrown: unknown, signal: AbortSignal): unknown {
  if (thrown instanceof CommanderError) return explainCommandLine(thrown);
  const interruption: unknown = signal.reason;
  return signal.aborted && !(thrown instanceof AppError) ? interruption : thrown;
}
