import { bodyOrMissing, isSingleCase } from '../../client/service.ts';
import { personParams } from '../../contract/endpoints.ts';
import { rowReaders } from '../../contract/row-readers.ts';
import { resultsByBatch } from '../../core/batches.ts';
import { AppError } from '../../core/errors.ts';
import { reasonMac } from '../../core/secret-key.ts';
import type { JobContext } from '../../job/job-context.ts';
import { endedStates, listRequests, updateRequest, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import { boxKeyName, readFenceUse } from '../../mirror/fence.ts';
import { forgetUnlisted, type StaysOut } from '../../mirror/listed-again.ts';
import { prepareFindRowKey } from '../../mirror/tables.ts';
import { cancelRequest } from '../receive.ts';
import { boxOf, listedIdentity } from '../request/box.ts';
import { record, together } from '../request/together.ts';

/** The reason of a readmission that nobody has asked for. The ledger has an HMAC of it. */
const shownAgain = 'the service shows the row again';

/** How many rows that were taken for deleted at the service are let in again, and how many that it lists stay out. */
export type LetBack = { letIn: number; staysOut: number };

/**
 * Gives up the requests for deletions at the service whose row a page has shown since, before anything was done for them: the
 * mirror has the row again. Returns how many.
 */
export function giveUpListed(context: JobContext): number {
  const { db } = context;
  const findRowKey = { persons: prepareFindRowKey(db, 'persons'), recordings: prepareFindRowKey(db, 'recordings') };
  const given = listRequests(db, 'open').filter(({ id, origin, fencedAt, generation }) => {
    if (origin !== 'upstream' || fencedAt !== null || generation > 1) return false;
    const [subject] = boxOf(context, id)?.given ?? [];
    if (subject === undefined) return false;
    return findRowKey[subject.kind === 'recording' ? 'recordings' : 'persons'](subject.value) !== undefined;
  });
  together(context, (own) => given.forEach(({ id }) => cancelRequest(own, id)));
  return given.length;
}

/**
 * Lets rows in again that were taken for deleted at the service, and that it has again: it lists them, and answers for their ids.
 * Nobody had asked for their erasure. The ledger has a readmission of their requests, and the next pass stores them. A row that
 * is listed and cannot be had by its id stays out, and its request keeps the reason until it is listed no more.
 */
export async function letBack(context: JobContext): Promise<LetBack> {
  const { db, settings, signal } = context;
  forgetUnlisted(db);
  const listed = listRequests(db, 'all').filter(
    ({ origin, listedAgainPass }) => origin === 'upstream' && listedAgainPass !== null,
  );
  const result: LetBack = { letIn: 0, staysOut: 0 };
  let isSilent = false;
  const ask = async (request: ErasureRequest): Promise<{ request: ErasureRequest; why: StaysOut | null }> => {
    if (!endedStates.includes(request.state)) return { request, why: 'still_open' };
    if (isSilent) return { request, why: 'not_answered' };
    try {
      return { request, why: await askFor(context, request.id) };
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'interrupted') throw error;
      isSilent ||= !isSingleCase(error);
      return { request, why: 'not_answered' };
    }
  };
  for await (const asked of resultsByBatch(listed, { atOnce: settings.budget.concurrency, signal }, ask))
    together(context, (own) => {
      for (const { request, why } of asked) {
        if (why === null) letIn(own, request);
        else updateRequest(db, request.id, { staysOut: why });
        result[why === null ? 'letIn' : 'staysOut'] += 1;
      }
    });
  return result;
}

/** Asks for the row by its id. Null where the service has it. */
async function askFor({ db, settings, service, signal }: JobContext, requestId: string): Promise<StaysOut | null> {
  const {
    person_uuid: [uuid] = [],
    person_id: [id] = [],
    recording_id: [recording = ''] = [],
  } = listedIdentity(settings.dataDir, db, requestId) ?? {};
  if (!service) return 'not_answered';
  const options = { priority: 'deletion', signal } as const;
  const found = await bodyOrMissing(
    uuid === undefined
      ? service.call('recordings.retrieve', { params: { id: recording }, ...options })
      : service.call('persons.retrieve', { params: personParams(id ?? uuid), ...options }),
  );
  if (found === undefined) return 'not_found';
  const row = rowReaders[uuid === undefined ? 'recordings' : 'persons'](found);
  if (!row.ok) return 'not_answered';
  return row.columns[uuid === undefined ? 'id' : 'uuid'] === (uuid ?? recording) ? null : 'not_found';
}

function letIn(context: JobContext, { id, generation }: ErasureRequest): void {
  const { entries } = readFenceUse(context.db, id);
  const reason = reasonMac(context.settings.dataDir, boxKeyName, shownAgain);
  record(context, { type: 'readmitted', request: id, generation, reason, entries });
}
