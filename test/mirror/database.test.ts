import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { databasePath, openDatabase } from '../../src/mirror/database.ts';
import { openTestMirror, stillClock } from './open-test-mirror.ts';

const taking = `import Sqlite from 'better-sqlite3';
const db = new Sqlite(process.argv[1], { timeout: 0 });
db.pragma('locking_mode = EXCLUSIVE');
db.prepare('SELECT count(*) FROM persons').get();
console.log('taken');`;

/** What another program hears that wants the file for itself, as each does that closes it last. */
function takeFile(path: string): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', taking, path], {
    encoding: 'utf8',
  });
  return /SQLITE_\w+/.exec(stderr)?.[0] ?? stdout.trim();
}

it('a file that has connections is never another program’s alone, however many are opened and closed', () => {
  const { db, dataDir } = openTestMirror();
  const path = databasePath(dataDir);
  const second = openDatabase(dataDir, stillClock);
  expect(takeFile(path)).toBe('SQLITE_BUSY');
  second.close();
  expect(takeFile(path)).toBe('SQLITE_BUSY');
  db.close();
  expect(takeFile(path)).toBe('taken');
});
