import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { CaseName, Measurement } from './case.ts';
import { measure, startPageServer } from './measure.ts';
import { type BenchReport, formatReport, type Line, lineOf, type Stages } from './report.ts';

// Everything in one run, so that the ratios hold on any machine: `npm run bench -- [--persons N] [--export-rows N] [--json]`.

const { values } = parseArgs({
  options: {
    persons: { type: 'string', default: '200000' },
    'export-rows': { type: 'string', default: '1000000' },
    json: { type: 'boolean', default: false },
  },
});
const persons = positive('--persons', values.persons);
const exportRows = positive('--export-rows', values['export-rows']);

const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-bench-'));
// An interrupt ends the case that runs, and so this run, by way of its `finally`.
process.once('SIGINT', () => undefined);
try {
  const report: BenchReport = {
    node: process.versions.node,
    processors: availableParallelism(),
    persons,
    exportRows,
    ...(await benchSync(persons)),
    export: await benchExport(exportRows),
  };
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : formatReport(report));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Three passes into one mirror each: empty, nothing changed since, one row in twenty changed since. */
async function benchSync(rows: number): Promise<{ sync: Line[]; stages: Stages[] }> {
  const { origin, stop } = await startPageServer(rows);
  const run = (name: CaseName, mirror: string, generation: number): Promise<Measurement> =>
    measure(name, { rows, dataDir: join(folder, mirror), origin, generation });
  const passes = [
    { pass: 'first pass', generation: 0, limitedBy: 'one page of an index to write for each random key' },
    { pass: 'unchanged pass', generation: 0, limitedBy: 'a look-up by random key for each row' },
    { pass: '5 % changed pass', generation: 1, limitedBy: 'as unchanged, and writing the pages of changed rows' },
  ];
  const fetched = await run('fetchAlone', 'none', 0);
  const pooled = await run('poolAlone', 'none', 0);
  const sync = [
    lineOf('fetch + JSON.parse alone', rows, fetched, { 'of fetch': fetched }, 'reading the socket and parsing'),
    lineOf('undici Pool + JSON.parse alone', rows, pooled, { 'of fetch': fetched }, 'reading the socket and parsing'),
  ];
  const stages: Stages[] = [];
  for (const { pass, generation, limitedBy } of passes) {
    const upserted = await run('upsertAlone', 'upsert', generation);
    const synced = await run('syncPass', 'sync', generation);
    const staged = await run('syncStages', 'stages', generation);
    const baselines = { 'of fetch': fetched, 'of upsert': upserted };
    sync.push(lineOf(`${pass}, SQLite upsert alone`, rows, upserted, baselines, limitedBy));
    sync.push(
      lineOf(`${pass}, sync`, rows, synced, baselines, 'one thread, which parses, validates and writes in turn'),
    );
    stages.push({ name: pass, stages: staged.stages ?? {} });
  }
  await stop();
  return { sync, stages };
}

/** One mirror, published by the program, by DuckDB alone from a table of its own, and by parquetjs-lite. */
async function benchExport(rows: number): Promise<Line[]> {
  const run = (name: CaseName): Promise<Measurement> =>
    measure(name, { rows, dataDir: join(folder, 'export'), origin: '', generation: 0 });
  await run('fillMirror');
  const exported = await run('exportPersons');
  await run('fillDuckDb');
  const copied = await run('copyAlone');
  const parquetjs = await run('parquetjsAlone');
  const baselines = { 'of COPY': copied, 'of parquetjs-lite': parquetjs };
  return [
    lineOf(
      'export, from the mirror',
      rows,
      exported,
      baselines,
      'reading SQLite by random key, and values in and out of JavaScript',
    ),
    lineOf('DuckDB COPY alone, of its own table', rows, copied, baselines, 'encoding and zstd'),
    lineOf('parquetjs-lite, from the mirror, snappy', rows, parquetjs, baselines, 'encoding in JavaScript'),
  ];
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`${option} takes a positive integer, not ${text}`);
  return number;
}
