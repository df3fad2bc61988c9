import { usageOfProcess, type Usage } from './usage.ts';

// One case in a process of its own, so that its peak memory and its writes are its own.
// Arguments: the case's name, and its parameters as JSON. Sends the measurement to its parent.

/** What a case may need. `generation` is which of the two lists is read; `fence` is how many identifiers are fenced. */
export type CaseParameters = { rows: number; dataDir: string; origin: string; generation: number; fence: number };

/** What a case found out by itself: how long it took, and the size of what it made. */
export type CaseResult = { ms: number; bytes?: number };

/** What is known of a case that ran, of its whole process. */
export type Measurement = CaseResult & Usage;

// Imported one by one: a library that a case does not need is not in its memory.
const others = {
  bytesAlone: async () => (await import('./read-cases.ts')).bytesAlone,
  fetchAlone: async () => (await import('./read-cases.ts')).fetchAlone,
  fillDuckDb: async () => (await import('./duckdb-cases.ts')).fillDuckDb,
  copyAlone: async () => (await import('./duckdb-cases.ts')).copyAlone,
  parquetjsAlone: async () => (await import('./parquetjs-case.ts')).parquetjsAlone,
};
const own = {
  syncPass: async () => (await import('./sync-cases.ts')).syncPass,
  fillMirror: async () => (await import('./export-cases.ts')).fillMirror,
  exportPersons: async () => (await import('./export-cases.ts')).exportPersons,
};
const cases = { ...others, ...own };
export type CaseName = keyof typeof cases;

const [, , name, parameters = '{}'] = process.argv;
// The program's own flags of the heap are a part of the program. What others would need runs in Node as it comes.
if (Object.hasOwn(own, name ?? '')) await import('../../src/start-up.ts');
const run = await cases[name as CaseName]();
const result = await run(JSON.parse(parameters) as CaseParameters);
process.send?.({ ...result, ...usageOfProcess() } satisfies Measurement);
