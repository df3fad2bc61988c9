import type { Command } from 'commander';
import { runCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';
import { exitCodes } from '../exit-code.ts';
import { formatTable } from '../table.ts';

/** Adds `doctor`: checks of everything that a run needs. */
export function addDoctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('check configuration, key, scopes, disk, database and published files')
    .addHelpText(
      'after',
      '\nChanges nothing. Where the budget is used up, the service is not asked, and the line says until when. Exit codes: 0 all\nwell, 1 something is not.\n\nExamples:\n  analytics-mirror doctor',
    )
    .action((_options: unknown, command: Command) =>
      runCommand(context, command, async (app) => {
        const { settings, databaseReadOnly: openReader, service: openService, budget } = app;
        const { examine } = await import('../../status/doctor.ts');
        const findings = await examine({ settings, openReader, openService, budget, signal: context.signal });
        const isWell = findings.every(({ state }) => state !== 'failed');
        if (!isWell) context.setExitCode(exitCodes.failed);
        const lines = findings.map(({ check, state, detail, fix }) => [
          state,
          check,
          fix ? `${detail}; ${fix}` : detail,
        ]);
        return {
          json: { ok: isWell, findings },
          text: formatTable([{ heading: 'state' }, { heading: 'check' }, { heading: 'found' }], lines),
        };
      }),
    );
}
