import type { CaseParameters, CaseResult } from './case.ts';
import { personsPath, windowsOf } from './windows.ts';

/** Requests under way at once, as many as the program has by default. */
const inFlight = 4;

/** The bytes of every page by the platform's `fetch`, dropped: what no program that reads a list can do without. */
export function bytesAlone({ origin, rows, generation }: CaseParameters): Promise<CaseResult> {
  return readAll(rows, generation, async (path) => {
    const { byteLength } = await (await fetch(`${origin}${path}`)).arrayBuffer();
    return { results: Array.from({ length: Math.min(1, byteLength) }) };
  });
}

/** Every page by the platform's `fetch`, parsed and dropped: the least of a program that parses every row. */
export function fetchAlone({ origin, rows, generation }: CaseParameters): Promise<CaseResult> {
  return readAll(rows, generation, async (path) => (await fetch(`${origin}${path}`)).json());
}

async function readAll(
  rows: number,
  generation: number,
  read: (path: string) => Promise<unknown>,
): Promise<CaseResult> {
  const startedAt = performance.now();
  const windows = windowsOf(rows).values();
  const readOn = async (): Promise<void> => {
    for (const window of windows) {
      const page = (await read(personsPath(generation, window))) as { results: unknown[] };
      if (page.results.length === 0) throw new Error('the list ended too early');
    }
  };
  await Promise.all(Array.from({ length: inFlight }, readOn));
  return { ms: performance.now() - startedAt };
}
