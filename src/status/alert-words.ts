import { isDatedAhead } from '../core/present.ts';
import { agoText, capital, codeText, countText, countedText, minuteText } from '../core/words.ts';
import type { ServiceCause } from '../job/service-cause.ts';
import { isOverdue, needsOperator } from '../mirror/erasure-requests.ts';
import { stateText } from '../ledger/vocabulary-words.ts';
import type { OpenRequest, ProjectContent, ProjectOverview } from './overview.ts';

/** What an alert says, and what to do. `title`: what the page says in one sentence; the kind's own where it is missing. */
export type AlertWords = { title?: string; message: string; todo: string };

const ofService: ReadonlySet<string> = new Set(['refused', 'unreachable', 'quota'] satisfies ServiceCause['kind'][]);

/** The most requests that a text names. */
const namedMax = 3;

/** The words of an alert at a time (ISO 8601 UTC): by the content of the data folder where that says more, else its own. */
export function alertWords(
  { kind, message, todo }: ProjectOverview['alerts'][number],
  content: ProjectContent | null,
  at: string,
): AlertWords {
  const lines = content === null ? [] : linesOf(kind, content, at);
  // What the service does wrong is the message, up to the jobs that it stops: not only keys are refused.
  if (ofService.has(kind)) return { title: capital(message.replace(/: [^:]*$/, '')), message, todo };
  if (lines.length === 0) return { message, todo };
  const told = kind === 'held' ? message.replace('held for approval', 'your approval is needed') : message;
  return { title: capital(told), message: told, todo: lines.join('\n') };
}

function linesOf(kind: string, { openRequests, held }: ProjectContent, at: string): string[] {
  const waiting = openRequests.filter(({ state }) => state === 'held');
  switch (kind) {
    case 'held':
      return [...requestChoice(waiting), ...held.flatMap(planChoice), ...restOf(waiting.slice(1))];
    case 'overdue':
      return named(
        openRequests.filter((request) => isOverdue(request, at)),
        at,
      );
    case 'attention':
      return named(openRequests.filter(needsOperator), at);
    default:
      return [];
  }
}

/** The first request that waits for approval: how many persons it means, and the commands for whom, for yes and for no. */
function requestChoice([request]: readonly OpenRequest[]): string[] {
  if (!request) return [];
  const { persons, reasons } = request;
  const id = shortId(request);
  const erases = persons === null ? '' : ` and would erase ${countedText(persons, 'person')}`;
  return [
    `Request ${id} is held (${reasons.map(codeText).join(', ')})${erases}.`,
    `Whom: ${command(`erase show ${id}`)}`,
    `Yes: ${command(`erase approve ${id}`)}`,
    `No: ${command(`erase cancel ${id}`)}`,
  ];
}

/** A plan of deletions that waits for approval, with the commands for which rows and for yes. */
function planChoice({ plan, dataset, rows, rowsTotal }: ProjectContent['held'][number]): string[] {
  return [
    `Plan ${plan.slice(0, 8)} would delete ${countText(rows)} of ${countText(rowsTotal)} ${dataset}.`,
    `Which: ${command('reconcile --dry-run')}`,
    `Yes: ${command(`reconcile --approve ${plan}`)}`,
    'No: leave it. Nothing of them is deleted.',
  ];
}

/** Requests by id: since when they are due, how far they are and what they wait for, and the command that says what to do. */
function named(requests: readonly OpenRequest[], at: string): string[] {
  const shown = requests.slice(0, namedMax).map((request) => {
    const { state, receivedAt, dueAt } = request;
    const due = isDatedAhead(Date.parse(receivedAt), Date.parse(at))
      ? `is overdue, as its receipt is dated ${minuteText(receivedAt)}`
      : `${dueAt < at ? 'was due' : 'is due'} ${agoText(dueAt, at)}`;
    const id = shortId(request);
    const facts = [stateText(state), ...waitingFor(request)].join(', ');
    return `Request ${id} ${due}: ${facts}. What to do: ${command(`erase show ${id}`)}`;
  });
  return [...shown, ...restOf(requests.slice(namedMax))];
}

/** What an open request waits for, each in words. */
export function waitingFor({ reasons, eventsExpectedBy }: OpenRequest): string[] {
  const batch = eventsExpectedBy === null ? [] : [`the service deletes the events by ${minuteText(eventsExpectedBy)}`];
  return [...reasons.map(codeText), ...batch];
}

function restOf({ length }: readonly OpenRequest[]): string[] {
  return length === 0 ? [] : [`${countedText(length, 'more request')}: ${command('erase list')}`];
}

function shortId({ id }: OpenRequest): string {
  return id.slice(0, 8);
}

function command(words: string): string {
  return `\`analytics-mirror ${words}\``;
}
