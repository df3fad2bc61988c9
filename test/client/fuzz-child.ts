import '../../src/start-up.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/mirror/database.ts';
import { fuzz, type FuzzPlan } from './fuzz.ts';

// A process of its own, so that its memory can be read from outside: prints what `fuzz` has seen as JSON.
const folder = mkdtempSync(join(tmpdir(), 'mirror-fuzz-'));
const db = openDatabase(folder, systemClock);
try {
  process.stdout.write(JSON.stringify(await fuzz(JSON.parse(process.argv[2] ?? '') as FuzzPlan, db)));
} finally {
  db.close();
  rmSync(folder, { recursive: true, force: true });
}
