import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sha256 } from '../../src/core/digest.ts';
import type { LivingPerson } from '../../src/sandbox/store/truth.ts';
import { assertDiscreet } from './discreet-run.ts';
import { jsonOf } from './run-cli.ts';
import { serviceOfEarlier } from './service-of-earlier.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
let person: LivingPerson;
let other: LivingPerson;
let request = '';
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 40, recordings: 0, ...serviceOfEarlier });
  const [first, second] = [...workspace.sandbox.living()];
  if (!first || !second) throw new Error('nobody lives');
  [person, other] = [first, second];
});
afterAll(() => workspace[Symbol.asyncDispose]());

const quick = [...unlimited, '--set', 'deletions.confirmAfterSeconds=0'];
const receipts = (): string => join(workspace.folder, 'receipts');

/** The result of a command that has to end with 0, or with the code given. */
async function run(args: readonly string[], code = 0): Promise<Record<string, unknown>> {
  const ended = await workspace.run([...args, '--json']);
  if (ended.code !== code) throw new Error(`${args.slice(0, 2).join(' ')} ended with ${ended.code}: ${ended.stderr}`);
  return jsonOf(ended) as Record<string, unknown>;
}

it('a request goes from its receipt to its certificate', async () => {
  await run(['sync', ...quick]);
  await run(['export', ...quick]);
  const who = join(workspace.folder, 'who.csv');
  writeFileSync(who, `uuid,${person.uuid}\n`);
  const added = await run([
    'erase',
    'add',
    '--file',
    who,
    '--basis',
    'objection',
    '--by',
    'dpo',
    '--receipts',
    receipts(),
    ...quick,
  ]);
  [{ id: request }] = added['requests'] as [{ id: string }];
  expect(added['receipts']).toEqual([join(receipts(), `receipt-${request}.json`)]);
  const again = join(workspace.folder, 'again.json');
  await run(['erase', 'receipt', request.slice(0, 8), '--out', again, ...quick]);
  expect(readFileSync(again, 'utf8')).toBe(readFileSync(join(receipts(), `receipt-${request}.json`), 'utf8'));
  await run(['erase', 'receipt', request, '--out', join(workspace.dataDir, 'x.json'), ...quick], 2);
  for (let round = 0; round < 4; round += 1) await run(['reconcile', ...quick]);
  await run(['erase', 'receipt', request, '--out', join(workspace.folder, 'late.json'), ...quick], 2);

  const { certificate, sha256: digest, file } = await run(['audit', 'certificate', request.slice(0, 8)]);
  expect(certificate).toMatchObject({ request, generation: 1, is_late: false, weakest_assurance: 'not_verifiable' });
  const bytes = readFileSync(join(workspace.dataDir, 'reports/certificates', `${request}-g1.json`), 'utf8');
  expect(sha256(bytes)).toBe(digest);
  const printed = await workspace.run(['audit', 'certificate', request, '--format', 'json']);
  expect(printed.stdout).toBe(bytes);
  expect(readFileSync(String(file), 'utf8')).toContain('<h2 id="limits">');
});

it('its receipt shows whom it is about, to its holder only', async () => {
  const receipt = join(receipts(), `receipt-${request}.json`);
  expect(statSync(receipt).mode & 0o777).toBe(0o600);
  expect(await run(['audit', 'open', receipt, '--uuid', person.uuid])).toMatchObject({
    request,
    verdict: 'is_about',
    certificates: [{ generation: 1, file: 'sound' }],
  });
  expect(await run(['audit', 'open', receipt, '--uuid', other.uuid], 4)).toMatchObject({ verdict: 'is_not_about' });
});

it('a report is written as page and CSV, and printed as JSON', async () => {
  expect(await run(['audit', 'report'])).toMatchObject({ totals: { received: 1, complete: 1, late: 0 } });
  const written = await workspace.run(['audit', 'report']);
  const [, path = ''] = /written to (.*)\n$/.exec(written.stdout) ?? [];
  expect(path).toMatch(/reports\/audit-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.html$/);
  expect(readFileSync(path, 'utf8')).toContain(request);
  const csv = join(workspace.folder, 'report.csv');
  expect((await workspace.run(['audit', 'report', '--format', 'csv', '--out', csv])).code).toBe(0);
  expect(readFileSync(csv, 'utf8').split('\r\n')[0]).toContain('request,generation,origin');
  expect(await run(['audit', 'report', '--from', '2026-02-30'], 2)).toMatchObject({ error: { code: 'usage' } });
  expect(await run(['audit', 'report', '--from', '2026-02-02', '--to', '2026-02-01'], 2)).toMatchObject({
    error: { code: 'usage' },
  });
});

it('everything verifies against a kept checkpoint, until something is changed', async () => {
  const kept = join(workspace.folder, 'checkpoint.txt');
  const printed = await workspace.run(['audit', 'checkpoint', '--out', kept]);
  expect(printed.stdout).toBe(readFileSync(kept, 'utf8'));
  expect(printed.stdout.split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(/^analytics-mirror\/[0-9a-f]{32}$/),
    expect.stringMatching(/^\d+$/),
    expect.stringMatching(/^[A-Za-z0-9+/]{43}=$/),
  ]);
  const keys = join(workspace.dataDir, 'ledger/public-keys.txt');
  const verify = ['audit', 'verify', '--checkpoint', kept, '--public-key', keys];
  // The pages that this story has written show what was so when they were made.
  const notes = [expect.stringMatching(/^reports\/: /)];
  expect(await run(verify)).toMatchObject({ ok: true, certificates: 1, problems: [], notes });
  const path = join(workspace.dataDir, 'reports/certificates', `${request}-g1.json`);
  const bytes = readFileSync(path, 'utf8');
  writeFileSync(path, bytes.replace('"is_late":false', '"is_late":true'));
  const changed = await workspace.run(verify);
  expect(changed.code).toBe(1);
  expect(changed.stdout).toContain(`WRONG  certificate ${request}-g1.json: it is not the one on the ledger\n`);
  writeFileSync(path, bytes);
  const [mirror, away] = [join(workspace.dataDir, 'mirror.db'), join(workspace.folder, 'mirror.db')];
  renameSync(mirror, away);
  const without = await workspace.run(verify);
  expect([without.code, without.stdout.split('\n').at(-2)]).toEqual([
    0,
    'all that was checked is as it should be; the tables of mirror.db were not',
  ]);
  writeFileSync(mirror, 'x'.repeat(120_000), { mode: 0o600 });
  expect((await workspace.run(verify)).code).toBe(1);
  renameSync(away, mirror);
});

it('no text of the person stands in ledger, certificates, reports or receipts', () => {
  const canaries = [
    person.uuid,
    ...person.distinct_ids,
    ...Object.values(JSON.parse(person.properties) as Record<string, unknown>).filter(
      (value) => typeof value === 'string' && value.length > 8,
    ),
  ].map(String);
  expect(canaries.length).toBeGreaterThan(person.distinct_ids.length + 1);
  assertDiscreet(workspace.dataDir, canaries);
  const receipt = readFileSync(join(receipts(), `receipt-${request}.json`), 'utf8');
  expect(canaries.filter((canary) => receipt.includes(canary))).toEqual([]);
});
