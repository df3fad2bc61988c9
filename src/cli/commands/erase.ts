import type { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addEraseAddCommand } from './erase-add.ts';
import { addEraseDrillCommand } from './erase-drill.ts';
import { addEraseListCommand, addEraseShowCommand } from './erase-list.ts';
import { addEraseReceiptCommand } from './erase-receipt.ts';
import { addEraseScanCommand } from './erase-scan.ts';
import { addEraseStepCommands } from './erase-steps.ts';

/** Adds `erase`: requests to erase people, from their receipt to their end. */
export function addEraseCommand(program: Command, context: CommandContext): void {
  const erase = program
    .command('erase')
    .description('erase people from the service, the mirror and every published file')
    .addHelpText(
      'after',
      `
A request names one person. \`erase add\` receives it and says where the person is; \`reconcile\` carries it out.

Examples:
  analytics-mirror erase add --file requests.csv --basis consent_withdrawn --by TICKET-812
  analytics-mirror reconcile --dry-run
  analytics-mirror reconcile
  analytics-mirror erase list`,
    );
  for (const add of [
    addEraseAddCommand,
    addEraseListCommand,
    addEraseShowCommand,
    addEraseStepCommands,
    addEraseReceiptCommand,
    addEraseScanCommand,
    addEraseDrillCommand,
  ])
    add(erase, context);
}
