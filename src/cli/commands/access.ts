import type { Command } from 'commander';
import { endAccess } from '../../erasure/access.ts';
import { decide } from '../erase-job.ts';
import { believed } from '../../erasure/projection.ts';
import { hasBox } from '../../mirror/request-box.ts';
import { readLedger } from '../../ledger/ledger.ts';
import { secondText } from '../../core/words.ts';
import { finalStates, listRequests, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { formatTable } from '../table.ts';
import { refuseUnfitFolder } from '../unfit-folder.ts';

/** Defines `access list`, `access answer` or `access cancel`: requests of people who ask what is held about them. */
export function define(command: Command, context: CommandContext): CommandAction {
  if (command.name() === 'list') return defineList(command);
  const end = command.name() === 'answer' ? 'answered' : 'cancelled';
  command.argument('<ids...>', "the requests' ids, or their first characters");
  return {
    help: `\nExamples:\n  analytics-mirror access ${command.name()} 3f2a`,
    run: (app, ids: string[]) =>
      decide(
        app,
        context,
        end,
        () => ids,
        (job, id) => endAccess(job, id, end),
      ),
  };
}

function defineList(command: Command): CommandAction {
  command.option('--all', 'list ended requests too');
  return {
    help: '\nExamples:\n  analytics-mirror access list\n  analytics-mirror access list --all --json',
    run: (app, { all }: { all?: boolean }) => {
      const db = app.databaseReadOnly();
      refuseUnfitFolder(db, app.settings);
      const { histories } = readLedger(app.settings.dataDir);
      const requests = listRequests(db, 'all', 'access')
        .map((request) => believed(db, request, histories.of(request.id)))
        .filter(({ state }) => all === true || !finalStates.includes(state))
        .map((request) => asTold(request, hasBox(db, request.id)));
      return { json: { requests }, text: requests.length === 0 ? 'no open request for access\n' : tableOf(requests) };
    },
  };
}

/** A request for access, without what is of erasure only. `isNamed`: whether the identifiers of its person are kept here. */
function asTold({ id, state, receivedAt, dueAt, authorisedBy: by }: ErasureRequest, isNamed: boolean) {
  return { id, state: state === 'sealed' ? 'answered' : state, receivedAt, dueAt, by, isNamed };
}

function tableOf(requests: readonly ReturnType<typeof asTold>[]): string {
  const rows = requests.map(({ id, state, receivedAt, dueAt, by, isNamed }) => [
    id,
    state === 'received' && !isNamed ? 'received, to be sent again' : state,
    secondText(receivedAt),
    dueAt.slice(0, 10),
    by ?? '',
  ]);
  return formatTable(['request', 'state', 'received', 'due', 'by'], rows);
}
