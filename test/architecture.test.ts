import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { doors, linesMax, wings, type Wing } from './doors.ts';

/** The layers, lowest first: a folder (or file) imports only from layers below its own, and itself. */
const layers = [
  ['core'],
  ['contract'],
  ['config', 'log', 'markup', 'ledger'],
  ['client', 'mirror', 'snapshot', 'sandbox'],
  ['job', 'anchor', 'bucket'],
  ['sync', 'export', 'load', 'erasure'],
  ['worker', 'status', 'audit'],
  ['cluster', 'intake'],
  ['app'],
  ['rehearsal', 'library-parts'],
  ['cli', 'library'],
  ['start-up'],
  ['main'],
];

/** Where each package may be imported. The sandbox is a program of its own, with its own server, store and schedule. */
const packageHomes: Record<string, readonly string[]> = {
  '@aws-sdk/client-s3': ['bucket'],
  '@duckdb/node-api': ['snapshot'],
  '@hono/node-server': ['sandbox', 'status'],
  '@opentelemetry/api': ['log'],
  '@opentelemetry/exporter-trace-otlp-http': ['log'],
  '@opentelemetry/exporter-trace-otlp-proto': ['log'],
  '@opentelemetry/resources': ['log'],
  '@opentelemetry/sdk-trace': ['log'],
  '@smithy/signature-v4': ['bucket'],
  avsc: ['snapshot'],
  'better-sqlite3': ['mirror', 'sandbox'],
  commander: ['cli'],
  'csv-parse': ['cli'],
  'csv-stringify': ['sandbox', 'audit'],
  hono: ['sandbox', 'markup', 'audit', 'status'],
  'node-cron': ['config', 'sandbox'],
  'p-queue': ['client', 'cluster'],
  pg: ['cluster', 'load'],
  'pg-copy-streams': ['load'],
  pino: ['log'],
  'pino-pretty': ['log'],
  'prom-client': ['status'],
  'pure-rand': ['sandbox'],
  'string-width': ['cli'],
  undici: ['client'],
  yaml: ['config', 'snapshot'],
};
const packagesForAll = ['zod'];

/** Folders that know nothing of the rest of the program but these. */
const isolated: Record<string, readonly string[]> = { sandbox: ['core', 'contract'], ledger: ['core', 'contract'] };

/** The one file that knows that published files lie in a folder, the folders that go through it, and what only it may use. */
const door = 'snapshot/published-files.ts';
const behindDoor = ['snapshot', 'export'];
const diskModules = [/^node:fs(?:\/promises)?$/, /\/core\/(?:atomic-file|open-file|temporary-folder|make-folder)\.ts$/];
/** A path below the folder of snapshots, as a program spells it; not as a help text names it. */
const snapshotPath = /\bjoin\([^)]*'snapshots'|[`'/]\^?snapshots\\?\//;

type SourceFile = { path: string; text: string };

const root = fileURLToPath(new URL('../src/', import.meta.url));
const sources: SourceFile[] = globSync('**/*.ts', { cwd: root }).map((path) => ({
  path,
  text: readFileSync(root + path, 'utf8'),
}));

function areaOf(path: string): string {
  return path.includes('/') ? (path.split('/')[0] ?? path) : path.replace(/\.ts$/, '');
}

function levelOf(area: string): number {
  return layers.findIndex((layer) => layer.includes(area));
}

function importsOf(text: string): string[] {
  const pattern =
    /^\s*(?:import|export)\b[^'";]*?from\s*'([^']+)'|^\s*import\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|\bcreateRequire\([^)]*\)\(\s*'([^']+)'\s*\)/gm;
  return [...text.matchAll(pattern)].flatMap((match) => match.slice(1).filter(Boolean));
}

/** How a file goes past the door to the published files, in words. */
function waysPastDoor({ path, text }: SourceFile): string[] {
  if (path === door || areaOf(path) === 'sandbox') return [];
  const disk = behindDoor.includes(areaOf(path))
    ? importsOf(text).filter((name) => diskModules.some((pattern) => pattern.test(name)))
    : [];
  const spelled = snapshotPath.test(text) ? ['a path below snapshots/'] : [];
  return [...disk, ...spelled].map((way) => `${path}: has ${way}, which only ${door} may have`);
}

/** Every broken rule of a file, in words. */
function violationsOf({ path, text }: SourceFile): string[] {
  const area = areaOf(path);
  if (levelOf(area) === -1) return [`${path}: ${area} is in no layer`];
  return importsOf(text).flatMap((name) => {
    if (name.startsWith('node:')) return [];
    if (!name.startsWith('.')) {
      const parts = name.split('/');
      const packageName = name.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? name);
      const isAllowed = packagesForAll.includes(packageName) || packageHomes[packageName]?.includes(area) === true;
      return isAllowed ? [] : [`${path}: imports the package ${packageName}, which is not at home in ${area}`];
    }
    const target = new URL(name, `file:///src/${path}`).pathname.replace(/^\/src\//, '');
    // The verifier stands beside the sources, and uses none of them.
    if (target === '/package.json' || target.startsWith('/docs/verifier/')) return [];
    const targetArea = areaOf(target);
    if (targetArea === area) return [];
    if (isolated[area]?.includes(targetArea) === false) return [`${path}: ${area} imports ${targetArea}`];
    return levelOf(targetArea) < levelOf(area) ? [] : [`${path}: ${area} imports ${targetArea}, which is not below it`];
  });
}

/** The wing of a file. */
function wingOf(path: string): Wing {
  const found = Object.entries(wings).find(([, areas]) => (areas as readonly string[]).includes(areaOf(path)));
  if (!found) throw new Error(`${path} is in no wing`);
  return found[0] as Wing;
}

/** The files of other wings that a file imports, but for the kernel's. */
function entrancesOf({ path, text }: SourceFile): { wing: Exclude<Wing, 'kernel'>; target: string }[] {
  return importsOf(text).flatMap((name) => {
    if (!name.startsWith('.')) return [];
    const target = new URL(name, `file:///src/${path}`).pathname.replace(/^\/src\//, '');
    if (target.startsWith('/')) return [];
    const wing = wingOf(target);
    return wing === 'kernel' || wing === wingOf(path) ? [] : [{ wing, target }];
  });
}

/** Imports of a file that enter a wing beside its doors, in words. */
function besideDoors(file: SourceFile): string[] {
  return entrancesOf(file).flatMap(({ wing, target }) =>
    doors[wing].includes(target) ? [] : [`${file.path}: enters ${wing} by ${target}, which is no door`],
  );
}

/** Cycles between the files of one folder, as the two ends of the import that closes one. */
function cyclesOf(files: readonly SourceFile[]): string[] {
  const graph = new Map(
    files.map(({ path, text }) => [
      path,
      importsOf(text)
        .filter((name) => name.startsWith('.'))
        .map((name) => new URL(name, `file:///src/${path}`).pathname.replace(/^\/src\//, '')),
    ]),
  );
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): string[] => {
    if (trail.includes(path)) return [`${path} ← ${trail.at(-1) ?? ''}`];
    if (done.has(path)) return [];
    const found = (graph.get(path) ?? []).flatMap((target) => visit(target, [...trail, path]));
    done.add(path);
    return found;
  };
  return [...graph.keys()].flatMap((path) => visit(path, []));
}

describe('the architecture', () => {
  it('reads every source file', () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.flatMap(({ text }) => importsOf(text)).length).toBeGreaterThan(200);
  });

  it('imports go down only, and each package has its home', () => {
    expect(sources.flatMap(violationsOf)).toEqual([]);
  });

  it('only the door knows that published files lie in a folder', () => {
    expect(sources.flatMap(waysPastDoor)).toEqual([]);
  });

  it.each([
    ['a file of exports on the disk', 'export/planted.ts', "import { rmSync } from 'node:fs';"],
    ['a promise of the disk', 'snapshot/planted.ts', "import { rm } from 'node:fs/promises';"],
    ['an fsync', 'snapshot/planted.ts', "import { syncToDisk } from '../core/atomic-file.ts';"],
    ['a flushed folder', 'export/planted.ts', "import { syncToDisk } from '../core/open-file.ts';"],
    ['a path', 'status/planted.ts', "const path = join(dataDir, 'snapshots', dataset);"],
    ['a spelled path', 'erasure/planted.ts', 'const place = `snapshots/${dataset}/${id}`;'],
    ['a pattern of paths', 'erasure/scan/planted.ts', 'const part = /^snapshots\\/(.+)$/;'],
  ])('catches %s past the door', (_what, path, text) => {
    expect(waysPastDoor({ path, text })).toHaveLength(1);
  });

  it('enters a wing by its doors only, and has no door that nobody uses', () => {
    expect(sources.flatMap(besideDoors)).toEqual([]);
    expect(besideDoors({ path: 'cli/planted.ts', text: "import { x } from '../ledger/planted.ts';" })).toHaveLength(1);
    const used = new Set(sources.flatMap(entrancesOf).map(({ target }) => target));
    expect(
      Object.values(doors)
        .flat()
        .filter((door) => !used.has(door)),
    ).toEqual([]);
  });

  it.each(Object.entries(linesMax))('has at most as many lines in the wing %s as were agreed: %i', (wing, most) => {
    const own = sources.filter(({ path }) => wingOf(path) === wing);
    expect(own.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)).toBeLessThanOrEqual(most);
  });

  it('has no import cycles', () => {
    expect(cyclesOf(sources)).toEqual([]);
  });

  // OpenTelemetry's SDK reads its own variables (OTEL_*) from the process; no other package may need the environment.
  it('process.env and process.exit are each in one place', () => {
    const filesWith = (pattern: RegExp): string[] =>
      sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path);
    expect(filesWith(/process\.env\b/)).toEqual(['main.ts']);
    expect(filesWith(/process\.exit\(/)).toEqual(['main.ts']);
  });

  it('loads at most ten modules by their name at run time', () => {
    const imports = sources.flatMap(({ path, text }) => [...text.matchAll(/await import\(/g)].map(() => path));
    expect(imports.length).toBeGreaterThan(0);
    expect(imports.length).toBeLessThanOrEqual(10);
  });

  it('loads what a bucket needs, and DuckDB, at run time only', () => {
    const late = /^\s*import (?!type)[^;]*?from\s*'(?:@aws-sdk|@duckdb)\//m;
    expect(late.test("import { S3Client } from '@aws-sdk/client-s3';")).toBe(true);
    expect(sources.filter(({ text }) => late.test(text)).map(({ path }) => path)).toEqual([]);
  });

  it('is the table of docs/architecture.md', () => {
    const page = readFileSync(new URL('../docs/architecture.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| (\d+) \| ((?:`[\w-]+` ?)+) \|/gm)];
    const told = layers.map((_, index) =>
      rows
        .filter(([, level]) => Number(level) === index + 1)
        .flatMap(([, , areas = '']) => areas.match(/[\w-]+/g) ?? []),
    );
    expect(told.map((areas) => areas.toSorted())).toEqual(layers.map((areas) => areas.toSorted()));
  });

  it('has no folder that is named by kind', () => {
    const kinds = ['utils', 'helpers', 'services', 'types', 'common', 'shared', 'lib'];
    expect(sources.filter(({ path }) => path.split('/').some((part) => kinds.includes(part)))).toEqual([]);
  });

  it.each([
    ['an import upwards', 'core/planted.ts', "import { x } from '../mirror/database.ts';"],
    ['an import sideways', 'mirror/planted.ts', "import { x } from '../client/service.ts';"],
    ['a type import upwards', 'client/planted.ts', "import type { X } from '../sync/page.ts';"],
    ['a re-export upwards', 'contract/planted.ts', "export { x } from '../cli/table.ts';"],
    ['a dynamic import upwards', 'core/planted.ts', "const x = await import('../cli/table.ts');"],
    ['an import over several lines', 'core/planted.ts', "import {\n  x,\n  y,\n} from '../cli/table.ts';"],
    ['a package away from home', 'sync/planted.ts', "import Sqlite from 'better-sqlite3';"],
    ['a required package away from home', 'sync/planted.ts', "createRequire(url)('better-sqlite3');"],
    ['a package nobody knows', 'core/planted.ts', "import _ from 'lodash';"],
    ['the sandbox knowing the mirror', 'sandbox/planted.ts', "import { x } from '../config/settings.ts';"],
    ['a folder in no layer', 'utils/planted.ts', 'export const x = 1;'],
  ])('catches %s', (_what, path, text) => {
    expect(violationsOf({ path, text })).toHaveLength(1);
  });

  it('catches a cycle', () => {
    const files = [
      { path: 'core/a.ts', text: "import { b } from './b.ts';" },
      { path: 'core/b.ts', text: "import { a } from './a.ts';" },
    ];
    expect(cyclesOf(files)).toHaveLength(1);
  });
});
