import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { playTables } from './table-world.ts';

const datasets = ['persons', 'distinct_ids', 'deletions'] as const;

test('whatever happens to the mirror, every table is what was published, and nobody erased is in it', async () => {
  const { delta, erase, lookedBack, restore } = await playTables(25, 24, datasets);
  expect(delta).toBeGreaterThan(10);
  expect(erase).toBeGreaterThan(10);
  expect(lookedBack).toBeGreaterThan(10);
  expect(restore).toBeGreaterThan(5);
});

// `.ci/engines` names a Python that has pyiceberg and DuckDB.
const python = process.env['ENGINES_PYTHON'];

test.runIf(python)('pyiceberg and DuckDB find the same rows, whatever happens', async () => {
  const engines = spawn(python ?? '', ['test/interop/read-tables.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void engines.kill());
  const lines = createInterface(engines.stdout)[Symbol.asyncIterator]();
  const { others } = await playTables(8, 16, datasets, async (folder) => {
    engines.stdin.write(`${folder}\n`);
    // None follows where they have ended: then this throws.
    const { value: line = '' } = await lines.next();
    return JSON.parse(line) as Record<string, unknown>[][][];
  });
  expect(others).toBeGreaterThan(50);
});
