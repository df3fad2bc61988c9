import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { CaseName, Measurement } from './case.ts';
import { measure, startPageServer } from './measure.ts';
import { type BenchReport, formatReport, type Line, lineOf } from './report.ts';

// Every case once a round, one after the other, so that each ratio is of cases that ran beside each other:
// `npm run bench -- [--persons N] [--export-rows N] [--rounds N] [--json]`.

const { values } = parseArgs({
  options: {
    persons: { type: 'string', default: '200000' },
    'export-rows': { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});
const persons = positive('--persons', values.persons);
const exportRows = positive('--export-rows', values['export-rows']);
const rounds = positive('--rounds', values.rounds);

const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-bench-'));
// An interrupt ends the case that runs, and so this run, by way of its `finally`.
process.once('SIGINT', () => undefined);
try {
  const report: BenchReport = {
    node: process.versions.node,
    processors: availableParallelism(),
    rounds,
    persons,
    exportRows,
    sync: await benchSync(persons),
    export: await benchExport(exportRows),
  };
  process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : formatReport(report));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** A case of a round, under the name that the report gives it. */
type RoundCase = { line: string; name: CaseName; mirror?: string; generation?: number; fence?: number };

/** Runs the cases in turn, as often as there are rounds, and puts each beside the baselines. */
async function benchRounds(
  cases: readonly RoundCase[],
  { rows, origin, baselines, keep }: { rows: number; origin: string; baselines: Record<string, string>; keep: boolean },
): Promise<Line[]> {
  const measured = new Map<string, Measurement[]>(cases.map(({ line }) => [line, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { line, name, mirror = 'none', generation = 0, fence = 0 } of cases) {
      const dataDir = join(folder, mirror);
      measured.get(line)?.push(await measure(name, { rows, dataDir, origin, generation, fence }));
    }
    if (!keep)
      for (const { mirror } of cases) if (mirror) rmSync(join(folder, mirror), { recursive: true, force: true });
  }
  const besides = Object.fromEntries(Object.entries(baselines).map(([name, line]) => [name, measured.get(line) ?? []]));
  return cases.map(({ line }) => lineOf(line, rows, measured.get(line) ?? [], besides));
}

/** Ceilings, and passes into a mirror: empty, with a fence, nothing changed since, one row in twenty changed since. */
async function benchSync(rows: number): Promise<Line[]> {
  const { origin, stop } = await startPageServer(rows);
  const lines = await benchRounds(
    [
      { line: 'fetch alone, bytes', name: 'bytesAlone' },
      { line: 'fetch + JSON.parse alone', name: 'fetchAlone' },
      { line: 'first pass', name: 'syncPass', mirror: 'sync' },
      { line: 'unchanged pass', name: 'syncPass', mirror: 'sync' },
      { line: '5 % changed pass', name: 'syncPass', mirror: 'sync', generation: 1 },
      { line: 'first pass, a fence of 1,000', name: 'syncPass', mirror: 'fenced', fence: 1000 },
    ],
    {
      rows,
      origin,
      baselines: { 'of fetch + parse': 'fetch + JSON.parse alone', 'of first pass': 'first pass' },
      keep: false,
    },
  );
  await stop();
  return lines;
}

/** One mirror, published by the program, by DuckDB alone from a table of its own, and by parquetjs-lite. */
async function benchExport(rows: number): Promise<Line[]> {
  const parameters = { rows, dataDir: join(folder, 'export'), origin: '', generation: 0, fence: 0 };
  // DuckDB's own table is made of what the program has published.
  for (const name of ['fillMirror', 'exportPersons', 'fillDuckDb'] as const) await measure(name, parameters);
  return benchRounds(
    [
      { line: 'export, from the mirror', name: 'exportPersons', mirror: 'export' },
      { line: 'DuckDB COPY alone, of its own table', name: 'copyAlone', mirror: 'export' },
      { line: 'parquetjs-lite, from the mirror, snappy', name: 'parquetjsAlone', mirror: 'export' },
    ],
    {
      rows,
      origin: '',
      baselines: {
        'of COPY': 'DuckDB COPY alone, of its own table',
        'of parquetjs-lite': 'parquetjs-lite, from the mirror, snappy',
      },
      keep: true,
    },
  );
}

function positive(option: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`${option} takes a positive integer, not ${text}`);
  return number;
}
