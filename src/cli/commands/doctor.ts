import type { Command } from 'commander';
import type { App } from '../../app/app.ts';
import type { Check } from '../../status/check.ts';
import { examine } from '../../status/doctor.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { holderText } from '../../cluster/roster.ts';
import { formatTable } from '../table.ts';

/** Defines `doctor`: checks everything that a run needs. */
export function define(_command: Command, context: CommandContext): CommandAction {
  return {
    help: '\nChanges nothing. When the budget is used up, the service is not asked, and the line says until when.\nExit codes: 0 no check failed (there may be warnings), 1 a check failed.\n\nExamples:\n  analytics-mirror doctor',
    run: async (app) => {
      const elsewhere = await app.shared?.elsewhere();
      const findings = await findingsOf(app, context.signal, elsewhere ? holderText(elsewhere) : null);
      const isWell = findings.every(({ state }) => state !== 'failed');
      return { ended: isWell ? 'done' : 'failed', json: { ok: isWell, findings }, text: findingsTable(findings) };
    },
  };
}

/** Checks everything that a run of this program needs. `heldElsewhere`: who holds the project, where that is another machine. */
export function findingsOf(app: App, signal: AbortSignal, heldElsewhere: string | null = null): Promise<Check[]> {
  const { databaseReadOnly: openReader, service: openService, ...parts } = app;
  return examine({ ...parts, openReader, openService, signal, heldElsewhere });
}

/** What checks found, and what to do about it. */
export function findingsTable(findings: readonly Check[]): string {
  const lines = findings.map(({ check, state, detail, fix }) => [state, check, fix ? `${detail}; ${fix}` : detail]);
  return formatTable(['state', 'check', 'found'], lines);
}
