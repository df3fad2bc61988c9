import { statSync } from 'node:fs';
import { AppError, systemCode } from '../../core/errors.ts';
import { openDatabaseReadOnly, type Database } from '../../mirror/database.ts';
import { prepareIsFenced } from '../../mirror/fence.ts';
import { createDecoder, type Decoder, type IsFenced } from './judge-rows.ts';
import { decodeJson, decodeJsonLine, decodeParquet, isJson, isParquet } from './decode-files.ts';
import { decodeMirror } from './mirror-tables.ts';
import { encodings } from './encoded-forms.ts';
import { createFindings, type Findings } from './findings.ts';
import { listFiles, type ListedFile } from './list-files.ts';
import { makeNeedles, type Needles } from './needles.ts';
import { mirrorPlace, type ScanReport, type ScanTask } from './scan-task.ts';
import { isLedger, readOwnFile, readOwnLedger } from './known-formats.ts';
import { createRawSearch, type RawSearch } from './raw-search.ts';
import { createSharedText, type SharedText } from './shared-text.ts';

const keysFolder = 'keys';

type Scan = {
  task: ScanTask;
  findings: Findings;
  decoder: Decoder;
  search: RawSearch;
  /** Closes the mirror: from then on its bytes may be read. */
  closeMirror: () => void;
  db: Database | undefined;
  sums: { files: number; bytes: number; rows: number };
};

/**
 * Looks for subjects in everything below the data folder but its keys: decoded, in every row of the mirror, of Parquet
 * and of JSON files, for identifiers as whole values; and raw, in the bytes of every file, for pieces of their texts
 * that nobody else's rows hold. To be run in a process of its own, which has not opened the mirror: closing a file that
 * SQLite has open drops its locks. Throws for bugs only; what cannot be read is reported.
 */
export async function scanDataFolder(task: ScanTask): Promise<ScanReport> {
  const startedAtMs = performance.now();
  const needles = makeNeedles(task.subjects);
  const shared = createSharedText(needles);
  const findings = createFindings(task.subjects.length);
  const db = openMirror(task.dataDir, findings);
  try {
    const asksFence = task.fence && task.phase === 'verify';
    const isFenced = db && asksFence ? fenceOf(db, findings) : undefined;
    const scan: Scan = {
      task,
      findings,
      decoder: createDecoder(
        task.subjects.map(({ identity }) => identity),
        findings,
        shared,
        isFenced,
      ),
      search: createRawSearch(needles, shared, findings),
      closeMirror: () => db?.close(),
      db,
      sums: { files: 0, bytes: 0, rows: 0 },
    };
    if (task.phase === 'control') await findEverybody(scan);
    else for (const step of [readMirror, readParquet, searchFiles, searchMirror]) await drain(step(scan));
    const seconds = (performance.now() - startedAtMs) / 1000;
    return { ...scan.sums, ...reportOf(task, needles, shared, findings), seconds };
  } finally {
    db?.close();
  }
}

/** Takes the steps of a scan, the cheapest first, until everybody has been found where the purge has to reach. */
async function findEverybody(scan: Scan): Promise<void> {
  for (const step of [readMirror, searchMirror, readParquet, searchFiles])
    for await (const _file of step(scan))
      if (scan.task.subjects.every((_subject, index) => scan.findings.isInFiles(index))) return;
}

async function drain(steps: AsyncIterable<void>): Promise<void> {
  for await (const _file of steps);
}

// Each step yields after each file.

async function* readMirror({ db, decoder, findings, sums }: Scan): AsyncGenerator<void> {
  if (!db) return;
  await reading(findings, mirrorPlace, () => {
    sums.rows += decodeMirror(db, decoder);
  });
  yield;
}

async function* readParquet({
  task: { dataDir, passedOver },
  decoder,
  findings,
  sums,
}: Scan): AsyncGenerator<void> {
  for (const file of listFiles(dataDir, '', { isLeftOut: isPassedOver(passedOver) })) {
    if (file.problem !== null || !isParquet(file)) continue;
    await reading(findings, file.place, async () => {
      sums.rows += await decodeParquet(dataDir, file, decoder);
    });
    yield;
  }
}

/** Everything but the mirror's own files, while SQLite may have those open. */
async function* searchFiles(scan: Scan): AsyncGenerator<void> {
  const { task, decoder, findings, search } = scan;
  // Data folder first: what an extra path has in common with it is then left out.
  const passed = isPassedOver(task.passedOver);
  const isLeftOut = (place: string): boolean => isKeyOrMirror(place) || passed(place);
  const listing = { nameEntry: search.name, isLeftOut, seen: new Set<string>() };
  const files = [
    listFiles(task.dataDir, '', listing),
    ...task.extraPaths.map((path) => listFiles(path, path, { ...listing, isLeftOut: () => false })),
  ];
  for (const listed of files)
    for (const file of listed) {
      if (file.problem !== null || !(await searchOwnFile(scan, file))) {
        await searchFile(scan, file);
        if (file.problem === null && isJson(file))
          await reading(findings, file.place, () => decodeJson(file, decoder));
      }
      yield;
    }
}

/** Searches what a file of this program's own can tell of anybody. Whether the file is one, to the byte. */
async function searchOwnFile(scan: Scan, file: ListedFile): Promise<boolean> {
  const { search, decoder, findings, sums } = scan;
  let isOwn = false;
  await reading(findings, file.place, () => {
    const content = readOwnFile(file);
    isOwn = content !== undefined || isLedger(file.place);
    if (!isOwn) return;
    sums.files += 1;
    sums.bytes += statSync(file.path).size;
    for (const text of content?.texts ?? []) search.part(file.place, Buffer.from(JSON.stringify(text)));
    if (content) decoder.takeOwnFile(file.place, content);
    else searchLedger(scan, file);
  });
  return isOwn;
}

function searchLedger({ search, decoder }: Scan, { path, place }: ListedFile): void {
  for (const part of readOwnLedger(path))
    if ('ids' in part) decoder.takeOwnFile(place, { identifiers: [], values: [...part.ids] });
    else {
      search.part(place, part.line);
      decodeJsonLine(place, part.line.toString('utf8'), decoder);
    }
}

async function* searchMirror(scan: Scan): AsyncGenerator<void> {
  scan.closeMirror();
  for (const file of listFiles(scan.task.dataDir, '', { isLeftOut: (place) => !isMirrorFile(place) })) {
    if (file.problem === null || file.place !== '.') await searchFile(scan, file);
    yield;
  }
}

async function searchFile({ search, findings, sums }: Scan, file: ListedFile): Promise<void> {
  if (file.problem !== null) findings.addUnreadable(file.place, file.problem);
  else
    await reading(findings, file.place, async () => {
      sums.bytes += await search.file(file);
      sums.files += 1;
    });
}

function isPassedOver(places: readonly string[] = []): (place: string) => boolean {
  const known = new Set(places);
  return (place) => known.has(place);
}

function isMirrorFile(place: string): boolean {
  return ['', '-wal', '-shm', '-journal'].some((suffix) => place === `${mirrorPlace}${suffix}`);
}

function isKeyOrMirror(place: string): boolean {
  return place === keysFolder || isMirrorFile(place);
}

function openMirror(dataDir: string, findings: Findings): Database | undefined {
  try {
    return openDatabaseReadOnly(dataDir);
  } catch (error) {
    findings.addUnreadable(mirrorPlace, reasonOf(error));
    return undefined;
  }
}

/** A fence that cannot be read is reported, as the mirror that holds it. */
function fenceOf(db: Database, findings: Findings): IsFenced {
  try {
    return prepareIsFenced(db);
  } catch (error) {
    findings.addUnreadable(mirrorPlace, reasonOf(error));
    return undefined;
  }
}

/** Reads, and reports what cannot be read: everything else goes on. */
async function reading(findings: Findings, place: string, read: () => Promise<void> | void): Promise<void> {
  try {
    await read();
  } catch (error) {
    findings.addUnreadable(place, reasonOf(error));
  }
}

/** Why something cannot be read, without its words, which may quote it. Throws what is no error of reading. */
function reasonOf(error: unknown): string {
  const code = systemCode(error);
  if (error instanceof AppError) return systemCode(error.cause) ?? error.message;
  if (code === undefined) throw error;
  return code;
}

function reportOf(
  { subjects }: ScanTask,
  { search, ownersOf, tooShort }: Needles,
  shared: SharedText,
  findings: Findings,
): Pick<ScanReport, 'encodings' | 'subjects' | 'fenced' | 'unreadable'> {
  const counts = subjects.map(() => ({ needles: 0, shared: 0 }));
  for (let shingle = 0; shingle < search.size(); shingle += 1)
    for (const { subject } of ownersOf(shingle)) {
      const count = counts[subject];
      if (!count) continue;
      count.needles += 1;
      if (shared.has(shingle)) count.shared += 1;
    }
  return {
    encodings: [...encodings],
    subjects: subjects.map(({ request }, index) => ({
      request,
      needles: counts[index]?.needles ?? 0,
      shared: counts[index]?.shared ?? 0,
      tooShort: tooShort[index] ?? 0,
      hits: findings.hitsOf(index),
      places: findings.placesOf(index),
    })),
    fenced: findings.fenced(),
    unreadable: findings.unreadable(),
  };
}
