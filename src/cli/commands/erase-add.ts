import { Option, type Command } from 'commander';
import { addRequests, type AddedRequest } from '../../erasure/receive.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import { keysOf, refuseInside, signReceipts, writeReceipts, type KeptKey } from '../../erasure/request/receipt.ts';
import { basisCode, bases } from '../../ledger/vocabulary.ts';
import { eraseJob } from '../erase-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { addDecisionOptions, decisionIn, type DecisionFlags } from '../decision-options.ts';
import { suggesting } from '../global-options.ts';
import { addGivenOptions, requireGiven, type GivenOptions } from '../given-identifiers.ts';
import type { Database } from '../../mirror/database.ts';
import { heldText } from '../held-text.ts';
import { requestStateText } from '../request-state-text.ts';
import { formatTable } from '../table.ts';
import { recordedText } from './erase-amend.ts';

type AddFlags = DecisionFlags & { basis: string; by: string; keepEvents?: boolean; receipts?: string };

/** Defines `erase add`: receives erasure requests. */
export function define(command: Command, context: CommandContext): CommandAction {
  addGivenOptions(command)
    .argument('[source]', '- reads kind,value lines from standard input')
    .addOption(
      suggesting(new Option('--basis <code>', 'the legal basis, or a code of your own'), bases).makeOptionMandatory(),
    )
    .requiredOption('--by <reference>', 'the role or ticket that asks for it, never a name: such as TICKET-812')
    .option(
      '--keep-events',
      'leave the events of these persons at the service; their recordings are deleted all the same',
    )
    .option('--receipts <folder>', 'write a receipt of each request, for the person who asked (mode 0600)');
  addDecisionOptions(command);
  return {
    help: `
Each identifier makes one request, unless an open request was made with it, for the same persons, and deletes at least as
much. The column persons says how many persons were found; a request that finds several living persons is held. Prefer --file or standard
input: other users of this machine can see a command line. The kinds in a file are uuid, id, distinct_id and email.
--keep-events keeps events only: where the service can delete session recordings, they go with the person unless
erasure.deleteRecordings is never. Identifiers are kept encrypted until the request is sealed, and are never
printed. No person is erased before \`reconcile\`.
Exit codes: 0 received, 4 received, but you have to look: a person is not found, or a request is held.

Examples:
  analytics-mirror erase add --file requests.csv --basis objection --by dpo --receipts receipts
  analytics-mirror erase add --file requests.csv --basis objection --by T-8 --decided-by privacy_team --identity logged_in
  analytics-mirror erase add --uuid 0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c001 --basis objection --by dpo
  printf 'email,ann@example.com\\n' | analytics-mirror erase add - --basis consent_withdrawn --by TICKET-812`,
    run: async (app, source: string | undefined, options: AddFlags & GivenOptions) => {
      const { basis, by, keepEvents, receipts: folder } = options;
      const decision = decisionIn(options);
      const given = await requireGiven(options, source);
      if (folder !== undefined) refuseInside(app.settings.dataDir, folder);
      const { requests, receipts } = await eraseJob(app, context, async (job) => {
        const deleteEvents = app.settings.erasure.deleteEvents && keepEvents !== true;
        // Before a request is refused: then its key is destroyed.
        let kept: KeptKey[] = [];
        const keep = (): void => {
          const open = listRequests(job.db, 'open').map(({ id }) => id);
          kept = folder === undefined ? [] : keysOf(job, open);
        };
        const added = await addRequests(job, given, { basis, by, decision, deleteEvents }, keep);
        const ids = new Set(added.map(({ id }) => id));
        const own = signReceipts(
          job,
          kept.filter(({ request }) => ids.has(request)),
        );
        const written = folder === undefined ? [] : writeReceipts(folder, own);
        return { counts: { added: added.length }, requests: added, receipts: written };
      });
      const isAllFound = requests.every(
        ({ state, waitsFor }) => waitsFor === null && (state === 'scoped' || state === 'received'),
      );
      const written = receipts.map((path) => `receipt written to ${path}\n`).join('');
      return {
        ended: isAllFound ? 'done' : 'incomplete',
        json: { requests, receipts, basis: { given: basis, recorded: basisCode(basis) } },
        text: `${addedTable(requests, app.databaseReadOnly())}${recordedText(basis)}${written}`,
      };
    },
  };
}

function addedTable(requests: readonly AddedRequest[], db: Database): string {
  const table = formatTable(
    [{ right: 'line' }, 'named by', 'request', 'state', 'persons', 'recordings', 'files'],
    requests.map((request) => [
      String(request.line),
      request.kind,
      request.id,
      `${requestStateText(request)}${request.isKnown ? ', was open already' : ''}`,
      request.persons,
      request.recordings,
      request.files,
    ]),
  );
  const held = requests.map((request) => heldText(`line ${request.line}`, request, db)).join('');
  const unrecorded = requests.map(unrecordedText).join('');
  return `${table}${held}${unrecorded}\nNo person is erased yet: analytics-mirror reconcile --dry-run shows what would be done, reconcile does it.\n`;
}

/** Says of a request that was open already what it does not have of what was stated now. */
function unrecordedText({ line, id, state, unrecorded }: AddedRequest): string {
  if (unrecorded.length === 0) return '';
  const options = unrecorded.map((name) => `--${name.replaceAll('_', '-')}`);
  const amend = unrecorded.some((name) => name !== 'keep_events') ? `: \`erase amend ${id}\` records it` : '';
  const isBegun = !['received', 'scoped', 'held'].includes(state);
  const way = isBegun ? 'it has begun' : 'to keep them, `erase cancel` it before it begins, and add it again';
  const events = unrecorded.includes('keep_events') ? `; the open request deletes the events: ${way}` : '';
  return `line ${line}: what you stated was not recorded (${options.join(', ')})${amend}${events}\n`;
}
