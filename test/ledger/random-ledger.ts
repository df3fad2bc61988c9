import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, loadStandAlone, plantKeys, requestId, tickingClock, withoutSentences } from './ledger-fixture.ts';

type Step = { act: 'append'; records: LedgerRecord[] } | { act: 'checkpoint' } | { act: 'rotate' };

const generation = fc.constantFrom(1, 1, 1, 2);

/** Records that the life of a request need not have. */
const oddRecord: fc.Arbitrary<LedgerRecord> = fc
  .tuple(fc.constantFrom(1, 2, 3).map(requestId), generation, fc.nat({ max: 3 }))
  .chain(([request, of, epoch]) => {
    const about = { request, generation: of };
    return fc.constantFrom<LedgerRecord[]>(
      { type: 'held', ...about, reason: 'too_many' },
      { type: 'approved', ...about },
      { type: 'amended', ...about, basis: 'other' },
      { type: 'refused', ...about, reason: 'unknown_subject' },
      { type: 'cancelled', ...about },
      { type: 'fencing', ...about, epoch, fence: [{ kind: 'person_id', encrypted: 'f'.repeat(64) }], continued: true },
      { type: 'fenced', ...about, epoch },
      { type: 'intent', requests: [request, requestId(1)], target: 'aux' },
      { type: 'result', requests: [request], target: 'aux', result: 'purged', assurance: 'verified' },
      { type: 'scan', requests: [request], phase: 'verify', files: 1, bytes: 1, needles: 1, hits: epoch },
      { type: 'attention', ...about, target: 'mirror', reason: 'life_exceeded' },
      { type: 'reopened', ...about, reason: 'residue_found' },
      { type: 'certified', ...about, certificate: null },
      { type: 'sealed', ...about },
      { type: 'readmitted', ...about, reason: 'e'.repeat(64), entries: epoch },
      { type: 'acknowledged', ...about, consumer: 'warehouse' },
      { type: 'locally_verified', ...about, consumers: ['crm-team', 'warehouse'] },
      { type: 'replayed', epoch_from: 0, epoch_to: epoch, rows: 3 },
      { type: 'key_rotated', old_key: 'a'.repeat(64), new_key: 'b'.repeat(64), signature: 'c'.repeat(128) },
    );
  });

/** None in two of three cases, so that there are also good ledgers. */
function rarely<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<readonly T[]> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(arbitrary, { minLength: 1, maxLength: 2 }) },
  );
}

/** The lives of three requests, run into each other, with steps left out, repeated and added. */
const steps: fc.Arbitrary<Step[]> = fc
  .record({
    // From the fifth step on the fence stands, and the next life has the next epoch.
    lives: fc.tuple(fc.integer({ min: 5, max: 17 }), fc.integer({ min: 5, max: 17 }), fc.nat({ max: 17 })),
    odd: rarely(fc.tuple(fc.nat({ max: 40 }), oddRecord)),
    left: rarely(fc.nat({ max: 40 })),
    signed: fc.array(fc.tuple(fc.nat({ max: 40 }), fc.constantFrom('checkpoint', 'rotate')), { maxLength: 4 }),
  })
  .map(({ lives, odd, left, signed }) => {
    const all: Step[] = lives.flatMap((length, n) =>
      lifeOf(n + 1, n + 1)
        .slice(0, length)
        .map((records): Step => ({ act: 'append', records })),
    );
    for (const [at, record] of odd) all.splice(at, 0, { act: 'append', records: [record] });
    for (const at of left) all.splice(at, 1);
    for (const [at, act] of signed) all.splice(at, 0, { act: act === 'rotate' ? 'rotate' : 'checkpoint' });
    return all;
  });

/** What can be done to a ledger's files; `pick` numbers choose where. */
const harms = [
  'flip',
  'cut',
  'remove',
  'swap',
  'field',
  'clock',
  'checkpoint-gone',
  'checkpoint-renamed',
  'checkpoint-swapped',
  'keys-gone',
  'keys-reversed',
  'stranger',
] as const;
const harm = fc.record({ kind: fc.constantFrom(...harms), pick: fc.tuple(fc.nat(), fc.nat(), fc.nat()) });

const oddValues = [
  null, true, -1, 1.5, 2 ** 53, '', 'x', 'mirror', 'sealed', [], {}, ['x'], [null],
  requestId(9), requestId(9).toUpperCase(), 'A'.repeat(64), '2026-02-30T00:00:00.000Z', '2026-11-20T12:00:00Z',
  'snapshot:persons/20261120T125500.123Z/part-1.parquet', [{ kind: 'person_id', encrypted: 'c'.repeat(64), x: 1 }],
  [{ kind: 'person_id', mac: 'c'.repeat(64) }], [{ kind: 'person_id', encrypted: 'c'.repeat(64) }],
  [JSON.parse('{"__proto__":1}')], '\ud800', ['warehouse', 'crm-team'], ['crm-team', 'crm-team'], ['crm-team'], ['Crm'],
]; // prettier-ignore

function harmFolder(folder: string, { kind, pick: [a, b, c] }: { kind: string; pick: number[] }): void {
  const [at = 0, second = 0, third = 0] = [a, b, c];
  const entries = join(folder, 'entries.jsonl');
  const place = join(folder, 'checkpoints');
  const checkpoints = existsSync(place) ? readdirSync(place).map((file) => join(place, file)) : [];
  const lines = existsSync(entries) ? readFileSync(entries, 'utf8').split('\n').slice(0, -1) : [];
  const keys = join(folder, 'public-keys.txt');
  const write = (changed: readonly string[]): void =>
    writeFileSync(entries, changed.map((line) => `${line}\n`).join(''));
  const one = checkpoints[at % checkpoints.length];
  const other = checkpoints[second % checkpoints.length];
  const line = lines[at % lines.length];
  if (kind === 'flip') {
    const file = [entries, keys, ...checkpoints].filter((path) => existsSync(path))[third % 4] ?? entries;
    const content = existsSync(file) ? readFileSync(file) : Buffer.of(0);
    content[at % content.length] = (content[at % content.length] ?? 0) ^ (1 << (second % 8));
    writeFileSync(file, content);
  }
  if (kind === 'cut' && lines.length > 0) writeFileSync(entries, readFileSync(entries).subarray(0, -1 - (at % 300)));
  if (kind === 'remove') write(lines.toSpliced(at % (lines.length + 1), 1));
  if (kind === 'swap' && line !== undefined)
    write(lines.with(at % lines.length, lines[second % lines.length] ?? line).with(second % lines.length, line));
  if (kind === 'field' && line !== undefined) {
    const value = JSON.parse(line) as Record<string, unknown>;
    const names = [...Object.keys(value), 'more', '__proto__', 'toString'];
    const name = names[second % names.length] ?? '';
    const odd = oddValues[third % (oddValues.length + 1)];
    if (third % (oddValues.length + 1) === oddValues.length) delete value[name];
    else Object.defineProperty(value, name, { value: odd, enumerable: true, configurable: true, writable: true });
    let text = JSON.stringify(value);
    try {
      text = canonicalJson(value);
    } catch {
      // What has no canonical form stands as it is.
    }
    write(lines.with(at % lines.length, text));
  }
  if (kind === 'clock' && line !== undefined)
    write(lines.with(at % lines.length, line.replace(/"at":"\d{4}/, '"at":"2031')));
  if (kind === 'checkpoint-gone' && one !== undefined) rmSync(one);
  if (kind === 'checkpoint-renamed' && one !== undefined)
    renameSync(
      one,
      join(place, ['1.txt', 'note.md', '000000003.txt', '000000099.txt', '0000000003.txt'][second % 5] ?? ''),
    );
  if (kind === 'checkpoint-swapped' && one !== undefined && other !== undefined)
    writeFileSync(one, readFileSync(other));
  if (kind === 'keys-gone') rmSync(keys, { force: true });
  if (kind === 'keys-reversed' && existsSync(keys))
    writeFileSync(keys, `${readFileSync(keys, 'utf8').trim().split('\n').toReversed().join('\n')}\n`);
  if (kind === 'stranger') {
    mkdirSync(place, { recursive: true });
    writeFileSync(
      join(place, ['stranger', '.txt', 'x.txt'][at % 3] ?? ''),
      ['', 'x\n\n— y z\n', '\n\n'][second % 3] ?? '',
    );
  }
}

/**
 * Checks that both verifiers come to the same verdict on so many random ledgers, good and damaged, with and without what an
 * auditor may have kept; how many were good, and which problems were found.
 */
export async function checkAgreement(runs: number): Promise<{ good: number; problems: ReadonlySet<string> }> {
  const standAlone = await loadStandAlone();
  const root = temporaryFolder();
  const problems = new Set<string>();
  let good = 0;
  let run = 0;
  const kept = fc.record({ key: fc.nat({ max: 4 }), checkpoint: fc.nat({ max: 4 }) });
  fc.assert(
    fc.property(steps, rarely(harm), kept, (random, harmful, { key, checkpoint }) => {
      run += 1;
      const dataDir = join(root, String(run));
      const folder = join(dataDir, 'ledger');
      mkdirSync(folder, { recursive: true });
      plantKeys(dataDir);
      const ledger = openLedger(dataDir, tickingClock());
      const texts: string[] = [];
      // A rotation that is not the program's own leaves it without a key that it could sign with.
      const canSign = random.every((step) => step.act !== 'append' || step.records[0]?.type !== 'key_rotated');
      for (const step of random) {
        if (step.act === 'append') ledger.append(step.records);
        if (step.act === 'rotate' && canSign) ledger.rotateKey();
        if (step.act === 'checkpoint' && canSign) texts.push(ledger.checkpoint().text);
      }
      const list = existsSync(join(folder, 'public-keys.txt'))
        ? readFileSync(join(folder, 'public-keys.txt'), 'utf8')
        : '';
      const publicKey = [undefined, list, list.split('\n').slice(-2).join('\n'), strangersKey, 'x'][key];
      const text = [undefined, texts[0], texts.at(-1), texts.at(-1)?.replace(/\n\d+\n/, '\n7\n'), 'x'][checkpoint];
      for (const each of harmful) harmFolder(folder, each);
      const task = { folder, publicKey, checkpoint: text, now: Date.UTC(2026, 10, 21 + (run % 2)) };
      const verdict = withoutSentences(verifyLedger(task));
      expect(standAlone(task)).toEqual(verdict);
      good += verdict.ok ? 1 : 0;
      for (const { problem } of [...verdict.problems, ...verdict.warnings]) problems.add(problem);
      rmSync(dataDir, { recursive: true });
    }),
    { numRuns: runs },
  );
  return { good, problems };
}

const strangersKey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW\n';
