import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { openParquetReader } from '../../snapshot/read-parquet.ts';
import { publishedFileAt } from '../../snapshot/published-files.ts';
import { openDatabaseReadOnly, type Database } from '../../mirror/database.ts';
import { prepareFencedBy, prepareIsFenced } from '../../mirror/fence.ts';
import { decodeJson, decodeJsonLine, isJson, isParquet, readOtherValues, takeTableWords } from './decode-files.ts';
import { encodings, createFindings, type Findings, mirrorPlace, type ScanReport, type ScanTask } from './scan-task.ts';
import { createRowJudge } from './judge-rows.ts';
import { isLedger, readKnownFile, readLedgerContent } from './known-formats.ts';
import { countWhole, hiddenTexts } from './hidden-texts.ts';
import { makeNeedles } from './needles.ts';
import { learnSome, readMirror, readParquet, reasonOf, type Scan, settle } from './read-rows.ts';
import { createRawSearch, isMirrorFile, listFiles, type ListedFile } from './search-files.ts';
import { soughtRows } from './sought-rows.ts';
import { createSharedText } from './shared-text.ts';

/** What is as good as random, and holds nobody. Anything else that somebody has put beside it is read. */
const secrets = /^(keys\/(box|fence|intake|ledger|mask)|restore)\.key$/;

/** The steps of a scan. A control takes the cheapest first. SQLite opens the mirror once its bytes have been searched. */
const steps = {
  control: [readParquet, searchMirror, readMirror, searchFiles],
  verify: [searchMirror, readMirror, readParquet, searchFiles],
};

/**
 * Looks for subjects in everything below the data folder but its keys: decoded, in the rows of the mirror, of Parquet
 * and of JSON files, for identifiers as whole values; and raw, in the bytes of every file, for pieces of their texts
 * that no other person's rows hold. To be run in a process of its own, which has not opened the mirror: closing a file that
 * SQLite has open drops its locks. Throws for bugs only; what cannot be read is reported.
 */
export async function scanDataFolder(task: ScanTask): Promise<ScanReport> {
  const startedAtMs = performance.now();
  const needles = makeNeedles(task.subjects);
  const shared = createSharedText(needles);
  const findings = createFindings(task.subjects.map(({ request }) => request));
  using reader = await openParquetReader(foldersOf(task));
  const scan: Scan = {
    task,
    findings,
    judge: createRowJudge(task.subjects, findings, shared, undefined),
    // Every identifier of every row is held against the fence.
    sought: task.fence ? undefined : soughtRows(task.subjects),
    needles,
    shared,
    search: createRawSearch(needles, shared, findings),
    reader,
    db: undefined,
    lessons: null,
    sums: { read: new Set(), bytes: 0, rows: 0 },
  };
  try {
    await takeSteps(scan);
    const seconds = (performance.now() - startedAtMs) / 1000;
    return { ...reportOf(scan), seconds };
  } finally {
    await scan.lessons?.return(undefined);
    scan.db?.close();
  }
}

/** The folders of all files: a link leads to folders that are below no path of the task. */
function foldersOf({ dataDir, extraPaths }: ScanTask): Set<string> {
  const files = [dataDir, ...extraPaths].flatMap((path) => Array.from(listFiles(path, '')));
  return new Set([dataDir, ...extraPaths, ...files.map(({ path }) => dirname(path))]);
}

/** Takes all steps; those of a control until every subject has been found where the purge has to reach. */
async function takeSteps(scan: Scan): Promise<void> {
  const { phase, subjects } = scan.task;
  for (const step of steps[phase])
    for await (const _some of step(scan))
      if (phase === 'control' && subjects.every((_subject, index) => scan.findings.isInFiles(index))) return;
}

// Each step yields after some rows, or after a file.

/** Everything but the mirror's own files, while SQLite may have those open. */
async function* searchFiles(scan: Scan): AsyncGenerator<void> {
  const { task, judge, findings, search } = scan;
  const passedOver = new Set(task.passedOver);
  const isLeftOut = (place: string): boolean => secrets.test(place) || isMirrorFile(place) || passedOver.has(place);
  const listing = { takeEntry: search.name, isLeftOut, seen: new Set<string>() };
  await settle(scan);
  search.passOverShared();
  yield;
  // The data folder comes first, so that files which an extra path shares with it are read once, as its files.
  const files = [
    listFiles(task.dataDir, '', listing),
    ...task.extraPaths.map((path) => listFiles(path, path, { ...listing, isLeftOut: () => false })),
  ];
  const others: ListedFile[] = [];
  for (const listed of files)
    for (const file of listed) {
      if (file.problem !== null) findings.addUnreadable(file.place, file.problem);
      else if (!(await searchKnownFile(scan, file))) {
        if (!isParquet(file) && publishedFileAt(file.place) === undefined) others.push(file);
        await attempt(findings, file.place, () => takeTableWords(file, judge));
        await searchFile(scan, file);
        if (isJson(file)) await attempt(findings, file.place, () => decodeJson(file, judge));
        if (isParquet(file)) await attempt(findings, file.place, () => searchValues(scan, file));
      }
      await settle(scan);
      yield;
    }
  yield* searchHidden(scan, others);
}

/** Searches files for the whole identifiers of which rows of others hold every piece. */
async function* searchHidden(
  { task, needles, shared, findings }: Scan,
  files: readonly ListedFile[],
): AsyncGenerator<void> {
  const hidden = [...hiddenTexts(task.subjects, needles, shared)];
  if (hidden.length === 0) return;
  const count = countWhole(hidden);
  for (const { path, place } of files) {
    await attempt(findings, place, () => {
      for (const [{ subject }, hits] of count(path)) findings.addRaw(subject, place, 'utf-8', hits);
    });
    yield;
  }
}

/** Searches what a file of a known format can hold of persons. Returns whether the file has such a format. */
async function searchKnownFile(scan: Scan, file: ListedFile): Promise<boolean> {
  const { search, judge, findings, sums } = scan;
  let isKnown = false;
  await attempt(findings, file.place, () => {
    const content = readKnownFile(file);
    isKnown = content !== undefined || isLedger(file.place);
    if (!isKnown) return;
    sums.read.add(file.place);
    sums.bytes += statSync(file.path).size;
    for (const text of content?.texts ?? []) search.part(file.place, Buffer.from(text));
    if (content) judge.takeJson(file.place, content.values);
    else searchLedger(scan, file);
  });
  return isKnown;
}

async function searchValues({ task, reader, search }: Scan, file: ListedFile): Promise<void> {
  for await (const bytes of readOtherValues(reader, task.dataDir, file)) search.part(file.place, bytes);
}

function searchLedger({ search, judge }: Scan, { path, place }: ListedFile): void {
  for (const part of readLedgerContent(path))
    if ('ids' in part) judge.takeJson(place, part.ids);
    else {
      search.part(place, part.line);
      decodeJsonLine(place, part.line.toString('utf8'), judge);
    }
}

/** Searches the mirror's own files, and opens it. */
async function* searchMirror(scan: Scan): AsyncGenerator<void> {
  const { task, findings, shared } = scan;
  if (task.passedOver?.includes(mirrorPlace)) return;
  await learnSome(scan);
  for (const file of listFiles(task.dataDir, '', { isLeftOut: (place) => !isMirrorFile(place) })) {
    if (file.problem === null) await searchFile(scan, file);
    // A data folder that is none is reported once all files are searched.
    else if (file.place !== '.') findings.addUnreadable(file.place, file.problem);
    yield;
  }
  await attempt(findings, mirrorPlace, () => {
    const db = openDatabaseReadOnly(task.dataDir);
    scan.db = db;
    const fencedBy = task.fence ? fencedByIn(db) : undefined;
    const propertiesOf = db.prepare<[string], string>(/*sql*/ `SELECT properties FROM persons WHERE uuid = ?`).pluck();
    scan.judge = createRowJudge(task.subjects, findings, shared, fencedBy, (uuid) => propertiesOf.get(uuid));
  });
}

/** Tells which requests have fenced an identifier; undefined while nothing is fenced. Nearly all identifiers are not. */
function fencedByIn(db: Database): ReturnType<typeof prepareFencedBy> {
  const isFenced = prepareIsFenced(db);
  const fencedBy = prepareFencedBy(db);
  return fencedBy && ((kind, value) => (isFenced(kind, value) ? fencedBy(kind, value) : []));
}

async function searchFile({ search, findings, sums }: Scan, file: ListedFile): Promise<void> {
  await attempt(findings, file.place, () => {
    sums.bytes += search.file(file);
    sums.read.add(file.place);
  });
}

/** Reads, and reports what cannot be read: everything else goes on. */
async function attempt(findings: Findings, place: string, read: () => Promise<void> | void): Promise<void> {
  try {
    await read();
  } catch (error) {
    findings.addUnreadable(place, reasonOf(error));
  }
}

function reportOf({ task, findings, shared, search, needles, sums }: Scan): Omit<ScanReport, 'seconds'> {
  const subjects = task.subjects.map(({ request }, index) => ({
    request,
    needles: 0,
    shared: 0,
    tooShort: needles.tooShort[index] ?? 0,
  }));
  for (let shingle = 0; shingle < needles.search.size(); shingle += 1)
    for (const { subject } of needles.ownersOf(shingle)) {
      const counted = subjects[subject];
      if (!counted) continue;
      counted.needles += 1;
      if (shared.has(shingle)) counted.shared += 1;
    }
  const { read, ...sum } = sums;
  const found = findings.found(search.shownPlace);
  return {
    files: read.size,
    ...sum,
    ...found,
    encodings: [...encodings],
    subjects: subjects.map((counted, index) =>
      Object.assign(counted, found.subjects[index] ?? { hits: 0, places: [] }),
    ),
  };
}
