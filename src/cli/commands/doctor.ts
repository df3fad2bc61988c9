import type { Command } from 'commander';
import type { Check } from '../../status/check.ts';
import { examine } from '../../status/doctor.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { exitCodes } from '../errors.ts';
import { holderText } from '../../cluster/roster.ts';
import { formatTable } from '../table.ts';

/** Defines `doctor`: checks everything that a run needs. */
export function define(_command: Command, context: CommandContext): CommandAction {
  return {
    help: '\nChanges nothing. When the budget is used up, the service is not asked, and the line says until when.\nExit codes: 0 no check failed (there may be warnings), 1 a check failed.\n\nExamples:\n  analytics-mirror doctor',
    run: async (app) => {
      const { settings, databaseReadOnly: openReader, service: openService, signers, deprecation, budget, clock } = app;
      const { signal } = context;
      const elsewhere = (await app.shared?.elsewhere()) ?? null;
      const heldElsewhere = elsewhere && holderText(elsewhere);
      const asked = { settings, openReader, openService, signers, deprecation, budget, clock, signal, heldElsewhere };
      const findings = await examine(asked);
      const isWell = findings.every(({ state }) => state !== 'failed');
      if (!isWell) context.setExitCode(exitCodes.failed);
      return { json: { ok: isWell, findings }, text: findingsTable(findings) };
    },
  };
}

/** What checks found, and what to do about it. */
export function findingsTable(findings: readonly Check[]): string {
  const lines = findings.map(({ check, state, detail, fix }) => [state, check, fix ? `${detail}; ${fix}` : detail]);
  return formatTable(['state', 'check', 'found'], lines);
}
