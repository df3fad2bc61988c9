import type { Decision } from '../ledger/record.ts';
import { stateText } from '../ledger/vocabulary-words.ts';
import { basisCode, type AttentionReason, type Origin, type TargetResult } from '../ledger/vocabulary.ts';
import { randomUUID } from 'node:crypto';
import type { PagedDataset } from '../contract/datasets.ts';
import { isoTime } from '../core/clock.ts';
import { usageError } from '../core/errors.ts';
import type { JobContext } from '../job/job-context.ts';
import { identityOf, nobody } from '../contract/identity.ts';
import { findRequest, type ErasureRequest, updateRequest } from '../mirror/erasure-requests.ts';
import type { Database } from '../mirror/database.ts';
import { listTargets } from '../mirror/erasure-targets.ts';
import { agreedMs } from '../mirror/service-clock.ts';
import { findPersons, findRecordings } from '../mirror/sightings.ts';
import {
  authorisationMac,
  closeBox,
  givenKey,
  heldBecauseOf,
  newBox,
  openBoxes,
  subjectMac,
  type Box,
  type GivenIdentifier,
  type HeldBecauseOf,
} from './request/box.ts';
import { decideRequests, recordDecisions } from './fence/decide.ts';
import { findNamedAnew } from './find/named-anew.ts';
import { requireReferences } from './request/reference.ts';
import { reopenIfRecreated } from './request/reopen.ts';
import { settle } from './request/target-journal.ts';
import { eachTogether, record, together } from './request/together.ts';
import { endWait } from './upstream/earlier-deletions.ts';
import { leaveToHolders } from './upstream/persons.ts';

/** Who allows the erasure, on which legal basis, how it was decided, and whether the events are deleted too. */
export type Authority = { basis: string; by: string; decision?: Decision; deleteEvents: boolean };

/** The result for one given identifier, without the identifier itself. */
export type AddedRequest = {
  /** Its place among the given identifiers, from 1. */
  line: number;
  kind: GivenIdentifier['kind'];
  id: string;
  state: ErasureRequest['state'];
  reason: ErasureRequest['reason'];
  /** Why it cannot go on by itself. */
  waitsFor: ErasureRequest['waitsFor'];
  /** The earlier request that erased the same person. */
  erasedBy: string | null;
  /** Whether there was already a request for the same identifier, and the same persons, that asks for at least as much. */
  isKnown: boolean;
  /** The options whose values are not those that are recorded of the known request. */
  unrecorded: string[];
  persons: number;
  recordings: number;
  files: number;
} & HeldBecauseOf;

/** What changing requests needs of a job's context. */
export type ReceiveContext = Pick<JobContext, 'db' | 'ledger' | 'settings' | 'clock'>;

/**
 * Receives a request for each identifier, and finds its subject: in the mirror, in every published file and at the
 * service. Erases nothing yet. A request is refused where no person is known by its identifier. Throws `usage` for an
 * authority that is no reference. `onReceived` is called while the key of each request is still kept, refused ones too.
 */
export async function addRequests(
  context: JobContext,
  given: readonly GivenIdentifier[],
  authority: Authority,
  onReceived: () => void = () => undefined,
): Promise<AddedRequest[]> {
  requireReferences(authority);
  const open = new Map<string, { id: string; deleteEvents: boolean; isFenced: boolean; box: Box }>();
  // Requests that delete events come last, so that they win where two name the same identifier.
  const opened = await openBoxes(context, () => true);
  const widestLast = opened.toSorted((a, b) => Number(a.request.deleteEvents) - Number(b.request.deleteEvents));
  for (const { request, box } of widestLast)
    for (const each of box.given)
      open.set(givenKey(each), {
        id: request.id,
        deleteEvents: request.deleteEvents,
        isFenced: request.fencedAt !== null,
        box,
      });
  const namedAnew = await findNamedAnew(context, opened, given);
  const receiveOne = (own: JobContext, identifier: GivenIdentifier, index: number) => {
    const key = givenKey(identifier);
    const before = open.get(key);
    const isReopened = before !== undefined && reopenIfRecreated(own, before.id);
    const known = isReopened || !namedAnew.delete(key) ? before : undefined;
    const isKnown = known !== undefined && (known.deleteEvents || !authority.deleteEvents);
    // What the narrower request has found may be known nowhere else any more: here its subject is erased.
    const box = newBox([identifier], known?.box.identity ?? nobody);
    const id = isKnown ? known.id : receive(own, 'manual', box, authority);
    if (!isKnown) open.set(key, { id, deleteEvents: authority.deleteEvents, isFenced: false, box });
    else if (isReopened || !known.isFenced) keepSpelling(own, known, identifier);
    const unrecorded = isKnown ? unrecordedOf(own, id, authority) : [];
    return { line: index + 1, kind: identifier.kind, id, isKnown, unrecorded };
  };
  const received = await eachTogether(context, given, receiveOne);
  const idsOf = (which: typeof received): Set<string> => new Set(which.map(({ id }) => id));
  // Who asks once more means whoever the identifier names now.
  const anew = idsOf(received.filter(({ isKnown }) => isKnown));
  const { decided, searched } = await decideRequests(context, idsOf(received), anew);
  onReceived();
  await recordDecisions(context, decided, searched.files);
  const scopes = new Map(decided.map(({ request, scope }) => [request.id, scope]));
  return received.map((each) => {
    const request = requireRequest(context.db, each.id);
    const { state, reason, waitsFor, erasedBy } = request;
    const { persons = 0, recordings = 0, files = [] } = scopes.get(each.id) ?? {};
    const held = heldBecauseOf(context, request);
    return Object.assign(each, { state, reason, waitsFor, erasedBy, persons, recordings, files: files.length }, held);
  });
}

/** Keeps an address as it is given now beside its other spellings: the service compares letter by letter, and is asked for each. */
function keepSpelling(context: ReceiveContext, { id, box }: { id: string; box: Box }, given: GivenIdentifier): void {
  if (box.given.some(({ value }) => value === given.value)) return;
  box.given.push(given);
  updateRequest(context.db, id, { box: closeBox(context, id, box) });
}

/** What was stated with an identifier whose request was open already, and is not recorded of that request. */
function unrecordedOf(
  { db, ledger }: ReceiveContext,
  id: string,
  { decision, deleteEvents, ...stated }: Authority,
): string[] {
  const request = requireRequest(db, id);
  const { basis, authorisedBy: by } = request;
  const recorded: Record<string, unknown> = { basis, by, ...ledger().histories.of(id)?.decision };
  const differing = Object.entries({ ...stated, ...decision }).filter(([name, value]) => recorded[name] !== value);
  return [...differing.map(([name]) => name), ...(request.deleteEvents && !deleteEvents ? ['keep_events'] : [])];
}

/** Receives a request for each confirmed deletion. Call it in the transaction that removes the row, before that. */
export function deletionReceiver(context: ReceiveContext): (dataset: PagedDataset, key: string) => void {
  const { db } = context;
  return (dataset, key) => {
    const isPerson = dataset === 'persons';
    const kind = isPerson ? 'person_uuid' : 'recording_id';
    const own = identityOf((each) => (each === kind ? [key] : []));
    const [row] = isPerson ? findPersons(db, own) : findRecordings(db, own);
    if (!row) return;
    const { values, left_out: leftOut } = row;
    const createdAt = 'createdAt' in row ? row.createdAt : null;
    const ids = { person_id: row.person_id === null ? [] : [row.person_id], distinct_id: row.distinct_ids };
    const box = newBox([{ kind: isPerson ? 'uuid' : 'recording', value: key }], isPerson ? { ...own, ...ids } : own);
    const found = { values, createdAt, ...(leftOut === undefined ? {} : { leftOut }) };
    const authority = { basis: 'deleted_upstream', by: 'sync', deleteEvents: false };
    receive(context, 'upstream', { ...box, ...found }, authority);
  };
}

/** Receives a request for the subject of a box. Returns its id. */
export function receive(
  context: ReceiveContext,
  origin: Origin,
  box: Box,
  { basis, by, decision, deleteEvents }: Authority,
  id: string = randomUUID(),
): string {
  const { db, settings } = context;
  together(context, (own) => {
    record(own, {
      type: 'received',
      request: id,
      generation: 1,
      origin,
      basis: basisCode(basis),
      subject: subjectMac(box),
      authorisation: authorisationMac(box, by),
      delete_events: deleteEvents,
      ...decision,
      due_at: dueAt(context),
    });
    updateRequest(db, id, { basis, authorisedBy: by, box: closeBox({ db, settings }, id, box) });
  });
  return id;
}

/** When a request is due that is received now. A clock that was set back would make it late at once. */
export function dueAt({ db, settings, clock }: ReceiveContext): string {
  return isoTime(Math.max(clock.now(), agreedMs(db)) + settings.erasure.dueDays * 86_400_000);
}

/** Cancels a request that has not been fenced yet. Throws `usage` for any other. */
export function cancelRequest(context: ReceiveContext, idOrPrefix: string): ErasureRequest {
  const { db } = context;
  const request = requireRequest(db, idOrPrefix);
  const { generation } = request;
  const isFinal = request.refusedAt !== null || request.cancelledAt !== null;
  // A request of a later generation was fenced before.
  if (generation > 1 || request.fencedAt !== null || isFinal)
    throw usageError(
      `request ${request.id} (${stateText(request.state)}) can no longer be cancelled`,
      'only requests that are not fenced yet can be; `erase readmit` lets an erased person in again',
    );
  record(context, { type: 'cancelled', request: request.id, generation });
  return requireRequest(db, request.id);
}

/** How a target ends whose reason for attention an operator accepts. */
const acceptedResults: Readonly<Partial<Record<AttentionReason, TargetResult>>> = {
  events_unconfirmed: 'unconfirmed',
  events_overdue: 'unconfirmed',
  events_queued_before: 'unconfirmed',
  events_not_queued: 'not_queued',
  playlist_refused: 'not_deletable_by_key',
};

/**
 * Lets a held request go on at the next reconciliation, or one that waits for an earlier deletion of the person's events, or for
 * another person that has one of its distinct ids. Or,
 * where it is in doubt whether these were deleted, or the service does not let the key take recordings out of a playlist, accepts
 * that it stays so, so that the request can end; its certificate says so. Of several such targets the first; the next by the next
 * approval. Throws `usage` for any other request.
 */
export function approveRequest(context: ReceiveContext, idOrPrefix: string): ErasureRequest {
  const { db } = context;
  const request = requireRequest(db, idOrPrefix);
  const { id, generation } = request;
  const targets = listTargets(db, id);
  const person = targets.find(({ target }) => target === 'upstream.person');
  // Nothing was sent yet: the person is there, and waits for an earlier deletion of the events.
  const isWaiting = person?.attempts === 0 && person.status !== 'done';
  // One at a time, the one that is shown first: who does not wait for the events has not given up a playlist.
  const [accepted] = targets.flatMap(({ target, status, reason }) => {
    if (status !== 'attention' || reason === null) return [];
    const result = acceptedResults[reason];
    return result === undefined && reason !== 'distinct_id_elsewhere' ? [] : [{ target, result }];
  });
  if (request.state === 'attention' && accepted) {
    const { target, result } = accepted;
    if (result === undefined) leaveToHolders(context, request);
    else if (target === 'upstream.events' && isWaiting) endWait(context, request);
    else settle(context, [request], target, { result, assurance: 'not_verifiable' });
  } else if (request.state === 'held') {
    record(context, { type: 'approved', request: id, generation });
  } else if (isListedAgain(db, request)) {
    settleListedAgain(context, request);
  } else
    throw usageError(
      `request ${id} (${stateText(request.state)}): there is nothing to approve`,
      '`erase list` shows the requests that are held, or whose events are in doubt, or entries in a playlist refused',
    );
  return requireRequest(db, id);
}

/** Whether a request is in attention because the service lists a person or a recording again that it had said to be gone. */
export function isListedAgain(db: Database, { id, state }: ErasureRequest): boolean {
  return state === 'attention' && listTargets(db, id).some(({ reason }) => reason === 'listed_again');
}

/** Ends what such a request waits for: what is listed is at the service, and stays there. */
export function settleListedAgain(
  context: Pick<ReceiveContext, 'db' | 'ledger' | 'clock'>,
  request: ErasureRequest,
): void {
  for (const { target, reason } of listTargets(context.db, request.id))
    if (reason === 'listed_again')
      settle(context, [request], target, { result: 'still_present', assurance: 'observed' });
}

/** The request with this id, or the only one whose id begins like this. Throws `usage` when there is none. */
export function requireRequest(db: Database, idOrPrefix: string): ErasureRequest {
  const request = findRequest(db, idOrPrefix);
  if (request?.isAccess)
    throw usageError(
      `request ${request.id} is for access, not for erasure`,
      '`access list` shows the requests for access, `access answer` and `access cancel` end them',
    );
  if (request) return request;
  throw usageError(
    'there is no request of that id, or several begin so',
    '`erase list --all` shows every request with its id',
  );
}
