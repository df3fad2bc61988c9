import { singleCasesMax } from '../../client/service.ts';
import { turned } from '../../core/batches.ts';
import { assertNever } from '../../core/errors.ts';
import { identifiersIn, nobody, unionOf, type Identity } from '../../contract/identity.ts';
import type { JobContext } from '../../job/job-context.ts';
import { listRequests, type ErasureRequest, updateRequest } from '../../mirror/erasure-requests.ts';
import { scopeSubjects, type Scope, type ScopeContext, type Scopes } from '../find/scope.ts';
import { emailsOf } from '../find/questions.ts';
import { closeBox, openBoxes, type Box } from '../request/box.ts';
import { hasFailedAlone, noteWait } from '../request/waits.ts';
import { eachTogether, record } from '../request/together.ts';
import { fencedBy } from '../../mirror/fence.ts';
import type { Database } from '../../mirror/database.ts';
import { planFence, type Decision } from './fence-plan.ts';

/** A request that is not fenced yet, where its subject was found, and what was decided about it. */
export type DecidedRequest = {
  request: ErasureRequest;
  box: Box;
  scope: Scope;
  decision: Decision;
  /** Whether the service has said only now how it shows the subject. */
  isNewlyShown: boolean;
};

/**
 * Finds the subjects of the open requests that are not fenced yet, in the mirror, in every published file and, where there
 * is one, at the service, and decides which of these requests go on. Changes nothing. `only`: the ids of those that count. `anew`: of
 * those for which the service is asked once more.
 */
export async function decideRequests(
  context: ScopeContext & Pick<JobContext, 'clock'>,
  only: ReadonlySet<string>,
  anew: ReadonlySet<string> = new Set(),
): Promise<{ decided: DecidedRequest[]; searched: Scopes['searched'] }> {
  const boxes = await openBoxes(context, ({ id, fencedAt }) => fencedAt === null && only.has(id));
  const placeOf = ({ request }: (typeof boxes)[number]): number => Number(hasFailedAlone(request));
  // Where so many can fail that the others are not asked for, each run begins at another.
  const inTurn = turned(boxes, boxes.length < singleCasesMax ? 0 : context.clock.now());
  const found = inTurn.toSorted((one, other) => placeOf(one) - placeOf(other));
  // A person whose own request does not go on is a living person to the others.
  const staying = new Set<string>();
  for (;;) {
    const { scopes, searched } = await scopeSubjects(
      context,
      found.map(({ request: { id, scopedAt, origin, generation }, box: { given, identity, shown } }) => ({
        id,
        given,
        identity,
        // What the service has deleted by itself was asked for once more already.
        shown:
          origin === 'upstream' && generation === 1 ? [] : scopedAt === null || anew.has(id) ? null : (shown ?? null),
        isStaying: staying.has(id),
        isUnasked: origin === 'upstream',
      })),
    );
    const decided = decideAll(context, boxes, scopes, anew);
    const going = new Set(decided.filter(isGoing).flatMap(({ scope }) => scope.identity.person_uuid));
    const more = decided.filter(
      (each) =>
        !isGoing(each) && !staying.has(each.request.id) && each.scope.start.person_uuid.some((uuid) => going.has(uuid)),
    );
    if (more.length === 0) return { decided, searched };
    for (const { request } of more) staying.add(request.id);
  }
}

function isGoing({ decision }: DecidedRequest): boolean {
  return decision.decision === 'fence';
}

function decideAll(
  { db, settings }: ScopeContext,
  found: readonly Pick<DecidedRequest, 'request' | 'box'>[],
  scopes: Scopes['scopes'],
  anew: ReadonlySet<string>,
): DecidedRequest[] {
  const candidates = found.flatMap((each) => {
    const scope = scopes.get(each.request.id);
    return scope ? [{ ...each, scope }] : [];
  });
  const decisions = planFence(
    candidates.map(({ request, box, scope }) => ({
      isApproved: request.approvedAt !== null,
      isFound: isFound(request, box, scope),
      isShared: scope.isShared,
      erasedBy: erasedBy(db, request.id, scope.start),
      personsNamed: scope.personsNamed.length,
      // A request that was fenced before cannot be held any more.
      isNamedAnew:
        request.generation === 1 && scope.personsNamed.some((uuid) => box.personsNamed?.includes(uuid) !== true),
      persons: scope.persons,
      isUnasked: request.origin === 'upstream',
      isOneOfTooMany: request.state === 'held' && request.reason === 'too_many',
    })),
    settings.erasure.maxBatch,
  );
  return candidates.flatMap((candidate, index) => {
    const decision = decisions[index];
    const { request, box, scope } = candidate;
    const isFirst = request.scopedAt === null || box.shown === undefined;
    return decision
      ? [{ ...candidate, decision, isNewlyShown: isFirst || (anew.has(request.id) && scope.isAsked) }]
      : [];
  });
}

/**
 * Whether anything is left of a subject; null where the service has to be asked first. Who has an e-mail address, and who has it beside
 * whom the mirror shows, is the service's to say. A request that was fenced before goes on.
 */
function isFound({ generation }: ErasureRequest, { given }: Box, scope: Scope): boolean | null {
  if (generation > 1) return true;
  if (scope.isAsked) return scope.isFound;
  return scope.isFound && emailsOf(given).length === 0 ? true : null;
}

/** The newest request that has fenced an identifier of a subject; null where none has. */
function erasedBy(db: Database, id: string, identity: Identity): string | null {
  const requests = new Set(fencedBy(db, [...identifiersIn(identity)]).filter((other) => other !== id));
  if (requests.size === 0) return null;
  return listRequests(db, 'all').findLast((request) => requests.has(request.id))?.id ?? null;
}

/** Records what was decided about requests. Returns how many are refused. */
export async function recordDecisions(
  context: JobContext,
  decided: readonly DecidedRequest[],
  searchedFiles: number,
): Promise<{ refused: number }> {
  await eachTogether(context, decided, (own, each) => recordDecision(own, each, searchedFiles));
  return { refused: decided.filter(({ decision }) => decision.decision === 'refuse').length };
}

function recordDecision(
  context: JobContext,
  { request, box, scope, decision, isNewlyShown }: DecidedRequest,
  searchedFiles: number,
): void {
  const { db, clock } = context;
  const { id, generation } = request;
  noteWait({ db, clock }, id, decision.decision === 'wait' ? scope.waitsFor : null);
  if (decision.decision === 'wait') {
    // Whom the rows held show now is meant, whatever becomes of these rows before the service answers. The distinct ids may be others' then.
    const found = unionOf([box.identity, scope.start, { ...nobody, person_id: scope.identity.person_id }]);
    if (scope.isFound) updateRequest(db, id, { box: closeBox(context, id, { ...box, identity: found }) });
    return;
  }
  const about = { request: id, generation };
  const { personsNamed, sharedWith } = scope;
  const identity = unionOf([box.identity, scope.start]);
  const known = { ...box, ...(isNewlyShown ? { identity, shown: scope.shown } : {}), personsNamed, sharedWith };
  // A request that is held no more has been found anew.
  if (isNewlyShown || (request.state === 'held' && decision.decision === 'fence'))
    record(context, {
      type: 'scoped',
      ...about,
      persons: scope.persons,
      distinct_ids: scope.identity.distinct_id.length,
      recordings: scope.recordings,
      quarantined: scope.quarantined.length,
      files: scope.files.length,
    });
  switch (decision.decision) {
    case 'hold': {
      const { reason } = decision;
      if (isNewlyShown || request.heldAt === null || request.reason !== reason)
        record(context, { type: 'held', ...about, reason });
      // The operator who decides has to know how much was found, and of which persons.
      updateRequest(db, id, { ...countsOf(scope), box: closeBox(context, id, known) });
      return;
    }
    case 'refuse':
      // No person can be found by the box, so it is not kept.
      record(context, { type: 'refused', ...about, reason: decision.reason });
      updateRequest(db, id, { erasedBy: erasedBy(db, id, scope.start), searchedFiles });
      return;
    case 'fence':
      if (isNewlyShown) updateRequest(db, id, { box: closeBox(context, id, known) });
      return;
    default:
      assertNever(decision);
  }
}

/** How much of a subject was found, as its request keeps it. */
export function countsOf({ persons, identity, recordings }: Scope) {
  return { persons, distinctIds: identity.distinct_id.length, recordings };
}
