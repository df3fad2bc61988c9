import type { Command } from 'commander';
import { isoTime } from '../../core/clock.ts';
import { codeText, countedText, secondText } from '../../core/words.ts';
import { acknowledgementsOf, type Acknowledgement } from '../../erasure/acknowledge.ts';
import { believed } from '../../erasure/projection.ts';
import { requireRequest } from '../../erasure/receive.ts';
import { heldBecauseOf } from '../../erasure/request/box.ts';
import type { LedgerEntry } from '../../ledger/entry.ts';
import { readLedger } from '../../ledger/ledger.ts';
import { requestsOf, type Decision } from '../../ledger/record.ts';
import { evidenceOf, type RequestState } from '../../ledger/vocabulary.ts';
import { spellTarget } from '../../ledger/target.ts';
import {
  adviceText,
  evidenceWords,
  basisText,
  originText,
  resultText,
  nextText,
  stateCounts,
  todoText,
  statusText,
  targetText,
} from '../../ledger/vocabulary-words.ts';
import type { Database } from '../../mirror/database.ts';
import { endedStates, finalStates, listRequests, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import { listTargets, type ErasureTarget } from '../../mirror/erasure-targets.ts';
import { readFenceUse } from '../../mirror/fence.ts';
import type { CommandAction } from '../command.ts';
import { heldText } from '../held-text.ts';
import { requestStateText } from '../request-state-text.ts';
import { formatTable } from '../table.ts';
import { refuseUnfitFolder } from '../unfit-folder.ts';

/** Defines `erase list` or `erase show`. */
export function define(command: Command): CommandAction {
  return command.name() === 'list' ? defineList(command) : defineShow(command);
}

function defineList(command: Command): CommandAction {
  command.option('--all', 'list ended requests too');
  return {
    help: '\nExamples:\n  analytics-mirror erase list\n  analytics-mirror erase list --all --json',
    run: (app, { all }: { all?: boolean }) => {
      const db = app.databaseReadOnly();
      refuseUnfitFolder(db, app.settings);
      const now = isoTime(app.clock.now());
      const { histories } = readLedger(app.settings.dataDir);
      const known = listRequests(db, 'all').map((request) => believed(db, request, histories.of(request.id)));
      const requests = known.filter(({ state }) => all === true || !finalStates.includes(state));
      const groups = [...Map.groupBy(known, ({ state }) => state)];
      const states = Object.fromEntries(groups.map(([state, { length }]) => [state, length]));
      const { consumers } = app.settings.export;
      const silentOf = ({ id }: ErasureRequest): string[] => {
        const history = histories.of(id);
        const all = history ? acknowledgementsOf(history, consumers) : [];
        return all.flatMap(({ consumer, acknowledgedAt }) => (acknowledgedAt === null ? [consumer] : []));
      };
      return {
        json: {
          requests: requests.map((one) => ({ ...one, todo: todoOf(db, one, now), unacknowledgedBy: silentOf(one) })),
          states,
        },
        text: requests.length === 0 ? noneText(states) : requestTable(requests),
      };
    },
  };
}

/** That no request is open, and how those ended that there were. */
function noneText(states: Partial<Record<RequestState, number>>): string {
  const ended = stateCounts(states).map(([text, count]) => `${count} ${text}`);
  return `no open request${ended.length === 0 ? '' : `; ended: ${ended.join(', ')} (\`erase list --all\`)`}\n`;
}

function requestTable(requests: readonly ErasureRequest[]): string {
  return formatTable(
    ['request', 'state', 'from', 'received', 'due', 'service batch by', 'by'],
    requests.map((request) => [
      request.id,
      requestStateText(request),
      originText(request.origin),
      secondText(request.receivedAt),
      request.dueAt.slice(0, 10),
      request.eventsExpectedBy === null ? '' : secondText(request.eventsExpectedBy),
      request.authorisedBy ?? '',
    ]),
  );
}

/** What is to be done about a request at a time (ISO 8601 UTC); null where it has ended for no reason that needs an operator. */
function todoOf(db: Database, request: ErasureRequest, now: string): string | null {
  const todo = todoText(request);
  if (todo !== null || endedStates.includes(request.state)) return todo;
  const left = listTargets(db, request.id).filter(({ status }) => status !== 'done');
  const due = left.map(
    ({ target, notBefore }) => (target === 'upstream.events' ? request.eventsExpectedBy : notBefore) ?? '',
  );
  const [next = ''] = due.toSorted();
  return nextText(next > now ? next : null);
}

/** The commands between which an operator chooses for a held request. */
function choiceText({ id, state }: ErasureRequest): string {
  return state === 'held'
    ? `yes: analytics-mirror erase approve ${id.slice(0, 8)}\nno:  analytics-mirror erase cancel ${id.slice(0, 8)}\n`
    : '';
}

/** How a request was decided, as far as the operator has stated it. */
function decisionRows({ decided_by: decider, identity, exception }: Decision): (readonly [string, string])[] {
  const rows = [
    ['decided by', decider],
    ['identity', identity],
    ['exception', exception],
  ] as const;
  return rows.flatMap(([what, code]) => (code === undefined ? [] : [[what, codeText(code)] as const]));
}

function defineShow(command: Command): CommandAction {
  command.argument('<id>', "the request's id, or its first characters");
  return {
    help: '\nExamples:\n  analytics-mirror erase show 3f2a',
    run: (app, id: string) => {
      const db = app.databaseReadOnly();
      refuseUnfitFolder(db, app.settings);
      const request = requireRequest(db, id);
      const targets = listTargets(db, request.id);
      const held = heldBecauseOf({ db, settings: app.settings }, request);
      const fence = readFenceUse(db, request.id);
      const { histories, ...reader } = readLedger(app.settings.dataDir);
      const history = histories.of(request.id);
      const acknowledgements = history ? acknowledgementsOf(history, app.settings.export.consumers) : [];
      const ledger = [...reader.entries()].filter((entry) => requestsOf(entry).includes(request.id));
      const todo = todoOf(db, request, isoTime(app.clock.now()));
      const text = [
        `request ${request.id}, generation ${request.generation}\n`,
        formatTable(
          ['state', requestStateText(request)],
          [
            ['from', originText(request.origin)],
            ['basis', basisText(request.basis)],
            ...decisionRows(history?.decision ?? {}),
            ['received', secondText(request.receivedAt)],
            ['due', secondText(request.dueAt)],
            ...(request.eventsExpectedBy === null
              ? []
              : [['service batch by', secondText(request.eventsExpectedBy)] as const]),
            [
              'found',
              [
                countedText(request.persons ?? 0, 'person'),
                countedText(request.distinctIds ?? 0, 'distinct id'),
                countedText(request.recordings ?? 0, 'recording'),
              ].join(', '),
            ],
            [
              'kept out since',
              fence.hits === 0
                ? 'never'
                : `${countedText(fence.hits, 'time')}, and the service has ${countedText(fence.recreated, 'identifier')} again`,
            ],
          ],
        ),
        ...(todo === null
          ? []
          : [
              `what to do: ${todo}\n${request.reason === null ? '' : heldText('the request', held, db)}${choiceText(request)}`,
            ]),
        targets.length === 0 ? 'no targets yet\n' : targetTable(targets),
        ...(acknowledgements.length === 0 ? [] : [consumerTable(acknowledgements)]),
        formatTable(
          [{ right: 'entry' }, 'written', 'ledger', 'about'],
          ledger.map((entry) => [String(entry.seq), secondText(entry.at), entry.type, aboutText(entry)]),
        ),
      ].join('\n');
      return {
        json: {
          request: { ...request, todo },
          ...held,
          targets: targets.map(spelled),
          acknowledgements,
          fence,
          ledger,
        },
        text,
      };
    },
  };
}

function aboutText(entry: LedgerEntry): string {
  if ('target' in entry) return entry.target;
  if ('epoch' in entry) return `epoch ${entry.epoch}`;
  return 'consumer' in entry ? entry.consumer : '';
}

/** What consumers said is recorded as said: this program has seen no copies but those that it observed. */
function consumerTable(acknowledgements: readonly Acknowledgement[]): string {
  return formatTable(
    ['consumer', 'says that it has deleted too, recorded', 'which is', 'not covered'],
    acknowledgements.map(({ consumer, acknowledgedAt, seen = [], not_covered: bare = [] }) => [
      consumer,
      acknowledgedAt === null ? 'not yet' : secondText(acknowledgedAt),
      seen.map(({ assurance }) => assurance).join(', ') || (acknowledgedAt === null ? '' : 'asserted'),
      bare.join(', '),
    ]),
  );
}

function spelled(target: ErasureTarget): Omit<ErasureTarget, 'target'> & { target: string } {
  return { ...target, target: spellTarget(target.target) };
}

function targetTable(targets: readonly ErasureTarget[]): string {
  return formatTable(
    ['target', 'status', 'result', 'assurance', 'what to do'],
    targets.map(({ target, status, result, assurance, reason }) => [
      targetText(target),
      statusText(status),
      result === null ? '' : resultText(result),
      assurance === null || result === null ? '' : evidenceWords[evidenceOf({ result, assurance })].name.toLowerCase(),
      reason === null ? '' : adviceText(reason),
    ]),
  );
}
