import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import type { Identifier } from '../../contract/identity.ts';
import { readCheckpoint } from '../../ledger/checkpoint.ts';
import { readLines } from '../../ledger/entry-file.ts';
import { readEntry } from '../../ledger/entry.ts';
import { readVkeys } from '../../ledger/key-chain.ts';
import { manifestName } from '../../snapshot/file-names.ts';
import { Current, Manifest } from '../../snapshot/manifest.ts';
import { currentPlace, placeOf, publishedFileAt } from '../../snapshot/published-files.ts';
import { readCertificate } from '../proof/certificate.ts';
import { keyIdentifiers } from './identifiers-in-place.ts';
import { readJson } from '../../core/exact-json.ts';

/** What a file in a format of this program's own can tell of anybody. All else in it follows from the format. */
export type OwnContent = {
  /** Texts that the format leaves free. */
  texts: string[];
  /** Identifiers where such identifiers stand. */
  identifiers: Identifier[];
  /** Values that are nobody's as long as the program is right: ids of requests, keys that no such row can have. */
  values: string[];
};

const ledgerName = /^analytics-mirror\/[0-9a-f]+$/;
const formats: readonly [
  (place: string) => boolean,
  (text: string, place: string) => OwnContent | undefined,
][] = [
  [(place) => publishedFileAt(place)?.name === manifestName, manifestContent],
  [(place) => place === currentPlace, currentContent],
  [(place) => /^ledger\/checkpoints\/\d+\.txt$/.test(place), checkpointContent],
  [(place) => place === 'ledger/public-keys.txt', keysContent],
  [(place) => /^reports\/certificates\/[^/]+\.json$/.test(place), certificateContent],
];

/** Whether a place is where the ledger's entries are. */
export function isLedger(place: string): boolean {
  return place === 'ledger/entries.jsonl';
}

/**
 * What a file can tell of anybody, where it is one of this program's own and keeps to its format to the byte; undefined for
 * every other. Throws the system's error.
 */
export function readOwnFile({ path, place }: { path: string; place: string }): OwnContent | undefined {
  const [, contentOf] = formats.find(([isOf]) => isOf(place)) ?? [];
  return contentOf?.(readFileSync(path, 'utf8'), place);
}

/**
 * What the ledger can tell of anybody: of its entries, the ids of requests; every line that is no entry, and what a kill has
 * left of the last one, as it stands. Throws the system's error.
 */
export function* readOwnLedger(path: string): Generator<{ ids: readonly string[] } | { line: Buffer }> {
  let bytes = 0;
  for (const line of readLines(path)) {
    bytes += line.length + 1;
    const entry = readEntry(line);
    if (typeof entry === 'string') yield { line };
    else if ('requests' in entry) yield { ids: entry.requests };
    else if ('request' in entry) yield { ids: [entry.request] };
  }
  const line = readFrom(path, bytes);
  if (line.length > 0) yield { line };
}

/** The words with which DuckDB signs the files that it writes, where they stand in a Parquet file's footer. */
export function footerWords(path: string): string[] {
  const descriptor = openSync(path, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const end = Buffer.alloc(8);
    if (size < 12) return [];
    readSync(descriptor, end, 0, 8, size - 8);
    const length = Math.min(end.readUInt32LE(0), size - 8, footerBytesMax);
    const footer = Buffer.alloc(length);
    readSync(descriptor, footer, 0, length, size - 8 - length);
    return footer.toString('latin1').match(signatures) ?? [];
  } finally {
    closeSync(descriptor);
  }
}

const footerBytesMax = 64 << 20;
const signatures = /duckdb_schema|DuckDB version v\d+\.\d+\.\d+ \(build [0-9a-f]+\)/g;

function manifestContent(text: string, place: string): OwnContent | undefined {
  const manifest = inOneSpelling(Manifest, text);
  if (!manifest) return undefined;
  const { dataset, snapshot_id: snapshotId, files, columns, generator } = manifest;
  const isOurs = generator.name === 'analytics-mirror' && /^\d+\.\d+\.\d+$/.test(generator.version);
  if (place !== placeOf({ dataset, snapshotId, name: manifestName }) || !isOurs) return undefined;
  const keys = files.flatMap((file) => [file.min_key ?? [], file.max_key ?? []].flat());
  // The feed of deletions may hold keys of any dataset, and of anybody, until its rows expire.
  const told = dataset === 'deletions' ? [] : keys;
  return {
    texts: [...keys, ...columns.map(({ name }) => name)],
    identifiers: told.flatMap((key) => keyIdentifiers(dataset, key)),
    values: told.filter((key) => keyIdentifiers(dataset, key).length === 0),
  };
}

function currentContent(text: string): OwnContent | undefined {
  const current = inOneSpelling(Current, text);
  const isPath = (
    dataset: string,
    { snapshot_id: id, manifest }: { snapshot_id: string; manifest: string },
  ) => manifest === `${dataset}/${id}/manifest.json`;
  const areOurs = Object.entries(current?.snapshots ?? {}).every(([dataset, { deltas = [], ...full }]) =>
    [full, ...deltas].every((reference) => isPath(dataset, reference)),
  );
  return current && areOurs ? nothing : undefined;
}

function checkpointContent(text: string): OwnContent | undefined {
  const checkpoint = readCheckpoint(text);
  const names = checkpoint && [checkpoint.origin, ...checkpoint.note.signatures.map(({ name }) => name)];
  return names?.every((name) => ledgerName.test(name)) ? nothing : undefined;
}

function keysContent(text: string): OwnContent | undefined {
  return readVkeys(text)?.every(({ name }) => ledgerName.test(name)) ? nothing : undefined;
}

function certificateContent(text: string): OwnContent | undefined {
  const certificate = readCertificate(text);
  if (!certificate || !ledgerName.test(certificate.ledger.origin)) return undefined;
  return { ...nothing, values: [certificate.request] };
}

const nothing: OwnContent = { texts: [], identifiers: [], values: [] };

/** What a text holds as JSON of a format, where it is spelled as this program writes it: nothing stands beside it. */
function inOneSpelling<T>(
  format: { safeParse: (value: unknown) => { data?: T } },
  text: string,
): T | undefined {
  const value = readJson(text);
  return `${JSON.stringify(value, null, 2)}\n` === text ? format.safeParse(value).data : undefined;
}

function readFrom(path: string, offset: number): Buffer {
  const descriptor = openSync(path, 'r');
  try {
    const rest = Buffer.alloc(Math.max(fstatSync(descriptor).size - offset, 0));
    readSync(descriptor, rest, 0, rest.length, offset);
    return rest;
  } finally {
    closeSync(descriptor);
  }
}
