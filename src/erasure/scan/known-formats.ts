import { basename } from 'node:path';
import { publishedDatasets } from '../../contract/datasets.ts';
import { readJson } from '../../core/exact-json.ts';
import { readCheckpoint } from '../../ledger/checkpoint.ts';
import { readLines } from '../../ledger/entry-file.ts';
import { readEntry } from '../../ledger/entry.ts';
import { readVkeys } from '../../ledger/key-chain.ts';
import { requestsOf } from '../../ledger/record.ts';
import { isVerifierPage, verifierPageName } from '../../ledger/verify.ts';
import { manifestName, partPattern, snapshotIdPattern, tableFilePattern } from '../../snapshot/file-names.ts';
import { isTableFile, readTableNames } from '../../snapshot/iceberg/table-content.ts';
import { Current, Manifest } from '../../snapshot/manifest.ts';
import { currentPlace, placeOf, publishedFileAt } from '../../snapshot/published-files.ts';
import { readCertificate } from '../proof/certificate.ts';
import { readWholeFile } from '../../core/folder.ts';

/** What a file of a known format can hold of persons. All else in it is fixed by the format. */
export type KnownContent = {
  /** Texts that the format does not fix. */
  texts: string[];
  /** Values that identify nobody unless the program is wrong: ids of requests. */
  values: string[];
};

const ledgerName = /^analytics-mirror\/[0-9a-f]+$/;
const formats: readonly [(place: string) => boolean, (bytes: Buffer, place: string) => KnownContent | undefined][] = [
  [(place) => publishedFileAt(place)?.name === manifestName, manifestContent],
  [isTablePlace, tableContent],
  [(place) => place === currentPlace, currentContent],
  [(place) => /^ledger\/checkpoints\/\d+\.txt$/.test(place), checkpointContent],
  [(place) => place === 'ledger/public-keys.txt', keysContent],
  [(place) => /^reports\/certificates\/[^/]+\.json$/.test(place), certificateContent],
  [(place) => place === `reports/${verifierPageName}`, (bytes) => (isVerifierPage(bytes) ? nothing : undefined)],
];

/** Names of files and folders that are the same in every data folder, as far as they are long enough to be searched for. */
const fixedNames: readonly string[] = [
  basename(currentPlace),
  manifestName,
  'version-hint.text',
  'entries.jsonl',
  'public-keys.txt',
  'certificates',
  ...publishedDatasets,
];
const namePatterns = [snapshotIdPattern, partPattern, tableFilePattern, /^\d{9}\.txt$/];

/** Whether a name is one that this program gives to files or folders. Such a name says nothing of a person. */
export function isOwnName(name: string): boolean {
  return fixedNames.includes(name) || namePatterns.some((pattern) => pattern.test(name));
}

/** Whether this program writes a file of a known format at a place. */
export function isOwnPlace(place: string): boolean {
  return isLedger(place) || formats.some(([isOf]) => isOf(place));
}

/** Whether a place is where the ledger's entries are. */
export function isLedger(place: string): boolean {
  return place === 'ledger/entries.jsonl';
}

/** What a known file can hold of persons; undefined if a byte differs from its format. Throws system errors. */
export function readKnownFile({ path, place }: { path: string; place: string }): KnownContent | undefined {
  const [, contentOf] = formats.find(([isOf]) => isOf(place)) ?? [];
  return contentOf?.(readWholeFile(path), place);
}

/** What the ledger can hold of persons: request ids, lines that are no entries, half a line. Throws system errors. */
export function* readLedgerContent(path: string): Generator<{ ids: readonly string[] } | { line: Buffer }> {
  let torn: Buffer | undefined;
  const keepTorn = (bytes: Buffer): void => void (torn = bytes);
  for (const line of readLines(path, keepTorn)) {
    const entry = readEntry(line);
    yield typeof entry === 'string' ? { line } : { ids: requestsOf(entry) };
  }
  if (torn) yield { line: torn };
}

function manifestContent(bytes: Buffer, place: string): KnownContent | undefined {
  const manifest = inOneSpelling(Manifest, bytes);
  if (!manifest) return undefined;
  const { dataset, snapshot_id: snapshotId, columns, publication, generator } = manifest;
  const isOurs = generator.name === 'analytics-mirror' && /^\d+\.\d+\.\d+$/.test(generator.version);
  if (place !== placeOf({ dataset, snapshotId, name: manifestName }) || !isOurs) return undefined;
  const properties = [...publication.promote, ...publication.mask];
  return {
    ...nothing,
    texts: [
      ...columns.map(({ name }) => name),
      ...properties.map((one) => (typeof one === 'string' ? one : one.property)),
    ],
  };
}

function isTablePlace(place: string): boolean {
  const file = publishedFileAt(place);
  return file !== undefined && isTableFile(file) && place.endsWith('.json');
}

function tableContent(bytes: Buffer): KnownContent | undefined {
  const texts = readTableNames(bytes.toString());
  return texts && { ...nothing, texts };
}

function currentContent(bytes: Buffer): KnownContent | undefined {
  const current = inOneSpelling(Current, bytes);
  const isPath = (dataset: string, { snapshot_id: id, manifest }: { snapshot_id: string; manifest: string }) =>
    manifest === `${dataset}/${id}/manifest.json`;
  const areOurs = Object.entries(current?.snapshots ?? {}).every(([dataset, { deltas = [], ...full }]) =>
    [full, ...deltas].every((reference) => isPath(dataset, reference)),
  );
  return current && areOurs ? nothing : undefined;
}

function checkpointContent(bytes: Buffer): KnownContent | undefined {
  const checkpoint = readCheckpoint(bytes.toString());
  const names = checkpoint && [checkpoint.origin, ...checkpoint.note.signatures.map(({ name }) => name)];
  return names?.every((name) => ledgerName.test(name)) ? nothing : undefined;
}

function keysContent(bytes: Buffer): KnownContent | undefined {
  return readVkeys(bytes.toString())?.every(({ name }) => ledgerName.test(name)) ? nothing : undefined;
}

function certificateContent(bytes: Buffer): KnownContent | undefined {
  const certificate = readCertificate(bytes.toString());
  if (!certificate || !ledgerName.test(certificate.ledger.origin)) return undefined;
  // The controller that it states is the operator's own word, and cannot leave it: a person of that company is no less gone.
  return { ...nothing, values: [certificate.request] };
}

const nothing: KnownContent = { texts: [], values: [] };

/** What a text says in a JSON format, if it is spelled as this program spells it, so that nothing else stands in it. */
function inOneSpelling<T>(format: { safeParse: (value: unknown) => { data?: T } }, bytes: Buffer): T | undefined {
  const text = bytes.toString();
  const value = readJson(text);
  return `${JSON.stringify(value, null, 2)}\n` === text ? format.safeParse(value).data : undefined;
}
