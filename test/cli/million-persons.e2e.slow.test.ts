import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it } from 'vitest';
import { runWithin, valueIn, workWithin } from './memory-limit.ts';
import { openWorkspace, unlimited } from './workspace.ts';

const [persons, erased] = [1_000_000, 1_000];

// Only this system tells of other processes in files.
it.runIf(process.platform === 'linux')(
  'a million persons are mirrored and published, and a thousand of them erased, proved gone and certified, by a worker that answers meanwhile, within 768 MB',
  async () => {
    await using workspace = await openWorkspace({ persons, recordings: 1000, hostile: false });
    const { dataDir, folder } = workspace;
    const hasDone = (job: string): void =>
      expect(
        valueIn(dataDir, `SELECT count(*) FROM runs WHERE job = '${job}' AND outcome IN ('done', 'incomplete')`),
      ).toBeGreaterThan(0);
    await workWithin('sync', workspace, ['full'], () => hasDone('full'));
    expect(valueIn(dataDir, `SELECT count(*) FROM persons`)).toBe(persons);
    await workWithin('export', workspace, ['export'], () => hasDone('export'));

    const db = new Sqlite(join(dataDir, 'mirror.db'), { readonly: true });
    const spread = db.prepare<[number], string>(`SELECT uuid FROM persons WHERE row_key % ? = 1`).pluck();
    const uuids = spread.all(persons / erased);
    db.close();
    expect(uuids).toHaveLength(erased);
    const file = join(folder, 'erase.csv');
    writeFileSync(file, `kind,value\n${uuids.map((uuid) => `uuid,${uuid}\n`).join('')}`);
    const settings = [...unlimited, '--set', 'erasure.maxBatch=1000', '--set', 'deletions.confirmations=1'];
    const authority = ['--basis', 'objection', '--by', 'TEST-1', '--keep-events'];
    await runWithin(workspace, ['erase', 'add', ...settings, '--file', file, ...authority]);
    await workWithin(
      'reconcile',
      workspace,
      ['reconcile'],
      () =>
        expect(valueIn(dataDir, `SELECT count(*) FROM erasure_requests WHERE certified_at IS NOT NULL`)).toBe(erased),
      settings,
    );
    expect(valueIn(dataDir, `SELECT count(*) FROM persons`)).toBe(persons - erased);
    await runWithin(workspace, ['audit', 'verify']);
  },
);
