import { readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { runScan } from '../../../src/erasure/scan/run-scan.ts';
import type { ScanOrder } from '../../../src/erasure/scan/scan-task.ts';
import { exportDataset, exportRequest } from '../../export/export-fixture.ts';
import { freshFolder, openTestMirror } from '../../mirror/open-test-mirror.ts';
import { personRow } from '../../snapshot/rows.ts';
import { addPeople, personOf, placesOf, orderedSubjectOf } from './canary.ts';

const canary = personOf('canarybird', 17);
const signal = new AbortController().signal;

function taskFor(dataDir: string, changes: Partial<ScanOrder> = {}): ScanOrder {
  return { dataDir, phase: 'verify', subjects: [orderedSubjectOf(canary)], fence: true, extraPaths: [], ...changes };
}

/** What can be seen of this process's scanners by everybody on the machine: arguments, and environment. */
function scannersSeen(): { argv: string; environment: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const isOurs = new RegExp(`^PPid:\\t${process.pid}$`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'));
        const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        if (!isOurs || !argv.includes('scan-process')) return [];
        return [{ argv, environment: readFileSync(`/proc/${pid}/environ`, 'utf8') }];
      } catch {
        return [];
      }
    });
}

describe('the scanner as a process', () => {
  it('reads a mirror that is open here, and leaves its locks alone', async () => {
    const { db, dataDir } = openTestMirror();
    addPeople(db, [canary]);
    db.exec('BEGIN IMMEDIATE');
    const report = await runScan(taskFor(dataDir), { signal });
    expect(placesOf(report)).toContain('decoded mirror.db:persons.uuid');
    expect(report.unreadable).toEqual([]);
    db.exec('COMMIT');
  });

  it('reads Parquet in a folder that a link leads to', async () => {
    const { db, dataDir } = openTestMirror();
    addPeople(db, [canary]);
    const rows = [personRow(String(canary.row['uuid']), canary.row)];
    const settings = { partRows: 1000, keep: 2, promote: [], mask: [] };
    const { snapshotId } = await exportDataset(exportRequest(dataDir, { dataset: 'persons', rows, settings }));
    const elsewhere = join(freshFolder(), 'elsewhere');
    renameSync(join(dataDir, 'snapshots'), elsewhere);
    symlinkSync(elsewhere, join(dataDir, 'snapshots'));
    const report = await runScan(taskFor(dataDir), { signal });
    expect(report.unreadable).toEqual([]);
    expect(placesOf(report)).toContain(`decoded snapshots/persons/${snapshotId}/part-00001.parquet:person_uuid`);
  });

  it('shows no value of anybody in its arguments, and knows of its environment only the compile cache', async () => {
    enableCompileCache(join(freshFolder(), 'cache'));
    const { db, dataDir } = openTestMirror();
    addPeople(db, [canary]);
    // Enough to do for it to be looked at.
    writeFileSync(join(dataDir, 'large'), Buffer.alloc(200 << 20));
    const running = runScan(taskFor(dataDir), { signal });
    let seen = scannersSeen();
    for (let tries = 0; seen.length === 0 && tries < 200; tries += 1) {
      await delay(10);
      seen = scannersSeen();
    }
    await running;
    expect(seen).toHaveLength(1);
    expect(seen[0]?.argv).not.toContain('canary');
    expect(seen[0]?.argv).not.toContain(dataDir);
    expect(seen[0]?.environment).toMatch(/^NODE_COMPILE_CACHE=[^\0]+\/cache\0?$/);
    expect(scannersSeen()).toEqual([]);
  });

  it('ends at once when it is aborted, with the reason given', async () => {
    const { dataDir } = openTestMirror();
    writeFileSync(join(dataDir, 'large'), Buffer.alloc(300 << 20));
    const abort = new AbortController();
    const running = runScan(taskFor(dataDir), { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('no more')), 100);
    await expect(running).rejects.toThrow('no more');
    expect(scannersSeen()).toEqual([]);
    await expect(runScan(taskFor(dataDir), { signal: abort.signal })).rejects.toThrow('no more');
  });

  it('says that it cannot be started, and leaves no timer that keeps this process', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const [node, before] = [process.execPath, timers()];
    process.execPath = join(freshFolder(), 'gone');
    try {
      await expect(runScan(taskFor(freshFolder()), { signal })).rejects.toMatchObject({
        code: 'storage',
        message: 'the scanner cannot be started (ENOENT)',
      });
    } finally {
      process.execPath = node;
    }
    expect(timers()).toBe(before);
  });

  it('ends when it takes too long', async () => {
    await expect(runScan(taskFor(freshFolder()), { signal, timeoutMs: 20 })).rejects.toMatchObject({
      code: 'storage',
      message: 'the scanner was ended before it had a result',
    });
    expect(scannersSeen()).toEqual([]);
  });

  it('says in one sentence what went wrong, without any value', async () => {
    const wrong = { ...taskFor(freshFolder()), subjects: [{ ...orderedSubjectOf(canary), values: [canary] as never }] };
    const error: unknown = await runScan(wrong, { signal }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'storage', message: 'the scan failed (ZodError)' });
    expect(JSON.stringify(error)).not.toContain('canarybird');
  });
});
