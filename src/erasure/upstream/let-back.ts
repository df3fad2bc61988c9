import { ofOneRow } from '../../client/control.ts';
import { askForProject, bodyOrMissing, isSingleCase } from '../../client/service.ts';
import { pagedDatasets, type PagedDataset } from '../../contract/datasets.ts';
import { personParams } from '../../contract/endpoints.ts';
import { rowReaders } from '../../contract/row-readers.ts';
import { resultsByBatch } from '../../core/batches.ts';
import { AppError } from '../../core/errors.ts';
import type { JobContext } from '../../job/job-context.ts';
import type { WaitReason } from '../../ledger/vocabulary.ts';
import { endedStates, listRequests, updateRequest, type ErasureRequest } from '../../mirror/erasure-requests.ts';
import { forgetUnlisted, type StaysOut } from '../../mirror/listed-again.ts';
import { prepareFindRowKey } from '../../mirror/tables.ts';
import { askPatiently } from '../ask-service.ts';
import { collected } from '../plan.ts';
import { liftOf } from '../readmit.ts';
import { cancelRequest } from '../receive.ts';
import { listedIdentity, openBoxes } from '../request/box.ts';
import { together } from '../request/together.ts';
import { noteWait, waitReasonOf } from '../request/waits.ts';

/** The reason of a readmission that nobody has asked for. The ledger has an HMAC of it. */
const shownAgain = 'the service shows the row again';

/** How many rows that were taken for deleted at the service are let in again, and how many that it lists stay out. */
export type LetBack = { letIn: number; staysOut: number };

/** What the service says of rows that it had said to be gone, by key. `unknown` counts for nothing. */
type Told = ReadonlyMap<string, 'alive' | 'merged' | 'gone' | 'unknown'>;

/** Asks the service once more for such rows. */
type AskAgain = (
  dataset: PagedDataset,
  rows: readonly { key: string; id: string | null; distinctIds: readonly string[]; createdAt: string | null }[],
) => Promise<Told>;

/**
 * Gives up the requests for deletions at the service whose row is there again before anything was done for them: a page has shown
 * it, or the service shows it, itself or merged, when it is asked once more for those that are due now. A deletion that it does not
 * confirm so waits. `askAgain`: null where there is no service. Returns how many are given up.
 */
export async function giveUpShown(context: JobContext, askAgain: AskAgain | null): Promise<number> {
  const { db, clock, settings } = context;
  const collectMs = settings.deletions.collectHours * 3_600_000;
  const later = new Set(collected(listRequests(db, 'open'), clock.now(), collectMs).map(({ id }) => id));
  const isUnfenced = ({ origin, fencedAt, generation }: ErasureRequest): boolean =>
    origin === 'upstream' && fencedAt === null && generation === 1;
  const opened = await openBoxes(context, isUnfenced);
  let givenUp = 0;
  for (const dataset of pagedDatasets) {
    const findRowKey = prepareFindRowKey(db, dataset);
    const rows = opened.flatMap(({ request, box: { given, identity, createdAt } }) => {
      const [subject] = given;
      if (!subject || (subject.kind === 'recording') !== (dataset === 'recordings')) return [];
      const [id = null] = identity.person_id;
      const isListed = findRowKey(subject.value) !== undefined;
      return { request, key: subject.value, id, distinctIds: identity.distinct_id, createdAt, isListed };
    });
    const due = rows.filter(({ request: { id, state }, isListed }) => !isListed && state !== 'held' && !later.has(id));
    const { told, waitsFor } = await askFirst(context, due.length > 0 ? askAgain : null, dataset, due);
    const isShown = ({ key, isListed }: (typeof rows)[number]): boolean =>
      isListed || ['alive', 'merged'].includes(told.get(key) ?? 'unknown');
    const shown = rows.filter(isShown);
    together(context, (own) => {
      for (const { request } of shown) cancelRequest(own, request.id);
      for (const row of due)
        if (!isShown(row)) noteWait(own, row.request.id, told.get(row.key) === 'gone' ? null : waitsFor);
    });
    givenUp += shown.length;
  }
  return givenUp;
}

/** What the service says of rows, once it answers at all; and why a deletion waits of which it says nothing. */
async function askFirst(
  context: JobContext,
  askAgain: AskAgain | null,
  ...rows: Parameters<AskAgain>
): Promise<{ told: Told; waitsFor: WaitReason }> {
  const { service, signal } = context;
  let told: Told = new Map();
  let waitsFor: WaitReason = service ? 'service_unusable' : 'no_service';
  const fail = (error: unknown): void => {
    waitsFor = waitReasonOf(error);
  };
  if (!service || !askAgain) return { told, waitsFor };
  const ask = ({ signal: patience }: JobContext): Promise<void> => askForProject(service, rows[0], patience);
  if ((await askPatiently(context, service, ask, fail)) === null) return { told, waitsFor };
  try {
    told = await askAgain(...rows);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    fail(error);
  }
  return { told, waitsFor };
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
      if (!(error instanceof AppError) || ['interrupted', 'storage'].includes(error.code)) throw error;
      isSilent ||= !isSingleCase(error);
      return { request, why: 'not_answered' };
    }
  };
  for await (const asked of resultsByBatch(listed, { atOnce: settings.budget.concurrency, signal }, ask))
    together(context, (own) => {
      for (const { request, why } of asked) {
        if (why === null) liftOf(own, request, shownAgain);
        else updateRequest(db, request.id, { staysOut: why });
        result[why === null ? 'letIn' : 'staysOut'] += 1;
      }
    });
  return result;
}

/** Asks for the row by its id. Null where the service has it. */
async function askFor(context: JobContext, requestId: string): Promise<StaysOut | null> {
  const { service, signal } = context;
  const {
    person_uuid: [uuid] = [],
    person_id: [id] = [],
    recording_id: [recording = ''] = [],
  } = listedIdentity(context, requestId) ?? {};
  if (!service) return 'not_answered';
  const options = { priority: 'deletion', signal } as const;
  const dataset = uuid === undefined ? 'recordings' : 'persons';
  const found = await bodyOrMissing(
    uuid === undefined
      ? service.call('recordings.retrieve', { params: { id: recording }, ...options })
      : service.call('persons.retrieve', { params: personParams(id ?? uuid), ...options }),
  ).catch(async (error: unknown) => {
    throw await ofOneRow(error, dataset, { control: () => Promise.resolve(), service, signal });
  });
  if (found === undefined) return 'not_found';
  const row = rowReaders[dataset](found);
  if (!row.ok) return 'not_answered';
  return row.columns[uuid === undefined ? 'id' : 'uuid'] === (uuid ?? recording) ? null : 'not_found';
}
