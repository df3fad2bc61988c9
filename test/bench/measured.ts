import { writeFileSync } from 'node:fs';
import { usageOfProcess } from './usage.ts';

// Loaded before the program's own entry: when the command has ended, its usage stands in the file that BENCH_RESULT names.
process.once('exit', () => {
  const path = process.env['BENCH_RESULT'];
  if (path !== undefined) writeFileSync(path, JSON.stringify(usageOfProcess()));
});
