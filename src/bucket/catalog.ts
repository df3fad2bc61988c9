import { z } from 'zod';
import type { Settings } from '../config/settings.ts';
import { openTransport, type Transport, type TransportRequest } from '../client/transport.ts';
import { publishedDatasets } from '../contract/datasets.ts';
import { AppError } from '../core/errors.ts';
import { readJson } from '../core/exact-json.ts';
import { retry } from '../core/retry.ts';
import { addressOf, metadataName, readMetadata } from '../snapshot/iceberg/table-files.ts';
import { openSigner, type SignRequest } from './catalog-signature.ts';
import { catalogToken } from './catalog-token.ts';
import type { BucketContext, BucketReport } from './keep.ts';

/** `told`: the tables to which the catalog was made to lead. `error`: why it could not be made to lead to one. */
export type CatalogReport = { uri: string; told: string[]; error: AppError | null };

/** Why a run is not done: its bucket could not follow, or its catalog leads to an older table; undefined where both are as they should. */
export function behindReason(bucket: BucketReport | null, catalog: CatalogReport | null): string | undefined {
  if (bucket?.error) return bucket.error.finding ?? 'bucket_behind';
  return catalog?.error ? 'catalog_behind' : undefined;
}

type Context = Pick<BucketContext, 'published' | 'clock' | 'signal'> & {
  settings: Pick<Settings, 'service' | 'export' | 'retry'>;
};
type Catalog = {
  uri: string;
  /** The status and the value of an answer. 404 and 409 are answers; so is a failure that names `place`. Others throw. */
  ask: (
    method: TransportRequest['method'],
    path: string,
    more?: { body?: object; place?: string },
  ) => Promise<{ status: number; value: unknown; namesPlace: boolean }>;
};

const Configured = z.looseObject({
  defaults: z.looseObject({ prefix: z.string().optional() }).optional(),
  overrides: z.looseObject({ prefix: z.string().optional() }).optional(),
});
const Loaded = z.looseObject({
  'metadata-location': z.string().nullish(),
  metadata: z.looseObject({ 'table-uuid': z.string(), location: z.string() }),
});

/**
 * Makes the Iceberg REST catalog that the settings name lead to the published tables; null where they name none, and while the
 * bucket in which the tables are read is behind. Trouble is reported, not thrown: the next call goes on.
 */
export async function tellCatalog(context: Context, bucket: BucketReport | null): Promise<CatalogReport | null> {
  const isBehind = context.settings.export.destination !== null && !bucket?.followed;
  return isBehind ? null : await visitCatalog(context, 'tell');
}

/** Does the same, or only looks: `told` are then the tables to which the catalog does not lead yet. */
export async function visitCatalog(context: Context, purpose: 'tell' | 'look'): Promise<CatalogReport | null> {
  const { catalog: where } = context.settings.export;
  if (where.uri === null) return null;
  const report: CatalogReport = { uri: where.uri, told: [], error: null };
  let transport: Transport | undefined;
  try {
    const { uri } = where;
    const token = await retried(context, () => catalogToken({ ...where, uri }, context.signal));
    transport = openTransport(new URL(uri).origin, token, 1, context.settings.service);
    const sign = await openSigner(context.settings.export, uri, { ...context, retry: context.settings.retry });
    const catalog = catalogBy(transport, uri, sign, context);
    const lead = await openNamespace(catalog, where);
    for (const dataset of publishedDatasets) if (await lead(context, dataset, purpose)) report.told.push(dataset);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    report.error = error;
  } finally {
    await transport?.close();
  }
  return report;
}

/** Makes a call, again where that may help, as the settings say. */
function retried<T>({ settings, clock, signal }: Context, call: () => Promise<T>): Promise<T> {
  return retry(call, settings.retry, { clock, random: Math.random, signal });
}

function catalogBy(transport: Transport, uri: string, sign: SignRequest, context: Context): Catalog {
  const base = new URL(uri).pathname.replace(/\/$/, '');
  const failed = (
    code: 'refused' | 'service' | 'unreachable',
    says: string,
    hint: string,
    retryable = false,
  ): AppError => new AppError(`the catalog at ${uri} ${says}`, { code, hint, retryable });
  const ask: Catalog['ask'] = async (method, path, { body, place } = {}) => {
    const request = { method, path: `${base}/v1/${path}`, body: body && JSON.stringify(body), signal: context.signal };
    const headers = await sign(request);
    const answer = await transport.send({ ...request, headers }).catch((error: unknown): never => {
      if (!(error instanceof AppError)) throw error;
      throw failed('unreachable', 'does not answer', 'see that export.catalog.uri is right and the catalog runs', true);
    });
    const { status, bytes } = answer;
    const text = bytes.toString();
    const namesPlace = status >= 400 && place !== undefined && text.includes(place);
    if (status < 300 || status === 404 || status === 409 || namesPlace)
      return { status, value: readJson(text), namesPlace };
    const what = `answers ${method} with ${status}`;
    if (status === 401 || status === 403)
      throw failed(
        'refused',
        what,
        'its token, or the role that signs, has to allow to register and drop tables: see export.catalog',
      );
    throw failed('service', what, 'see the log of the catalog', status >= 500 || status === 429);
  };
  return { uri, ask: (...call) => retried(context, () => ask(...call)) };
}

/** What makes the catalog lead to a table as it is published now. It returns whether the catalog did not lead there before. */
async function openNamespace(catalog: Catalog, { warehouse, namespace }: Settings['export']['catalog']) {
  const { uri, ask } = catalog;
  const wrong = (what: string, hint: string): AppError =>
    new AppError(`the catalog at ${uri} ${what}`, { code: 'service', hint });
  const query = warehouse === null ? '' : `?warehouse=${encodeURIComponent(warehouse)}`;
  const { status, value } = await ask('GET', `config${query}`);
  const configured = status === 200 ? Configured.safeParse(value).data : undefined;
  if (!configured)
    throw wrong('gives no configuration', 'set export.catalog.uri to a REST catalog of Iceberg, and its warehouse');
  const prefix = configured.overrides?.prefix ?? configured.defaults?.prefix;
  const root = `${prefix === undefined ? '' : `${prefix}/`}namespaces`;
  const names = namespace.split('.');
  // The specification separates the names of a namespace by this character.
  const folder = `${root}/${encodeURIComponent(names.join('\u001F'))}`;

  return async ({ published }: Context, dataset: string, purpose: 'tell' | 'look'): Promise<boolean> => {
    const version = published.readCurrent().tables?.[dataset]?.version;
    const metadata = version === undefined ? undefined : readMetadata(published, dataset, metadataName(version));
    if (version === undefined || !metadata) return false;
    const at = addressOf(metadata.location, metadataName(version));
    const table = `${folder}/tables/${dataset}`;
    // Some catalogs read the metadata that they lead to, and say where they miss it: an erasure has removed it.
    const found = await ask('GET', `${table}?snapshots=refs`, { place: addressOf(metadata.location, 'v') });
    const known = found.status < 300 ? Loaded.safeParse(found.value).data : undefined;
    if (found.status < 300 && !known) throw wrong(`gives no table for ${namespace}.${dataset}`, 'look at it there');
    if (known?.['metadata-location'] === at) return false;
    if (
      known &&
      known.metadata['table-uuid'] !== metadata['table-uuid'] &&
      known.metadata.location !== metadata.location
    )
      throw new AppError(`the catalog at ${uri} has another table as ${namespace}.${dataset}`, {
        code: 'refused',
        hint: 'drop it there without its files, or set export.catalog.namespace to a namespace of its own',
      });
    if (purpose === 'look') return true;
    const register = async (): Promise<number> => {
      const body = { name: dataset, 'metadata-location': at, overwrite: true };
      return (await ask('POST', `${folder}/register`, { body })).status;
    };
    // Without `purge`, no file goes with the entry.
    const drop = () => ask('DELETE', `${table}?purgeRequested=false`);
    if (found.namesPlace) await drop();
    let registered = await register();
    if (registered === 404) {
      await ask('POST', root, { body: { namespace: names, properties: {} } });
      registered = await register();
    }
    if (registered === 409 && known) {
      // Not every catalog knows `overwrite`.
      await drop();
      registered = await register();
    }
    if (registered >= 300)
      throw wrong(
        `answers the registration of ${namespace}.${dataset} with ${registered}`,
        'see the log of the catalog',
      );
    return true;
  };
}
