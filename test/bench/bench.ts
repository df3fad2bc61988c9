import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { openDatabaseReadOnly } from '../../src/mirror/database.ts';
import type { CaseName, CaseParameters, Measurement } from './case.ts';
import { measure, measureCommand, measurePython, startPageServer } from './measure.ts';
import type { Shape } from './persons.ts';
import { type BenchReport, formatReport, type Line, lineOf } from './report.ts';
import { writePages } from './write-pages.ts';

// Every case once a round, one after the other, so that each ratio is of cases that ran beside each other:
// `npm run bench -- [--persons N] [--sizes N,N] [--export-rows N] [--rounds N] [--python PYTHON] [--json] [--write]`. PYTHON has dlt.

const { values } = parseArgs({
  options: {
    persons: { type: 'string', default: '200000' },
    sizes: { type: 'string', default: '' },
    'export-rows': { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    python: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
/** How many persons are deleted after each page of a drifting list: fewer than two pages overlap by. */
const deletedAfterPage = 7;
const rounds = positive('--rounds', values.rounds);
const sizes = values.sizes === '' ? [] : values.sizes.split(',').map((size) => positive('--sizes', size));

// What is measured is what users run: the package.
execFileSync(process.execPath, [fileURLToPath(new URL('../../config/build.ts', import.meta.url))], {
  stdio: 'inherit',
});

const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-bench-'));
// An interrupt ends the case that runs, and so this run, by way of its `finally`.
process.once('SIGINT', () => undefined);
try {
  const persons = positive('--persons', values.persons);
  const exportRows = positive('--export-rows', values['export-rows']);
  const report: BenchReport = {
    at: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    machine: `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}`,
    load: loadavg()[0] ?? 0,
    rounds,
    persons,
    exportRows,
    sync: await benchSync(persons),
    missed: await benchMissed(persons),
    shapes: await benchShapes(persons),
    growth: await benchGrowth(sizes),
    export: await benchExport(exportRows),
    loadAfter: loadavg()[0] ?? 0,
  };
  if (values.write) writePages(report);
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : formatReport(report));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A case of a round: its name in the report, and what measures it. */
type RoundCase = { line: string; run: () => Promise<Measurement> };

/** Runs the cases in turn, as often as there are rounds, and puts each beside the baselines. */
async function benchRounds(
  cases: readonly RoundCase[],
  { rows, baselines, begin }: { rows: number; baselines: Record<string, string>; begin: () => void },
): Promise<Line[]> {
  const measured = new Map<string, Measurement[]>(cases.map(({ line }) => [line, []]));
  for (let round = 0; round < rounds; round += 1) {
    begin();
    for (const { line, run } of cases) {
      const measurement = await run();
      measured.get(line)?.push(measurement);
      process.stderr.write(`${line}: ${((measurement.cpuMs * 1000) / rows).toFixed(2)} µs a row\n`);
    }
  }
  const besides = Object.fromEntries(Object.entries(baselines).map(([name, line]) => [name, measured.get(line) ?? []]));
  return cases.map(({ line }) => lineOf(line, rows, measured.get(line) ?? [], besides));
}

/** One of this folder's own cases. */
function own(name: CaseName, parameters: Partial<CaseParameters>): () => Promise<Measurement> {
  return () => measure(name, { rows: 0, dataDir: '', origin: '', generation: 0, fence: 0, ...parameters });
}

/** Ceilings, and the command `sync`: first, nothing changed since, one row in twenty changed since; a fence; dlt beside it. */
async function benchSync(rows: number): Promise<Line[]> {
  const { origin, show, stop } = await startPageServer(rows);
  const dataDir = join(folder, 'sync');
  const sync = (generation: number) => async (): Promise<Measurement> => {
    await show(generation);
    return measureCommand(['sync', 'persons', '--fresh'], origin, dataDir);
  };
  const pass = (mirror: string, fence: number): (() => Promise<Measurement>) =>
    own('syncPass', { rows, origin, fence, dataDir: join(folder, mirror) });
  const { python = '' } = values;
  const peers = [
    { line: 'a plain script, into SQLite', run: () => measurePython(python, 'plain-case.py', origin) },
    { line: 'dlt, into DuckDB', run: () => measurePython(python, 'dlt-case.py', origin, 'duckdb') },
    { line: 'dlt, into Parquet', run: () => measurePython(python, 'dlt-case.py', origin, 'parquet') },
  ];
  const lines = await benchRounds(
    [
      { line: 'fetch alone, bytes', run: own('bytesAlone', { rows, origin }) },
      { line: 'fetch + JSON.parse alone', run: own('fetchAlone', { rows, origin }) },
      { line: 'first pass', run: sync(0) },
      { line: 'unchanged pass', run: sync(0) },
      { line: 'export of persons, after it', run: () => measureCommand(['export', 'persons'], origin, dataDir) },
      { line: '5 % changed pass', run: sync(1) },
      { line: 'first pass, no command', run: pass('plain', 0) },
      { line: 'the same, a fence of 1,000', run: pass('fenced', 1000) },
      ...(python === '' ? [] : peers),
    ],
    {
      rows,
      baselines: {
        'of fetch + parse': 'fetch + JSON.parse alone',
        'of first pass': 'first pass',
        'of the same without a fence': 'first pass, no command',
      },
      begin: () => {
        for (const mirror of ['sync', 'plain', 'fenced'])
          rmSync(join(folder, mirror), { recursive: true, force: true });
      },
    },
  );
  await stop();
  return lines;
}

/** What the command and dlt miss of a list whose first persons are deleted meanwhile, once each. */
async function benchMissed(rows: number): Promise<BenchReport['missed']> {
  const { origin, show, stop } = await startPageServer(rows);
  const dataDir = join(folder, 'drift');
  await show(0, deletedAfterPage);
  await measureCommand(['sync', 'persons', '--fresh'], origin, dataDir);
  const left = async (): Promise<{ gone: number; left: number }> => {
    const gone = Number(await (await fetch(`${origin}/gone`)).text());
    return { gone, left: rows - gone };
  };
  const ours = await left();
  const db = openDatabaseReadOnly(dataDir);
  const found = db.prepare<[number], number>(`SELECT count(*) FROM persons WHERE id > ?`).pluck().get(ours.gone) ?? 0;
  db.close();
  const missed = [{ name: 'this program', missed: ours.left - found, left: ours.left }];
  const peers =
    values.python === undefined
      ? []
      : ([
          ['dlt', 'dlt-case.py', 'duckdb'],
          ['the plain script', 'plain-case.py'],
        ] as const);
  for (const [name, script, ...into] of peers) {
    await show(0, deletedAfterPage);
    const peer = await measurePython(values.python ?? '', script, origin, ...into);
    const { left: all } = await left();
    missed.push({ name, missed: all - peer.kept, left: all });
  }
  await stop();
  return missed;
}

/** The command over persons of the other shapes. */
async function benchShapes(rows: number): Promise<BenchReport['shapes']> {
  const shapes: BenchReport['shapes'] = [];
  for (const shape of ['latin', 'large'] as const) shapes.push({ shape, lines: await benchPasses(rows, shape) });
  return shapes;
}

/** The command at several sizes. */
async function benchGrowth(of: readonly number[]): Promise<BenchReport['growth']> {
  const grown: BenchReport['growth'] = [];
  for (const rows of of) grown.push({ rows, lines: await benchPasses(rows, 'mixed') });
  return grown;
}

/** A first pass, one where nothing changed and one where one row in twenty did, and `status`, once a round each. */
async function benchPasses(rows: number, shape: Shape): Promise<Line[]> {
  const { origin, show, stop } = await startPageServer(rows, shape);
  const dataDir = join(folder, `${shape}-${rows}`);
  const sync = (generation: number) => async (): Promise<Measurement> => {
    await show(generation);
    return measureCommand(['sync', 'persons', '--fresh'], origin, dataDir);
  };
  const lines = await benchRounds(
    [
      { line: 'fetch + JSON.parse alone', run: own('fetchAlone', { rows, origin }) },
      { line: 'first pass', run: sync(0) },
      { line: 'unchanged pass', run: sync(0) },
      { line: '5 % changed pass', run: sync(1) },
      { line: 'status', run: () => measureCommand(['status', '--json'], origin, dataDir) },
    ],
    {
      rows,
      baselines: { 'of fetch + parse': 'fetch + JSON.parse alone' },
      begin: () => rmSync(dataDir, { recursive: true, force: true }),
    },
  );
  await stop();
  return lines;
}

/** One mirror, published by the program, by DuckDB alone from a table of its own, and by parquetjs-lite. */
async function benchExport(rows: number): Promise<Line[]> {
  const parameters = { rows, dataDir: join(folder, 'export') };
  // DuckDB's own table is made of what the program has published.
  for (const name of ['fillMirror', 'exportPersons', 'fillDuckDb'] as const) await own(name, parameters)();
  return benchRounds(
    [
      { line: 'export, from the mirror', run: own('exportPersons', parameters) },
      { line: 'DuckDB COPY alone, of its own table', run: own('copyAlone', parameters) },
      { line: 'parquetjs-lite, from the mirror, snappy', run: own('parquetjsAlone', parameters) },
    ],
    {
      rows,
      baselines: {
        'of COPY': 'DuckDB COPY alone, of its own table',
        'of parquetjs-lite': 'parquetjs-lite, from the mirror, snappy',
      },
      begin: () => undefined,
    },
  );
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`${option} takes a positive integer, not ${text}`);
  return number;
}
