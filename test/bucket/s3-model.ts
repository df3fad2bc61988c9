import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { localServer } from '../client/local-server.ts';

/** A version of an object, or a delete marker (no bytes). `until`: its lock, in milliseconds; Infinity is a legal hold. */
type Version = { id: string; bytes: Buffer | null; publisher: string | undefined; until: number; at: number };

/** What a fault does: no answer before or after the effect, or an answer of that status and code. */
type Fault = 'cut before' | 'cut after' | readonly [status: number, code: string];

/** What a store does otherwise than it should. */
type Vices = {
  /** Takes every write, whatever its condition says. */
  ignoresConditions?: boolean;
  /** Gives back no checksum. */
  keepsNoChecksum?: boolean;
};

/** Answers a request in the place of the store. Returns whether it has. */
export type Intercept = (
  request: IncomingMessage,
  response: ServerResponse,
  asked: { key: string; query: URLSearchParams },
) => boolean;

/** A small S3 in this process: versions, conditions, uploads in parts, locks, faults. One bucket, named `bucket` or `state`. */
export type S3Model = {
  endpoint: string;
  /** By key, oldest first. */
  versions: Map<string, Version[]>;
  /** The first bytes that stood at each key. */
  oldest: Map<string, Buffer>;
  tagOf: (bytes: Buffer) => string;
  uploads: { key: string; id: string }[];
  /** Each request so far: method and path with its query. */
  asked: string[];
  /** Judges each request, by its number from 0. */
  fault: (index: number, asked: string) => Fault | undefined;
  vices: Vices;
  /** Sees each request first. */
  intercept: Intercept;
  isVersioned: boolean;
  /** The versions that a rule has moved into an archive. */
  archived: Set<string>;
  now: () => number;
  /** Until when each new object is locked, in milliseconds. */
  locksUntil: number;
  put: (key: string, bytes: string | Buffer, publisher?: string) => void;
  /** The newest bytes by key, without those that are marked as deleted. */
  current: () => Map<string, Buffer>;
};

const pageSize = 4;

/** Starts one on a free loopback port. It ends with the test. */
export async function freshModel({ isVersioned = true } = {}): Promise<S3Model> {
  const { origin: endpoint } = await localServer((request, response) => answer(request, response));
  const model: S3Model = {
    endpoint,
    versions: new Map(),
    oldest: new Map(),
    tagOf: etagOf,
    uploads: [],
    asked: [],
    fault: () => undefined,
    vices: {},
    intercept: () => false,
    isVersioned,
    archived: new Set(),
    now: () => Date.now(),
    locksUntil: 0,
    put: (key, bytes, publisher) => write(key, Buffer.from(bytes), publisher),
    current: () =>
      new Map(
        [...model.versions].flatMap(([key, versions]): [string, Buffer][] => {
          const bytes = versions.at(-1)?.bytes;
          return bytes ? [[key, bytes]] : [];
        }),
      ),
  };
  return model;

  function write(key: string, bytes: Buffer | null, publisher?: string): void {
    if (bytes && !model.oldest.has(key)) model.oldest.set(key, bytes);
    const id = model.isVersioned ? randomUUID() : 'null';
    const older = model.isVersioned ? (model.versions.get(key) ?? []) : [];
    model.versions.set(key, [...older, { id, bytes, publisher, until: bytes ? model.locksUntil : 0, at: model.now() }]);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', model.endpoint);
    const asked = `${request.method} ${url.pathname}${url.search}`;
    const fault = model.fault(model.asked.length, asked);
    model.asked.push(asked);
    if (fault === 'cut before') return void request.socket.destroy();
    const date = { Date: new Date(model.now()).toUTCString() };
    if (Array.isArray(fault)) return reply(response, fault[0] as number, errorXml(String(fault[1])), date);
    const [, bucket = '', ...rest] = decodeURIComponent(url.pathname).split('/');
    const named = { key: rest.join('/'), query: url.searchParams };
    if (model.intercept(request, response, named)) return;
    const [status, body, headers] = ['bucket', 'state'].includes(bucket)
      ? judge(request, { ...named, body: Buffer.concat(chunks) })
      : ([404, errorXml('NoSuchBucket')] as const);
    if (fault === 'cut after') return void request.socket.destroy();
    reply(response, status, body, { ...date, ...headers }, request.method === 'HEAD');
  }

  type Asked = { key: string; query: URLSearchParams; body: Buffer };
  type Answer = readonly [status: number, body: string | Buffer, headers?: Record<string, string>];

  function judge(request: IncomingMessage, asked: Asked): Answer {
    const { key, query } = asked;
    if (key === '' && query.has('versions')) return listVersions(query);
    if (key === '' && query.has('uploads')) return listUploads(query);
    if (key === '' && query.has('list-type')) return listNewest(query);
    if (key === '' && query.has('object-lock')) return [404, errorXml('ObjectLockConfigurationNotFoundError')];
    if (request.method === 'PUT') return put(request, asked);
    if (request.method === 'DELETE') return remove(asked);
    const id = query.get('versionId');
    const version = (model.versions.get(key) ?? []).findLast((each) => id === null || each.id === id);
    if (!version?.bytes) return [404, errorXml('NoSuchKey')];
    if (query.has('legal-hold'))
      return version.until === Infinity
        ? [200, xml('LegalHold', '<Status>ON</Status>')]
        : [404, errorXml('NoSuchObjectLockConfiguration')];
    if (query.has('retention')) {
      if (version.until <= 0) return [404, errorXml('NoSuchObjectLockConfiguration')];
      const until = new Date(version.until).toISOString();
      return [200, xml('Retention', `<Mode>COMPLIANCE</Mode><RetainUntilDate>${until}</RetainUntilDate>`)];
    }
    return [200, version.bytes, headersOf(version)];
  }

  function put(request: IncomingMessage, { key, body }: Asked): Answer {
    const { 'if-none-match': ifNone, 'if-match': ifMatch, 'x-amz-checksum-sha256': sum } = request.headers;
    if (sum !== createHash('sha256').update(body).digest('base64')) return [400, errorXml('BadDigest')];
    // Amazon's documents ask for this header, or Content-MD5, where the bucket locks; moto refuses without it.
    if (model.locksUntil > model.now() && request.headers['x-amz-sdk-checksum-algorithm'] !== 'SHA256')
      return [400, errorXml('InvalidRequest')];
    const standing = model.versions.get(key)?.at(-1)?.bytes ?? null;
    if (model.vices.ignoresConditions !== true) {
      if (ifNone === '*' && standing !== null) return [412, errorXml('PreconditionFailed')];
      if (ifMatch !== undefined && standing === null) return [404, errorXml('NoSuchKey')];
      if (ifMatch !== undefined && standing && ifMatch !== etagOf(standing))
        return [412, errorXml('PreconditionFailed')];
    }
    write(key, body, String(request.headers['x-amz-meta-publisher'] ?? ''));
    return [200, '', { ETag: etagOf(body) }];
  }

  function remove({ key, query }: Asked): Answer {
    const uploadId = query.get('uploadId');
    if (uploadId !== null) {
      model.uploads = model.uploads.filter(({ id }) => id !== uploadId);
      return [204, ''];
    }
    const id = query.get('versionId');
    const versions = model.versions.get(key) ?? [];
    if (id === null) {
      if (model.isVersioned) write(key, null);
      else model.versions.delete(key);
      return [204, ''];
    }
    const version = versions.find((each) => each.id === id);
    if (version && version.until > model.now()) return [403, errorXml('AccessDenied')];
    const left = versions.filter((each) => each !== version);
    if (left.length > 0) model.versions.set(key, left);
    else model.versions.delete(key);
    return [204, ''];
  }

  function listVersions(query: URLSearchParams): Answer {
    const prefix = query.get('prefix') ?? '';
    const all = [...model.versions]
      .filter(([key]) => key.startsWith(prefix))
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([key, versions]) =>
        versions.toReversed().map((version, index) => ({ key, version, isLatest: index === 0 })),
      );
    const marker = [query.get('key-marker'), query.get('version-id-marker')];
    const from = all.findIndex(({ key, version }) => key === marker[0] && version.id === marker[1]) + 1;
    const page = all.slice(from, from + pageSize);
    const last = page.at(-1);
    const isTruncated = from + page.length < all.length;
    const items = page.map(({ key, version: { id, bytes, at }, isLatest }) => {
      const about = `<Key>${key}</Key><VersionId>${id}</VersionId><IsLatest>${isLatest}</IsLatest><LastModified>${new Date(at).toISOString()}</LastModified>`;
      return bytes === null
        ? `<DeleteMarker>${about}</DeleteMarker>`
        : `<Version>${about}<ETag>${etagOf(bytes)}</ETag><Size>${bytes.length}</Size><StorageClass>${model.archived.has(id) ? 'DEEP_ARCHIVE' : 'STANDARD'}</StorageClass></Version>`;
    });
    const next = `<NextKeyMarker>${last?.key ?? ''}</NextKeyMarker><NextVersionIdMarker>${last?.version.id ?? ''}</NextVersionIdMarker>`;
    return [
      200,
      xml('ListVersionsResult', `<IsTruncated>${isTruncated}</IsTruncated>${isTruncated ? next : ''}${items.join('')}`),
    ];
  }

  function listNewest(query: URLSearchParams): Answer {
    const max = Number(query.get('max-keys') ?? 1_000);
    const keys = [...model.current().keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > (query.get('start-after') ?? ''))
      .toSorted((a, b) => (a < b ? -1 : 1));
    const items = keys.slice(0, max).map((key) => `<Contents><Key>${key}</Key></Contents>`);
    return [200, xml('ListBucketResult', `<IsTruncated>${keys.length > max}</IsTruncated>${items.join('')}`)];
  }

  function listUploads(query: URLSearchParams): Answer {
    const uploads = model.uploads.filter(({ key }) => key.startsWith(query.get('prefix') ?? ''));
    const items = uploads.map(({ key, id }) => `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`);
    return [200, xml('ListMultipartUploadsResult', `<IsTruncated>false</IsTruncated>${items.join('')}`)];
  }

  function headersOf({ bytes, publisher }: Version): Record<string, string> {
    const content = bytes ?? Buffer.alloc(0);
    return {
      ETag: etagOf(content),
      'Content-Length': String(content.length),
      ...(publisher === undefined ? {} : { 'x-amz-meta-publisher': publisher }),
      ...(model.vices.keepsNoChecksum === true
        ? {}
        : { 'x-amz-checksum-sha256': createHash('sha256').update(content).digest('base64') }),
    };
  }
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}

function xml(name: string, content: string): string {
  return `<?xml version="1.0"?><${name} xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${content}</${name}>`;
}

function errorXml(code: string): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>secret words</Message></Error>`;
}

function reply(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Record<string, string> = {},
  isHead = false,
): void {
  response.writeHead(status, headers);
  response.end(isHead ? undefined : body);
}
