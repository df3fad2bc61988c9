import { nobody } from '../../contract/identity.ts';
import type { ErasureRequest } from '../../mirror/erasure-requests.ts';
import { givenKey, type Box, type GivenIdentifier } from '../request/box.ts';
import type { ScopeContext } from './scope.ts';
import { findShownEmails } from './seen-rows.ts';
import { emailsOf } from './questions.ts';
import { startIdentities } from './start-identities.ts';

type Opened = { request: Pick<ErasureRequest, 'fencedAt'>; box: Pick<Box, 'given' | 'identity'> };

/**
 * Finds the given identifiers by which open requests were made, all of them fenced, and which by now name a living person
 * beside those of these requests, such as a new account with the same e-mail address. A request that is fenced takes nobody
 * in any more. Returns their keys. Changes nothing.
 */
export async function findNamedAnew(
  context: ScopeContext,
  opened: readonly Opened[],
  given: readonly GivenIdentifier[],
): Promise<Set<string>> {
  const uses = opened.flatMap(({ request, box }) =>
    box.given.map((each) => ({ key: givenKey(each), request, uuids: box.identity.person_uuid })),
  );
  const requestsOf = Map.groupBy(uses, ({ key }) => key);
  // Each spelling of an address is a question of its own.
  const fenced = [...Map.groupBy(given, givenKey)].filter(
    ([key]) => requestsOf.get(key)?.every(({ request }) => request.fencedAt !== null) === true,
  );
  if (fenced.length === 0) return new Set();
  const sought = fenced.map(([key, named]) => ({ id: key, given: named, identity: nobody, shown: null }));
  const emails = new Set(emailsOf(fenced.flatMap(([, named]) => named)));
  const starts = await startIdentities(context, sought, await findShownEmails(context, emails));
  const isAnew = (key: string): boolean => {
    const own = new Set(requestsOf.get(key)?.flatMap(({ uuids }) => uuids));
    return starts.get(key)?.persons.some((uuid) => !own.has(uuid)) === true;
  };
  return new Set(fenced.flatMap(([key]) => (isAnew(key) ? key : [])));
}
