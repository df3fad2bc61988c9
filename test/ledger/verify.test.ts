import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { checkpointText } from '../../src/ledger/checkpoint.ts';
import { entryLine } from '../../src/ledger/entry.ts';
import { handover } from '../../src/ledger/key-chain.ts';
import { rootOf } from '../../src/ledger/merkle-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { privateKeyOf, publicKeyOf, readVkey, signBytes, vkeyOf } from '../../src/ledger/note.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { verify } from '../../docs/verifier/verify.mjs';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { policyText } from './anchored-vectors.ts';
import { lifeOf, tickingClock, writeSmallLedger } from './ledger-fixture.ts';

const program = fileURLToPath(new URL('../../docs/verifier/verify.mjs', import.meta.url));

function smallLedger(): { dataDir: string; folder: string; keys: string[] } {
  const dataDir = temporaryFolder();
  writeSmallLedger(dataDir);
  const folder = join(dataDir, 'ledger');
  return { dataDir, folder, keys: readFileSync(join(folder, 'public-keys.txt'), 'utf8').trim().split('\n') };
}

describe('a verification', () => {
  it('tells what it found in sentences', () => {
    const { folder } = smallLedger();
    rmSync(join(folder, 'entries.jsonl'));
    const { ok, size, signed, problems } = verifyLedger({ folder });
    expect({ ok, size, signed }).toEqual({ ok: false, size: 0, signed: 0 });
    expect(problems).toContainEqual({
      where: 'checkpoint 000000005',
      problem: 'beyond_ledger',
      sentence: 'the checkpoint covers more entries than there are: some were removed',
    });
  });

  it('has nothing to say of an empty folder, and refuses one that is not there', () => {
    const folder = temporaryFolder();
    expect(verifyLedger({ folder })).toMatchObject({ ok: true, size: 0, checkpoints: 0, signed: 0, problems: [] });
    expect(() => verifyLedger({ folder: join(folder, 'none') })).toThrow(expect.objectContaining({ code: 'storage' }));
  });

  it('refuses an empty folder by a policy: it names the key of a ledger, and there is none', () => {
    const { folder } = smallLedger();
    const { problems } = verifyLedger({ folder: temporaryFolder(), policy: policyText(folder) });
    expect(problems).toMatchObject([{ where: 'public keys', problem: 'no_public_key' }]);
  });

  it('takes each key that the ledger had, and each checkpoint, whoever kept it', () => {
    const { folder, keys } = smallLedger();
    expect(keys).toHaveLength(2);
    for (const key of [...keys, keys.join('\n')])
      for (const name of ['000000005', '000000013', '000000020']) {
        const checkpoint = readFileSync(join(folder, `checkpoints/${name}.txt`), 'utf8');
        expect(verifyLedger({ folder, publicKey: `${key}\n`, checkpoint })).toMatchObject({ ok: true, warnings: [] });
      }
  });

  it('does not let a stranger hand over to a key that was kept', () => {
    const { keys } = smallLedger();
    const [key = ''] = keys;
    const kept = readVkey(key);
    expect(kept).toBeDefined();
    if (!kept) return;
    // A stranger's ledger, which ends with a rotation to the true key: nothing in it was signed with that.
    const forged = join(temporaryFolder(), 'ledger');
    const stranger = { name: kept.name, privateKey: privateKeyOf(Buffer.alloc(32, 0x66)) };
    const lines = lifeOf(5, 1)
      .flat()
      .map((record, seq) => entryLine(record, seq, '2026-11-20T12:00:00.000Z'));
    const size = lines.length;
    const rotation = {
      type: 'key_rotated' as const,
      old_key: publicKeyOf(stranger.privateKey).toString('hex'),
      new_key: kept.publicKey.toString('hex'),
      signature: signBytes(handover(kept.name, kept.publicKey), stranger.privateKey).toString('hex'),
    };
    const root = rootOf(lines.map((line) => leafHash(line)));
    const all = [...lines, entryLine(rotation, size, '2026-11-20T12:00:00.000Z')];
    mkdirSync(join(forged, 'checkpoints'), { recursive: true });
    writeFileSync(join(forged, 'entries.jsonl'), all.map((line) => `${line.toString('utf8')}\n`).join(''));
    writeFileSync(join(forged, 'checkpoints/000000019.txt'), checkpointText({ size, root }, stranger));
    const strangersKey = vkeyOf({ name: kept.name, publicKey: publicKeyOf(stranger.privateKey) });
    writeFileSync(join(forged, 'public-keys.txt'), `${strangersKey}\n${key}\n`);
    const wrongName = { where: 'public keys', problem: 'wrong_name' } as const;
    const now = Date.UTC(2026, 10, 20, 13);
    expect(verifyLedger({ folder: forged, now })).toMatchObject({
      signed: 19,
      problems: [expect.objectContaining(wrongName)],
    });
    const task = { folder: forged, publicKey: `${key}\n`, now };
    expect(verifyLedger(task).problems).toMatchObject([
      wrongName,
      { where: 'kept public key', problem: 'not_signed_by_key' },
    ]);
  });

  it('prints nothing that a terminal takes for a command, whatever the names of files are', () => {
    const { folder } = smallLedger();
    writeFileSync(join(folder, 'checkpoints/x\u001b[8m\nOK\n.txt'), '');
    const { status, stdout } = spawnSync(process.execPath, [program, folder], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stdout).not.toContain('\u001b');
    expect(stdout.split('\n').filter((line) => /OK/.test(line))).toEqual([
      'problem: checkpoint x\uFFFD[8m\uFFFDOK\uFFFD: not_a_checkpoint',
      'NOT OK',
    ]);
  });

  it('takes no bundle for a receipt that was kept', () => {
    const proofs = new URL('../../docs/verifier/proofs/', import.meta.url);
    const { folder } = smallLedger();
    const receipt = readFileSync(new URL('bundle.json', proofs), 'utf8');
    expect(verify({ folder, receipt }).problems).toContainEqual({
      where: 'receipt, receipt',
      problem: 'not_a_receipt',
    });
  });

  it('takes a key that signs again after another', () => {
    const { folder, dataDir, keys } = smallLedger();
    const [old = '', present = ''] = keys;
    const [oldKey, presentKey] = [readVkey(old), readVkey(present)];
    if (!oldKey || !presentKey) throw new Error('no keys');
    const signature = signBytes(handover(oldKey.name, oldKey.publicKey), privateKeyOf(Buffer.alloc(32, 0x22)));
    openLedger(dataDir, tickingClock()).append([
      {
        type: 'key_rotated',
        old_key: presentKey.publicKey.toString('hex'),
        new_key: oldKey.publicKey.toString('hex'),
        signature: signature.toString('hex'),
      },
    ]);
    writeFileSync(join(folder, 'public-keys.txt'), `${[old, present, old].join('\n')}\n`);
    expect(verify({ folder, now: Date.UTC(2026, 10, 20, 13) }).problems).toEqual([]);
    writeFileSync(join(folder, 'public-keys.txt'), `${[old, present, present].join('\n')}\n`);
    expect(verify({ folder }).problems).toContainEqual({ where: 'public keys', problem: 'unlisted_key' });
  });

  it.each([
    ['a signature of no byte', '— someone.example AAAAAA==\n', 'not_a_checkpoint'],
    ["a stranger's signature", '— someone.example AAAAAAA=\n', undefined],
  ])('judges a checkpoint with %s', (_what, line, problem) => {
    const { folder } = smallLedger();
    const file = join(folder, 'checkpoints/000000020.txt');
    writeFileSync(file, readFileSync(file, 'utf8') + line);
    expect(verify({ folder }).problems.find(({ where }) => where === 'checkpoint 000000020')?.problem).toBe(problem);
  });

  it.each([
    [100, 'not_in_schema'],
    [101, 'not_canonical'],
    [100_000, 'not_canonical'],
  ])('says of a line that nests %s deep that it is %s, on every machine', (depth, problem) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'entries.jsonl'), `${'['.repeat(depth)}${']'.repeat(depth)}\n`);
    expect(verify({ folder }).problems).toContainEqual({ where: 'entry 0', problem });
  });

  it('finds nothing signed where all checkpoints are gone, if a key was kept', () => {
    const { folder, keys } = smallLedger();
    rmSync(join(folder, 'checkpoints'), { recursive: true });
    const unsigned = { where: 'ledger', problem: 'nothing_signed' };
    expect(verifyLedger({ folder }).problems).toMatchObject([unsigned]);
    expect(verifyLedger({ folder, publicKey: `${keys[0] ?? ''}\n` }).problems).toMatchObject([
      { where: 'kept public key', problem: 'not_signed_by_key' },
      unsigned,
    ]);
  });

  it('a rotation that was killed before its key was listed is none the worse', () => {
    const { dataDir, folder, keys } = smallLedger();
    writeFileSync(join(folder, 'public-keys.txt'), `${keys[0] ?? ''}\n`);
    expect(verifyLedger({ folder }).problems).toEqual([]);
    openLedger(dataDir, tickingClock()).checkpoint();
    expect(readFileSync(join(folder, 'public-keys.txt'), 'utf8')).toBe(`${keys.join('\n')}\n`);
  });
});

describe('the signing key', () => {
  it.each([
    ['lost', (dataDir: string) => rmSync(join(dataDir, 'keys'), { recursive: true }), /ledger\.key is not the key/],
    [
      'of another ledger',
      (dataDir: string) => writeFileSync(join(dataDir, 'keys/ledger.key'), `${'44'.repeat(32)}\n`),
      /ledger\.key is not the key/,
    ],
    ['damaged', (dataDir: string) => writeFileSync(join(dataDir, 'keys/ledger.key'), 'x'), /ledger\.key is damaged/],
    [
      'listed nowhere',
      (dataDir: string) => rmSync(join(dataDir, 'ledger/public-keys.txt')),
      /public-keys\.txt is missing/,
    ],
    [
      'listed in a file that is none',
      (dataDir: string) => writeFileSync(join(dataDir, 'ledger/public-keys.txt'), 'x'),
      /public-keys\.txt is damaged/,
    ],
  ])('that is %s signs nothing', (_what, harm, words) => {
    const { dataDir } = smallLedger();
    const ledger = openLedger(dataDir, tickingClock());
    ledger.append(lifeOf(2, 2).slice(0, 1).flat());
    harm(dataDir);
    for (const sign of [() => ledger.checkpoint(), () => ledger.rotateKey()])
      expect(sign).toThrow(expect.objectContaining({ code: 'storage', message: expect.stringMatching(words) }));
    expect(ledger.size()).toBe(21);
  });

  it('signs a head once', () => {
    const { dataDir, folder } = smallLedger();
    const ledger = openLedger(dataDir, tickingClock());
    const path = join(folder, 'checkpoints/000000020.txt');
    const before = readFileSync(path, 'utf8');
    expect(ledger.checkpoint()).toEqual({ ...ledger.head(), text: before });
    expect(readFileSync(path, 'utf8')).toBe(before);
  });
});

describe('the verifier as a command', () => {
  const run = (...args: string[]): { status: number | null; stdout: string; stderr: string } =>
    spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });

  it('runs from a copy of itself, and ends with 0, 1 or 2', () => {
    const { folder, keys } = smallLedger();
    const place = temporaryFolder();
    const copy = join(place, 'verify.mjs');
    cpSync(program, copy);
    const key = join(place, 'key.txt');
    writeFileSync(key, `${keys[0] ?? ''}\n`);
    const kept = join(folder, 'checkpoints/000000005.txt');
    const good = spawnSync(process.execPath, [copy, folder, '--public-key', key, '--checkpoint', kept], {
      encoding: 'utf8',
    });
    expect(good).toMatchObject({ status: 0, stderr: '' });
    expect(good.stdout).toMatch(
      /^20 entries, root [0-9a-f]{64}\n3 checkpoints, 20 entries covered by a good one\nOK\n$/,
    );
    rmSync(join(folder, 'public-keys.txt'));
    const bad = run(folder);
    expect(bad.status).toBe(1);
    expect(bad.stdout).toContain('problem: public keys: no_public_key\n');
    expect(bad.stdout).toMatch(/\nNOT OK\n$/);
    for (const args of [
      [],
      [join(place, 'none')],
      // A folder without a ledger, as the one is that has it in it.
      [join(folder, '..')],
      [folder, '--key', key],
      [folder, '--public-key', join(place, 'none')],
      [folder, '--public-key', ''],
      [folder, '--receipt', ''],
      [folder, '--checkpoint'],
    ])
      expect(run(...args)).toMatchObject({ status: 2, stdout: '' });
  });

  it('prints the first thousand problems, so that a pipe does not lose the verdict after millions of them', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'entries.jsonl'), '{\n'.repeat(1500));
    const lines = run(folder).stdout.trimEnd().split('\n');
    expect(lines.filter((line) => line.startsWith('problem: entry '))).toHaveLength(1000);
    expect(lines).toContain('problem: and 501 more');
    expect(lines.at(-1)).toBe('NOT OK');
  });

  it('uses nothing but Node.js', () => {
    const imports = [...readFileSync(program, 'utf8').matchAll(/from '([^']+)'/g)].map(([, name]) => name);
    expect(imports).toEqual(['node:crypto', 'node:fs', 'node:path', 'node:url']);
  });
});
