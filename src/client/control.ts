import { AppError } from '../core/errors.ts';
import { integerText, isJsonObject } from '../core/exact-json.ts';
import { extraQueryOf, type ListQueries } from '../config/settings.ts';
import { datasets, type PagedDataset } from '../contract/datasets.ts';
import { personParams } from '../contract/endpoints.ts';
import { hasRoute } from '../contract/identity.ts';
import { readEnvelope } from '../contract/tolerant-reader.ts';
import { askForProject, bodyOrMissing, isSingleCase, rowsOfOneMax, type Service } from './service.ts';

/**
 * Proves, once for each list and run, that a 404 by id says something: a row that the list has just shown is shown by its id. A
 * proxy, or a part of the service that has lost its rows, answers 404 to everything. Where the list shows no row that can be asked
 * for, there is nothing to hold a 404 against: then it proves nothing where rows `areKnown`; else the list says the same as the
 * 404. Rejects as the calls do, and with `service` without a proof.
 */
export type Control = (dataset: PagedDataset) => Promise<void>;

/** Of so many rows of the list some are taken by chance: no cache has their answers. A row may go in between, so more are tried. */
const listedMax = 40;
const triesMax = 3;

/** A live service takes the recordings that were deleted out of each page: a thousand of one erased person can be the newest. */
const emptyPagesMax = 25;

type ControlParts = {
  service: Service;
  settings: ListQueries;
  signal: AbortSignal;
  areKnown?: (dataset: PagedDataset) => boolean;
};

/** Prepares the proof for one run. It lists what a pass lists: without its query, a live service shows the last days only. */
export function controlOf(parts: ControlParts, random: () => number = Math.random): Control {
  const proofs = new Map<PagedDataset, Promise<void>>();
  return async (dataset) => {
    const proof = proofs.get(dataset) ?? prove(parts, dataset, random);
    proofs.set(dataset, proof);
    await proof;
  };
}

/**
 * What an error of a call by id is about. Where the service refuses the key a row (403), but lists the dataset and shows another row by
 * its id, the error is about that row alone (`rejected`). Any other error stays as it is. Rejects as the control does.
 */
export async function ofOneRow(
  error: unknown,
  dataset: PagedDataset,
  { control, service, signal }: Pick<ControlParts, 'service' | 'signal'> & { control: Control },
): Promise<unknown> {
  if (!(error instanceof AppError) || error.code !== 'refused' || error.status !== 403) return error;
  await control(dataset);
  // The proof may be of before the key lost a right.
  await askForProject(service, dataset, signal);
  return new AppError(`${error.message}, though it may read the list of ${dataset}`, {
    code: 'rejected',
    status: 403,
    hint: `give the user of the key access to each of the ${dataset} at the service`,
    cause: error,
  });
}

/** Whether an error is one of `ofOneRow`: however many there are, they say nothing of the service. */
export function isOfOneRow(error: unknown): boolean {
  return error instanceof AppError && error.code === 'rejected' && error.status === 403;
}

async function prove(
  { service, settings, signal, areKnown }: ControlParts,
  dataset: PagedDataset,
  random: () => number,
): Promise<void> {
  const listed = await listNewest(service, dataset, {
    most: listedMax,
    extraQuery: extraQueryOf(settings, dataset),
    signal,
  });
  const rows = listed.filter(isJsonObject).filter(({ id, uuid }) => {
    return dataset === 'persons' ? typeof uuid === 'string' : typeof id === 'string' && hasRoute(id);
  });
  if (rows.length === 0 && areKnown?.(dataset) !== true) return;
  if (rows.length === 0)
    throw new AppError(`the service lists no ${dataset}, and the mirror holds some, so no 404 counts`, {
      code: 'service',
      hint: 'see that the service shows its lists; where all are gone, `sync` and `reconcile` take them out of the mirror first',
    });
  let failure: AppError | undefined;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const [row] = rows.splice(Math.floor(random() * rows.length), 1);
    try {
      if (row && (await isShown(service, dataset, row, signal))) return;
    } catch (error) {
      // The service may fail at this row alone, or refuse the key this one.
      if (!isSingleCase(error) && !(error instanceof AppError && error.status === 403)) throw error;
      failure = error;
    }
  }
  if (failure) throw failure;
  throw new AppError(`the service lists ${dataset} and answers 404 to the ids of those, so no 404 counts`, {
    code: 'service',
    hint: 'a proxy may stand before the service, without a route for single rows; check service.baseUrl and service.pathPrefix',
  });
}

/**
 * Asks for `most` rows, and for a quarter each time that the answer is too long, down to `least`. Rejects as `ask` does, and with
 * `oversize` where the fewest are too long.
 */
export async function askForFewer<T>(
  ask: (limit: number) => Promise<T>,
  { most, least }: { most: number; least: number },
): Promise<T> {
  try {
    return await ask(most);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'oversize' || most <= least) throw error;
    return await askForFewer(ask, { most: Math.max(least, Math.ceil(most / 4)), least });
  }
}

/**
 * The newest rows of a list: `most`, or fewer where an answer with so many is longer than the settings allow. Rejects as the call does, with
 * `oversize` where one row is too long, and with `service` where its first pages show none and lead on.
 */
export async function listNewest(
  service: Service,
  dataset: PagedDataset,
  {
    most,
    extraQuery = {},
    signal,
  }: { most: number; extraQuery?: ListQueries['recordings']['query']; signal: AbortSignal },
): Promise<readonly unknown[]> {
  const ask = async (limit: number): Promise<readonly unknown[]> => {
    for (let page = 0; page < emptyPagesMax; page += 1) {
      const query = { limit, offset: page * limit };
      const { body } = await service.call(datasets[dataset].list, { query, extraQuery, priority: 'deletion', signal });
      const { results, next, has_next: hasNext } = readEnvelope(body, rowsOfOneMax);
      // A live service leaves out the rows that one of its stores has lost.
      if (results.length > 0 || (typeof next !== 'string' && hasNext !== true)) return results;
    }
    throw new AppError(`the first ${emptyPagesMax} pages of ${dataset} show no row, though more follow`, {
      code: 'service',
      hint: 'a part of the service may have lost its rows for now: no 404 counts until its list shows some',
    });
  };
  return await askForFewer(ask, { most, least: 1 });
}

type Row = Readonly<Record<string, unknown>>;

/** Whether the service shows the very row by its id. */
async function isShown(
  service: Service,
  dataset: PagedDataset,
  { id, uuid }: Row,
  signal: AbortSignal,
): Promise<boolean> {
  const asked = { priority: 'deletion', signal } as const;
  const found = await bodyOrMissing(
    dataset === 'persons'
      ? service.call('persons.retrieve', { params: personParams(integerText(id) ?? String(uuid)), ...asked })
      : service.call('recordings.retrieve', { params: { id: String(id) }, ...asked }),
  );
  if (!isJsonObject(found) || dataset !== 'persons') return isJsonObject(found) && found['id'] === id;
  // A uuid is the same in capitals.
  return String(found['uuid']).toLowerCase() === String(uuid).toLowerCase();
}
