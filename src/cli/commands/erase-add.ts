import type { Command } from 'commander';
import { countText } from '../../core/words.ts';
import { addRequests, type AddedRequest } from '../../erasure/receive.ts';
import { receiptsOf, refuseInside, writeReceipts } from '../../erasure/request/receipt.ts';
import { bases } from '../../ledger/vocabulary.ts';
import { runEraseJob } from '../../worker/erase-job.ts';
import { runCommand, type CommandContext } from '../command.ts';
import { exitCodes } from '../errors.ts';
import { addGivenOptions, requireGiven } from '../given-identifiers.ts';
import { formatTable } from '../table.ts';

type AddFlags = { basis: string; by: string; keepEvents?: boolean; receipts?: string };

/** Defines `erase add`: receives requests. */
export function define(command: Command, context: CommandContext): void {
  addGivenOptions(command)
    .argument('[source]', '- reads kind,value lines from standard input')
    .requiredOption('--basis <code>', `on what ground: ${bases.join(', ')}, or a code of your own`)
    .requiredOption('--by <reference>', 'on whose word: a role or a ticket')
    .option('--keep-events', 'leave the events of these people at the service')
    .option('--receipts <folder>', 'write a receipt of each request for whoever asked (mode 0600)')
    .addHelpText(
      'after',
      `
Each identifier becomes a request of its own, unless an open one names the same and keeps no events that this one deletes.
The column persons says to how many an identifier leads; several living ones are held. Prefer --file or standard input: what stands on a command line can be seen
by others on this machine. The kinds in a file are uuid, id, distinct_id and email. Identifiers are kept encrypted until
the request is sealed, and are never printed. Nobody is erased before \`reconcile\`.
Exit codes: 0 received, 4 received, but somebody has to look: a person who is not found, or a request that is held.

Examples:
  analytics-mirror erase add --file requests.csv --basis objection --by dpo --receipts receipts
  analytics-mirror erase add --uuid 0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c001 --basis objection --by dpo
  printf 'email,ann@example.com\\n' | analytics-mirror erase add - --basis consent_withdrawn --by TICKET-812`,
    )
    .action((source: string | undefined) =>
      runCommand(context, command, async (app) => {
        const { basis, by, keepEvents, receipts: folder } = command.opts<AddFlags>();
        const given = await requireGiven(command.opts(), source);
        if (folder !== undefined) refuseInside(app.settings.dataDir, folder);
        const { requests, receipts } = await runEraseJob(app.jobContext(context.signal), async (parts) => {
          const deleteEvents = app.settings.erasure.deleteEvents && keepEvents !== true;
          const added = await addRequests(parts, given, { basis, by, deleteEvents });
          const ids = [...new Set(added.map(({ id }) => id))];
          const written = folder === undefined ? [] : writeReceipts(folder, receiptsOf(parts, ids));
          return { outcome: 'done', counts: { added: added.length }, requests: added, receipts: written };
        });
        if (requests.some(({ state }) => state !== 'scoped' && state !== 'received'))
          context.setExitCode(exitCodes.incomplete);
        const written = receipts.map((path) => `receipt written to ${path}\n`).join('');
        return { json: { requests, receipts }, text: `${addedTable(requests)}${written}` };
      }),
    );
}

function addedTable(requests: readonly AddedRequest[]): string {
  const table = formatTable(
    [
      { right: 'line' },
      'named by',
      'request',
      'state',
      { right: 'persons' },
      { right: 'recordings' },
      { right: 'files' },
    ],
    requests.map((request) => [
      String(request.line),
      request.kind,
      request.id,
      `${request.state}${request.reason === null ? '' : ` (${request.reason.replaceAll('_', ' ')})`}${request.isKnown ? ', was open already' : ''}`,
      countText(request.persons),
      countText(request.recordings),
      countText(request.files),
    ]),
  );
  return `${table}\nNobody is erased yet: analytics-mirror reconcile --dry-run shows what would be done, reconcile does it.\n`;
}
