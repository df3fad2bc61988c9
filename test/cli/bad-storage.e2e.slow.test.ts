import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { databasePath } from '../../src/mirror/database.ts';
import { smallDisks } from './small-disks.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 4000, recordings: 4 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** A new folder below the test's own, with a file named mirror.db in it. */
function folderWith(name: string, write: (path: string) => void): string {
  const folder = join(workspace.folder, name);
  mkdirSync(folder, { mode: 0o700 });
  write(databasePath(folder));
  return folder;
}

function execSql(path: string, sql: string): void {
  const db = new Sqlite(path);
  db.exec(sql);
  db.close();
}

describe.concurrent('a mirror.db that is not ours', () => {
  it.each([
    [
      'garbage',
      (path: string) => writeFileSync(path, 'no database. '.repeat(500)),
      'is damaged or not a SQLite database',
    ],
    [
      'foreign',
      (path: string) => execSql(path, 'CREATE TABLE notes (text); INSERT INTO notes VALUES (1)'),
      'belongs to another program',
    ],
  ])('is refused and left as it is: %s', async (name, write, words) => {
    const folder = folderWith(name, write);
    const before = readFileSync(databasePath(folder));
    for (const command of ['sync', 'status', 'doctor']) {
      const { code, stdout, stderr } = await workspace.run([command, '--data-dir', folder, '--log-level', 'error']);
      expect(code).toBe(1);
      // The doctor's findings are its result, whatever they are.
      expect(command === 'doctor' ? stdout : stderr).toContain(`mirror.db ${words}`);
      expect(stderr).toMatch(command === 'doctor' ? /^$/ : /^error: [^\n]+\n {2}[^\n]+\n$/);
    }
    expect(readFileSync(databasePath(folder))).toEqual(before);
    expect(readdirSync(folder)).toEqual(['mirror.db']);
  });

  it('is refused when a newer version wrote it', async () => {
    const args = ['--data-dir', join(workspace.folder, 'newer')];
    expect((await workspace.run(['sync', 'recordings', ...args])).code).toBe(0);
    execSql(
      databasePath(join(workspace.folder, 'newer')),
      `INSERT INTO schema_migrations (version, name, digest, applied_at) VALUES (9000, '9000-later.sql', '-', '-')`,
    );
    for (const command of ['sync', 'status']) {
      const { code, stdout, stderr } = await workspace.run([command, ...args]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toBe(
        'error: mirror.db was written by a newer version of analytics-mirror\n  update the program, and restart its worker; an older one cannot read it safely\n',
      );
    }
  });
});

describe.concurrent('a data folder that cannot be one', () => {
  it.each([
    ['a file', () => databasePath(folderWith('file', (path) => writeFileSync(path, 'x'))), 'is a file'],
    [
      'below a file',
      () => join(databasePath(folderWith('below', (path) => writeFileSync(path, 'x'))), 'data'),
      'ENOTDIR',
    ],
    ['in a read-only file system', () => '/proc/analytics-mirror', 'ENOENT'],
  ])('is refused: %s', async (_name, dataDir, words) => {
    const { code, stdout, stderr } = await workspace.run(['sync', '--data-dir', dataDir()]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: the data folder [^\n]+\n {2}[^\n]*MIRROR_DATA_DIR[^\n]*\n$/);
    expect(stderr).toContain(words);
  });

  it('has no mirror yet', async () => {
    const dataDir = join(workspace.folder, 'nowhere');
    for (const command of [['status'], ['export'], ['query', 'SELECT 1']]) {
      const { code, stdout, stderr } = await workspace.run([...command, '--data-dir', dataDir]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^error: there is no mirror .*nowhere\/mirror\.db\n {2}run `analytics-mirror sync`/);
    }
    expect(existsSync(dataDir)).toBe(false);
  });
});

it('SQL that writes, or is wrong, is refused and changes nothing', async () => {
  const dataDir = join(workspace.folder, 'queried');
  expect((await workspace.run(['sync', 'recordings', '--data-dir', dataDir])).code).toBe(0);
  const before = readFileSync(databasePath(dataDir));
  const refused = [
    'DELETE FROM recordings',
    'DELETE FROM recordings RETURNING id',
    `VACUUM INTO '${workspace.folder}/copy.db'`,
    'SELECT * FROM nonsense',
    'SELECT 1; SELECT 2',
  ];
  const endings = await Promise.all(refused.map((sql) => workspace.run(['query', sql, '--data-dir', dataDir])));
  for (const { code, stdout, stderr } of endings) {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error: [^\n]+\n {2}[^\n]+\n$/);
  }
  expect(readFileSync(databasePath(dataDir))).toEqual(before);
  expect(existsSync(join(workspace.folder, 'copy.db'))).toBe(false);
});

/** What is said without room: by the sync, then by the export. */
const sentences = {
  'a limit on the size of files':
    /^error: the disk answers with errors \(.*\n {2}.*\nerror: cannot write a Parquet file: .*\n {2}.*\n$/,
  'a full disk':
    /^error: the disk is full \(SQLITE_FULL\): .*\n {2}.*\nerror: cannot write a Parquet file: the disk is full\n {2}.*\n$/,
} as const;

it.concurrent.each(smallDisks)(
  '$name costs nothing that was there, and room is all it takes to go on',
  async (disk) => {
    const dataDir = join(workspace.folder, disk.name.replaceAll(' ', '-'));
    mkdirSync(dataDir, { mode: 0o700 });
    const script = `set -- "$@" --log-level error --set alerts.diskFreeBytesMin=0
    "$@" sync persons --set sync.windowsMax=1 > /dev/null; echo "before: $?"
    fill 1000000; "$@" sync; echo "sync without room: $?"
    "$@" query "SELECT count(*) >= 1000 AS kept FROM persons"
    free; "$@" sync > /dev/null; echo "sync: $?"; "$@" export persons > /dev/null; echo "published: $?"
    fill 250000; "$@" export persons --set 'export.promote=["plan"]'; echo "export without room: $?"
    free; "$@" status | grep -o "^persons  *4,000 "; "$@" export > /dev/null; echo "export: $?"
    "$@" query "SELECT count(*) AS persons, (SELECT count(*) FROM quarantine) AS quarantine FROM persons"`;
    const { code, stdout, stderr } = await workspace.run([...unlimited, '--set', 'persons.overlap=20'], {
      shell: disk.around(script),
      env: { MIRROR_DATA_DIR: dataDir },
      timeoutMs: 120_000,
    });
    expect(stderr).toMatch(sentences[disk.name]);
    expect({ code, said: stdout.trimEnd().split(/\s*\n/) }).toEqual({
      code: 0,
      said: [
        'before: 4',
        'sync without room: 1',
        'kept',
        '1',
        'sync: 0',
        'published: 0',
        'export without room: 1',
        // The snapshot that was there is still the current one.
        expect.stringMatching(/^persons +4,000$/),
        'export: 0',
        'persons  quarantine',
        '4000     0',
      ],
    });
  },
);

it('a disk with less room than alerts.diskFreeBytesMin is left alone, and doctor says so', async () => {
  const dataDir = join(workspace.folder, 'low');
  const run = (args: readonly string[], set: readonly string[] = []) =>
    workspace.run([...args, ...unlimited, '--data-dir', dataDir, '--log-level', 'error', ...set]);
  const low = ['--set', 'alerts.diskFreeBytesMin=1000000000000000'];
  expect(await run(['sync', '--set', 'alerts.diskFreeBytesMin=0'])).toMatchObject({ code: 0 });
  for (const args of [['sync'], ['export'], ['reconcile']]) {
    const { code, stderr } = await run(args, low);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^error: only .+ are free on the disk of the data folder, less than alerts.diskFreeBytesMin \(1000 TB\)\n {2}free some space/,
      ) as string,
    });
  }
  expect((await run(['doctor'], low)).stdout).toMatch(/failed +disk/);
  expect((await run(['doctor'], ['--set', 'alerts.diskFreeBytesMin=0'])).stdout).toMatch(/ok +disk/);
  expect(await run(['query', 'SELECT count(*) > 0 AS kept FROM persons'], low)).toMatchObject({ code: 0 });
  expect((await run(['query', "SELECT reason FROM runs WHERE outcome = 'failed' GROUP BY 1"])).stdout).toMatch(
    /disk_low/,
  );
});

it('where too few files may be open, a run says so and ends before it begins', async () => {
  const ended = await workspace.run(['reconcile', '--data-dir', join(workspace.folder, 'few')], {
    shell: 'ulimit -n 40; exec "$@"',
  });
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^error: too many files are open \(EMFILE\)/) });
});

it('what a terminal is shown cannot steer it, and is the same value as JSON', async () => {
  const dataDir = join(workspace.folder, 'shown');
  expect(await workspace.run(['sync', 'recordings', ...unlimited, '--data-dir', dataDir])).toMatchObject({ code: 0 });
  const sql = `SELECT char(0x9b) || '31m' || char(0x202e) AS "h\u001b[31m\u2066"`;
  const run = (...more: string[]) => workspace.run(['query', sql, '--data-dir', dataDir, ...more]);
  expect((await run()).stdout).toBe('h [31m\n 31m\n');
  const { stdout } = await run('--json');
  expect(stdout).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(stdout)).toMatchObject({ columns: ['h\u001b[31m\u2066'], rows: [['\u009b31m\u202e']] });
});
