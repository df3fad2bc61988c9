import { Pool } from 'undici';
import type { CaseParameters, CaseResult } from './case.ts';
import { personsPath, windowsOf } from './windows.ts';

/** Requests under way at once, as many as the program has by default. */
const inFlight = 4;

/** Every page by the platform's `fetch`, parsed and dropped: the least that any program must do. */
export function fetchAlone({ origin, rows, generation }: CaseParameters): Promise<CaseResult> {
  return readAll(rows, generation, async (path) => (await fetch(`${origin}${path}`)).json());
}

/** Every page by undici's `Pool`, parsed and dropped. */
export async function poolAlone({ origin, rows, generation }: CaseParameters): Promise<CaseResult> {
  const pool = new Pool(origin, { connections: inFlight });
  try {
    return await readAll(rows, generation, async (path) => (await pool.request({ method: 'GET', path })).body.json());
  } finally {
    await pool.destroy();
  }
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
