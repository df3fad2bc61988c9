import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sha256 } from '../../src/core/digest.ts';
import { sshFingerprint } from '../../src/core/ssh-signature.ts';
import { readAttestation } from '../../src/erasure/attest.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';

const table = { table: 'mart.events', control: 1, deleted: 2, left: 0, memory: { dead_rows: 0 } };
const good = { report: 1, consumer: 'warehouse', engine: 'postgres', epoch: 3, tables: [table] };

function keyIn(folder: string, name: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'wh@example', '-f', join(folder, name)]);
  return readFileSync(join(folder, `${name}.pub`), 'utf8').trim();
}

function signed(folder: string, key: string, report: unknown, namespace = 'analytics-mirror') {
  const path = join(folder, 'report.json');
  const text = typeof report === 'string' ? report : `${JSON.stringify(report)}\n`;
  writeFileSync(path, text);
  execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', namespace, '-f', join(folder, key), path], { stdio: 'pipe' });
  const signature = readFileSync(`${path}.sig`, 'utf8');
  execFileSync('rm', [`${path}.sig`]);
  return { report: Buffer.from(text), signature, consumer: 'warehouse' };
}

test('a report that the consumer signed is read, and says which tables it does not cover', () => {
  const folder = freshFolder();
  const signer = keyIn(folder, 'own');
  const given = signed(folder, 'own', good);
  expect(readAttestation(given, [{ consumer: 'warehouse', signer, tables: ['orders', 'mart.events'] }])).toEqual({
    epoch: 3,
    seen: {
      assurance: 'attested',
      report: sha256(given.report),
      signer: sshFingerprint(signer),
      tables: ['mart.events'],
      not_covered: ['orders'],
    },
  });
  const listed = execFileSync('ssh-keygen', ['-l', '-f', join(folder, 'own.pub')], { encoding: 'utf8' });
  expect(Buffer.from(sshFingerprint(signer), 'hex').toString('base64')).toContain(listed.split(/[: ]/)[2]);
});

test('a report that proves nothing is refused, and says in a sentence why', () => {
  const folder = freshFolder();
  const own = keyIn(folder, 'own');
  keyIn(folder, 'other');
  const fence = [{ consumer: 'warehouse', signer: own, tables: [] }];
  const reasonOf = (given: ReturnType<typeof signed>, by = fence as Parameters<typeof readAttestation>[1]): string => {
    try {
      readAttestation(given, by);
      return 'read';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const whole = signed(folder, 'own', good);
  expect(reasonOf(whole)).toBe('read');
  const wrong = 'the signature is not of this report and the key of this consumer';
  expect(reasonOf(signed(folder, 'other', good))).toBe(wrong);
  expect(reasonOf(signed(folder, 'own', good, 'file'))).toBe(wrong);
  expect(reasonOf({ ...whole, report: Buffer.from(`${JSON.stringify(good)} \n`) })).toBe(wrong);
  const bytes = Buffer.from(whole.signature.split('\n').slice(1, -2).join(''), 'base64');
  for (const at of [0, 9, 12, 30, 60, 90, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const signature = `-----BEGIN SSH SIGNATURE-----\n${changed.toString('base64')}\n-----END SSH SIGNATURE-----\n`;
    expect(reasonOf({ ...whole, signature })).toBe(wrong);
    const cut = bytes.subarray(0, at).toString('base64');
    const short = `-----BEGIN SSH SIGNATURE-----\n${cut}\n-----END SSH SIGNATURE-----\n`;
    expect(reasonOf({ ...whole, signature: short })).toBe(wrong);
  }
  const noKey = 'export.fence names no key that signs for this consumer';
  expect(reasonOf(whole, [])).toBe(noKey);
  expect(reasonOf(whole, [{ consumer: 'warehouse', signer: null, tables: [] }])).toBe(noKey);
  const of = (report: unknown): string => reasonOf(signed(folder, 'own', report));
  expect(of({ ...good, consumer: 'crm' })).toBe('the report is of another consumer');
  expect(of({ ...good, more: 1 })).toBe('the file is no report of `erase kit`');
  expect(of('not JSON')).toBe('the file is no report of `erase kit`');
  const blind = 'the report proves nothing: its control row was not found in mart.events';
  expect(of({ ...good, tables: [{ ...table, control: 0 }] })).toBe(blind);
  expect(of({ ...good, tables: [{ ...table, control: null }] })).toBe(blind);
  expect(of({ ...good, epoch: null })).toBe('the report proves nothing: its control row was not found');
  expect(of({ ...good, tables: [table, { ...table, table: 'orders', left: 1 }] })).toBe(
    'erased people are left in orders',
  );
});
