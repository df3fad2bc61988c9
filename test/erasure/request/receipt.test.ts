import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nobody } from '../../../src/contract/identity.ts';
import { closeBox, newBox, subjectMac, type Box, type GivenIdentifier } from '../../../src/erasure/request/box.ts';
import {
  isAbout,
  keysOf,
  readReceipt,
  refuseInside,
  signReceipts,
  writeReceipts,
  type Receipt,
} from '../../../src/erasure/request/receipt.ts';
import { openReceipt } from '../../../src/audit/open-receipt.ts';
import { openLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import { insertRequest } from '../../../src/mirror/erasure-requests.ts';
import { verify, verifyBundle } from '../../../docs/verifier/verify.mjs';
import { lifeOf, plantKeys, requestId, tickingClock } from '../../ledger/ledger-fixture.ts';
import { freshFolder, openTestMirror } from '../../mirror/open-test-mirror.ts';

const ann: GivenIdentifier = { kind: 'email', value: 'ann@canary.example' };
const joann: GivenIdentifier = { kind: 'email', value: 'joann@canary.example' };

/** A mirror and a ledger with one request for Ann, whose box has a key of its own where asked. */
function received({ boxOfItsOwn = false } = {}) {
  const { db, dataDir } = openTestMirror();
  plantKeys(dataDir);
  const ledger: Ledger = openLedger(dataDir, tickingClock());
  const box = newBox([ann], nobody);
  const [record] = lifeOf(1, 1)[0] ?? [];
  if (record?.type !== 'received') throw new Error('a life that begins otherwise');
  ledger.append([{ ...record, subject: subjectMac(box) }]);
  const kept: Box = boxOfItsOwn ? newBox([ann], nobody) : box;
  insertRequest(db, {
    id: requestId(1),
    generation: 1,
    isAccess: false,
    origin: 'manual',
    basis: 'objection',
    authorisedBy: null,
    deleteEvents: true,
    receivedAt: '2026-11-20T12:00:01.000Z',
    dueAt: record.due_at,
    box: closeBox({ db, settings: { dataDir } }, requestId(1), kept),
  });
  return { dataDir, ledger, context: { db, ledger: () => ledger, settings: { dataDir } } as never };
}

it('a distinct id with a newline passes for no list of two identifiers', () => {
  const victim: GivenIdentifier = { kind: 'email', value: 'victim@example.com' };
  const hostile: GivenIdentifier = { kind: 'distinct_id', value: 'a\nemail,victim@example.com' };
  const box = newBox([hostile], nobody);
  const receipt = { subject_key: box.subjectKey };
  const subject = subjectMac(box);
  expect(isAbout(receipt, subject, [hostile])).toBe(true);
  expect(isAbout(receipt, subject, [{ kind: 'distinct_id', value: 'a' }, victim])).toBe(false);
  expect(isAbout(receipt, subject, [victim])).toBe(false);
  const quoted = newBox([{ kind: 'distinct_id', value: 'a"],["email","victim@example.com' }], nobody);
  const two = { ...quoted, given: [{ kind: 'distinct_id', value: 'a' } as const, victim] };
  expect(subjectMac(quoted)).not.toBe(subjectMac(two));
});

it('a receipt is opened by any spelling of the address, and by none of another distinct id', () => {
  const box = newBox([{ kind: 'email', value: 'Zo\u00eb@X.example' }], nobody);
  const receipt = { subject_key: box.subjectKey };
  const subject = subjectMac(box);
  for (const value of ['Zo\u00eb@X.example', 'zoe\u0308@x.example', ' ZO\u00cb@x.example\u00a0'])
    expect(isAbout(receipt, subject, [{ kind: 'email', value }])).toBe(true);
  expect(isAbout(receipt, subject, [{ kind: 'email', value: 'zoe@x.example' }])).toBe(false);
  const id = newBox([{ kind: 'distinct_id', value: 'abc ' }], nobody);
  const macOfId = subjectMac(id);
  for (const value of ['abc', 'Abc ', 'abc '])
    expect(isAbout({ subject_key: id.subjectKey }, macOfId, [{ kind: 'distinct_id', value }])).toBe(value === 'abc ');
});

it('a receipt and the identifier show which entry is about them, and nothing else does', () => {
  const { dataDir, ledger, context } = received();
  const [path = ''] = writeReceipts(
    join(freshFolder(), 'receipts'),
    signReceipts(context, keysOf(context, [requestId(1)])),
  );
  expect(path).toMatch(new RegExp(`receipt-${requestId(1)}\\.json$`));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const receipt = readReceipt(path);
  expect(JSON.stringify(receipt)).not.toContain('canary');
  const open = (given: GivenIdentifier[], using = receipt) => openReceipt(dataDir, ledger, using, given);
  expect(open([ann])).toMatchObject({ verdict: 'is_about', received: { entry: 0 }, certificates: [] });
  expect(open([joann, ann]).verdict).toBe('is_about');
  expect(open([joann]).verdict).toBe('is_not_about');
  expect(open([{ ...ann, kind: 'distinct_id' }]).verdict).toBe('is_not_about');
  expect(open([ann], { ...receipt, subject_key: 'a'.repeat(64) }).verdict).toBe('is_not_about');
  expect(open([ann], { ...receipt, request: requestId(2) }).verdict).toBe('unknown_request');
  expect(open([ann], { ...receipt, ledger: 'analytics-mirror/other' }).verdict).toBe('other_ledger');
});

/** A receipt of Ann's request, a second one after the key was rotated, and the ledger that they are on. */
function signed() {
  const { dataDir, ledger, context } = received();
  const receipts = [
    signReceipts(context, keysOf(context, [requestId(1)])),
    (ledger.rotateKey(), signReceipts(context, keysOf(context, [requestId(1)]))),
  ].flat();
  return { dataDir, ledger, context, receipts };
}

const textOf = (receipt: unknown): string => `${JSON.stringify(receipt, null, 2)}\n`;

it('receipts are signed without reading the ledger again', () => {
  const { context, ledger } = received();
  const entries = () => {
    throw new Error('the ledger is read again');
  };
  const own: typeof context = Object.assign({}, context, { ledger: () => ({ ...ledger, entries }) });
  expect(signReceipts(own, keysOf(own, [requestId(1)]))).toHaveLength(1);
});

it('a receipt is the same when it is written again, and proves its entry alone', () => {
  const { dataDir, receipts } = signed();
  const [first, second] = receipts.map(textOf);
  expect(second).toBe(first);
  const keys = readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8').split('\n').slice(0, 1).join('');
  expect(verifyBundle({ text: first ?? '', publicKey: `${keys}\n` })).toEqual({
    ok: true,
    entries: 1,
    problems: [],
    warnings: [],
  });
});

it('a receipt is never under a checkpoint that its key has not signed', () => {
  const { dataDir, ledger, context } = received();
  const keys = keysOf(context, [requestId(1)]);
  const { text } = ledger.checkpoint();
  const planted = join(dataDir, 'ledger/checkpoints/000000001.txt');
  // Its root is right, so that the ledger opens.
  writeFileSync(
    planted,
    text.replace(/(?<= )[^ ]{20}(?=[^ ]+\n$)/, (id) => `${id.slice(0, 12)}AAAAAAAA`),
  );
  expect(() => signReceipts(context, keys)).toThrow('checkpoint 000000001 is not signed with its key');
  ledger.append(lifeOf(2, 2)[0]?.slice(0, 1) ?? []);
  const [receipt] = signReceipts(context, keys);
  expect(verifyBundle({ text: textOf(receipt) })).toMatchObject({ ok: true, problems: [] });
});

it('a receipt of a request after a rotation proves the key too', () => {
  const { ledger, context, dataDir } = received();
  const [record] = lifeOf(2, 2)[0] ?? [];
  if (record?.type !== 'received') throw new Error('a life that begins otherwise');
  ledger.checkpoint();
  ledger.rotateKey();
  const box = newBox([joann], nobody);
  ledger.append([{ ...record, subject: subjectMac(box) }]);
  const [receipt] = signReceipts(context, [{ request: requestId(2), subjectKey: box.subjectKey }]);
  if (!receipt) throw new Error('no receipt');
  expect(verifyBundle({ text: textOf(receipt) })).toMatchObject({ ok: true, entries: 2 });
  expect(openReceipt(dataDir, ledger, receipt, [joann]).verdict).toBe('is_about');
});

it('verifier and program refuse a receipt of which anything was changed, and each of its bytes is covered', () => {
  const { dataDir, ledger, receipts } = signed();
  const [receipt] = receipts;
  if (!receipt) throw new Error('no receipt');
  const later = new Date(Date.parse(receipt.received_at) - 365 * 86_400_000).toISOString();
  const [entry] = receipt.entries;
  const others: Receipt[] = [
    { ...receipt, received_at: later },
    { ...receipt, entries: [{ line: entry?.line ?? '', proof: (entry?.proof ?? '').replace('index 0', 'index 1') }] },
    { ...receipt, entries: [{ line: '{}', proof: entry?.proof ?? '' }] },
  ];
  for (const other of others) {
    expect(verifyBundle({ text: textOf(other) }).ok).toBe(false);
    expect(openReceipt(dataDir, ledger, other, [ann]).verdict).toBe('not_proved');
  }
  const path = join(freshFolder(), 'receipt.json');
  const text = textOf(receipt);
  const doubled = text.replace('"subject_key"', `"subject_key": "${'a'.repeat(64)}",\n  "subject_key"`);
  for (const other of [doubled, text.replace('"how"', '"who"'), text.replace('{', '{\n  "more": 1,'), text.trim()]) {
    writeFileSync(path, other);
    expect(() => readReceipt(path)).toThrow('that is no receipt');
    expect(verifyBundle({ text: other }).ok).toBe(false);
  }
  const bytes = Buffer.from(text);
  const keyFrom = text.indexOf(receipt.subject_key);
  for (let at = 0; at < bytes.length; at += 7) {
    const other = Buffer.from(bytes);
    other[at] = (other[at] ?? 0) ^ 1;
    // The key is checked with the identifier: by itself it can be any.
    if (at < keyFrom || at >= keyFrom + 64)
      expect([at, verifyBundle({ text: other.toString() }).ok]).toEqual([at, false]);
  }
});

it('a receipt shows that the ledger lost its entry, though the ledger was signed again with the same key', async () => {
  const { dataDir, receipts } = signed();
  const [receipt] = receipts;
  if (!receipt) throw new Error('no receipt');
  const folder = join(dataDir, 'ledger');
  const task = { folder, receipt: textOf(receipt), now: Date.UTC(2026, 10, 20, 13) };
  expect(verify(task).problems).toEqual([]);
  // The operator writes another past: the same request, received a year later.
  rmSync(folder, { recursive: true });
  rmSync(join(dataDir, 'keys'), { recursive: true });
  plantKeys(dataDir);
  const anew = openLedger(dataDir, tickingClock(Date.parse(receipt.received_at) - 1000));
  const [record] = lifeOf(1, 1)[0] ?? [];
  if (record?.type !== 'received') throw new Error('a life that begins otherwise');
  const [own] = receipt.entries;
  const { subject } = JSON.parse(own?.line ?? '{}') as { subject: string };
  anew.append([{ ...record, subject, basis: 'other' }]);
  anew.checkpoint();
  expect(verify(task).problems).toEqual([{ where: 'receipt', problem: 'wrong_root' }]);
  expect(openReceipt(dataDir, anew, receipt, [ann]).verdict).toBe('other_entries');
});

it('a box with another key than the entry was made with gives no receipt', () => {
  expect(keysOf(received({ boxOfItsOwn: true }).context, [requestId(1)])).toEqual([]);
  expect(keysOf(received().context, [requestId(7)])).toEqual([]);
});

it('a subject named by several identifiers is told by all of them, in any order', () => {
  const box = newBox([joann, ann], nobody);
  const subject = subjectMac(box);
  const receipt = { subject_key: box.subjectKey };
  expect(isAbout(receipt, subject, [ann, joann])).toBe(true);
  expect(isAbout(receipt, subject, [ann])).toBe(false);
});

it('refuses a place in the data folder, and a file that is no receipt', () => {
  expect(() => refuseInside('/srv/data', '/srv/data/receipts/a.json')).toThrow('cannot lie in the data folder');
  expect(() => refuseInside('/srv/data', '/srv/data')).toThrow('cannot lie in the data folder');
  expect(() => refuseInside('/srv/data', '/srv/data-receipts/a.json')).not.toThrow();
  const path = join(freshFolder(), 'receipt.json');
  expect(() => readReceipt(path)).toThrow('that is no receipt');
  writeFileSync(path, '{"format_version":1}');
  expect(() => readReceipt(path)).toThrow('that is no receipt');
  writeFileSync(path, 'no JSON');
  expect(() => readReceipt(path)).toThrow('that is no receipt');
});
