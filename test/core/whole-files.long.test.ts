import { spawnSync } from 'node:child_process';
import { mkdirSync, openSync, closeSync, ftruncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRegularFile, readWholeFile } from '../../src/core/folder.ts';
import { readKey } from '../../src/core/secret-key.ts';
import { readReceipt } from '../../src/erasure/request/receipt.ts';
import { readCertificateFile } from '../../src/erasure/proof/certificate-file.ts';
import { decodeJson } from '../../src/erasure/scan/decode-files.ts';
import { readKnownFile } from '../../src/erasure/scan/known-formats.ts';
import { readCheckpointFile, readTimeStampFiles } from '../../src/ledger/checkpoint.ts';
import { readLedger } from '../../src/ledger/ledger.ts';
import { ledgerFolder } from '../../src/ledger/entry-file.ts';
import { publishedFilesIn } from '../../src/snapshot/published-files.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';

const gigabyte = 2 ** 30;
const snapshot = { dataset: 'persons', snapshotId: '20261120T120000000Z' };

/** Makes a file of a gigabyte without blocks on the disk. */
function makeSparse(path: string): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const descriptor = openSync(path, 'w', 0o600);
  ftruncateSync(descriptor, gigabyte);
  closeSync(descriptor);
  return path;
}

/** Every reader of a file that this program writes and reads as a whole: its file in the data folder, and the reading. */
const readers: [string, string, (dataDir: string, path: string) => unknown][] = [
  [
    'a manifest',
    `snapshots/persons/${snapshot.snapshotId}/manifest.json`,
    (dataDir) => publishedFilesIn(dataDir).readManifest(snapshot),
  ],
  ['CURRENT', 'snapshots/CURRENT.json', (dataDir) => publishedFilesIn(dataDir).readCurrent()],
  [
    'a manifest, as a scan reads it',
    `snapshots/persons/${snapshot.snapshotId}/manifest.json`,
    (_dataDir, path) => readKnownFile({ path, place: `snapshots/persons/${snapshot.snapshotId}/manifest.json` }),
  ],
  ['a key', 'keys/box.key', (dataDir) => readKey(dataDir, 'box.key')],
  ['a receipt', 'receipt.json', (_dataDir, path) => readReceipt(path)],
  [
    'a certificate',
    'reports/certificates/0190c0de-0000-7000-8000-000000000001-g1.json',
    (dataDir) => readCertificateFile(dataDir, '0190c0de-0000-7000-8000-000000000001', 1),
  ],
  [
    'the text of a checkpoint',
    'ledger/checkpoints/000000001.txt',
    (dataDir) => readCheckpointFile(ledgerFolder(dataDir), 1),
  ],
  ['a time stamp', 'ledger/time-stamps/a.tst', (dataDir) => readTimeStampFiles(ledgerFolder(dataDir))],
  ['a page or a report', 'reports/drill.json', (_dataDir, path) => readRegularFile(path)],
  [
    'a file of JSON lines, as a scan reads it',
    'lines.jsonl',
    (_dataDir, path) => decodeJson({ path, place: 'lines.jsonl', problem: null }, {} as never),
  ],
  [
    'a file of JSON, as a scan reads it',
    'any.json',
    (_dataDir, path) => decodeJson({ path, place: 'any.json', problem: null }, {} as never),
  ],
  ['the ledger', 'ledger/entries.jsonl', (dataDir) => readLedger(dataDir)],
];

describe('a gigabyte in the place of a file of this program is refused in one sentence, and not held in memory', () => {
  it.each(readers)('%s', async (_what, place, read) => {
    const dataDir = temporaryFolder();
    const path = makeSparse(join(dataDir, place));
    const before = process.memoryUsage();
    const error: unknown = await Promise.resolve()
      .then(() => read(dataDir, path))
      .then(
        () => 'it was read',
        (reason: unknown) => reason,
      );
    const after = process.memoryUsage();
    expect(error).toMatchObject({
      message: expect.stringMatching(/(?:has more|is longer) than \d+ bytes|that is no receipt/),
    });
    expect(after.rss - before.rss).toBeLessThan(160 * 1024 * 1024);
  });
});

it('a manifest of a gigabyte has the digest of none, so that it is found to differ and mended', () => {
  const dataDir = temporaryFolder();
  makeSparse(join(dataDir, `snapshots/persons/${snapshot.snapshotId}/manifest.json`));
  expect(publishedFilesIn(dataDir).digestOfManifest(snapshot)).toBe('');
});

it('a file of the greatest size is read, and one of a byte more is not', () => {
  const path = join(temporaryFolder(), 'file');
  writeFileSync(path, 'x'.repeat(100));
  expect(readWholeFile(path, 100).toString()).toBe('x'.repeat(100));
  expect(() => readWholeFile(path, 99)).toThrow(
    `${path} has more than 99 bytes, and is no file that this program wrote`,
  );
});

it('a line of fifty megabytes is read by no scan as one, and longer lines than that in all are', async () => {
  const dataDir = temporaryFolder();
  const [long, short] = ['long.jsonl', 'short.jsonl'].map((name) => join(dataDir, name)) as [string, string];
  writeFileSync(long, `{}\n"${'x'.repeat(50_000_000)}"\n{}\n`);
  writeFileSync(short, `"${'x'.repeat(1_000_000)}"\n`.repeat(20));
  let values = 0;
  const judge = { takeJson: () => (values += 1) } as never;
  await expect(decodeJson({ path: long, place: 'long.jsonl', problem: null }, judge)).rejects.toMatchObject({
    code: 'storage',
    message: 'a line has more than 16777216 bytes',
  });
  values = 0;
  await decodeJson({ path: short, place: 'short.jsonl', problem: null }, judge);
  expect(values).toBe(20);
});

it.runIf(process.platform !== 'win32')(
  'neither a pipe without a writer nor a device without an end keeps a reader',
  () => {
    const pipe = join(temporaryFolder(), 'pipe');
    spawnSync('mkfifo', [pipe]);
    expect(readWholeFile(pipe).length).toBe(0);
    expect(() => readWholeFile('/dev/zero')).toThrow(/has more than/);
  },
);
