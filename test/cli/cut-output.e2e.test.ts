import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from './run-cli.ts';

it('a disk that takes a part of an answer only is told', async () => {
  const out = join(mkdtempSync(join(tmpdir(), 'analytics-mirror-')), 'out.yaml');
  // The system takes what the limit leaves, and refuses the rest when it is written again.
  const cut = await runCli(['config', 'print'], { shell: `ulimit -f 1; exec "$@" > '${out}'` });
  expect(statSync(out).size).toBeGreaterThan(0);
  expect([cut.code, cut.stderr]).toEqual([1, 'error: standard output cannot be written (EFBIG)\n']);
});
