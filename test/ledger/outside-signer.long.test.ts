import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadProjects } from '../../src/config/load-settings.ts';
import { openLedger, type Ledger } from '../../src/ledger/ledger.ts';
import { publicKeyOf, privateKeyOf } from '../../src/ledger/note.ts';
import { commandSigner, seedSigner, type OutsideSigner } from '../../src/ledger/outside-signer.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { lifeOf, tickingClock } from './ledger-fixture.ts';

const seed = (byte: number): Buffer => Buffer.alloc(32, byte);
const keyOf = (byte: number): Buffer => publicKeyOf(privateKeyOf(seed(byte)));

/** A program that signs with a key. `print`: how it prints the signature `s`. */
function program(byte: number, print = 'process.stdout.write(s)'): string[] {
  const der = `302e020100300506032b657004220420${seed(byte).toString('hex')}`;
  const script = `
    const { createPrivateKey, sign } = require('node:crypto');
    if (Object.keys(process.env).some((name) => name.startsWith('MIRROR_'))) process.exit(7);
    const key = createPrivateKey({ key: Buffer.from('${der}', 'hex'), format: 'der', type: 'pkcs8' });
    const s = sign(null, require('node:fs').readFileSync(0), key);
    ${print};`;
  return [process.execPath, '-e', script];
}

/** The signer of a program, which says to have the first key. */
function signerOf(command: readonly string[], environment: Record<string, string> = {}): OutsideSigner {
  return commandSigner({ command, publicKey: keyOf(1), environment });
}

describe('a program that signs', () => {
  it.each([
    'process.stdout.write(s)',
    "console.log(s.toString('base64'))",
    "process.stdout.write(s.toString('base64'))",
  ])('signs as the key itself does: %s', (print) => {
    const content = Buffer.from('text\n');
    const signature = signerOf(program(1, print), { MIRROR_SIGNING_KEY: 'secret' }).sign(content);
    expect(signature).toEqual(seedSigner(seed(1)).sign(content));
  });

  it.each<[string, readonly string[], string]>([
    ['signs with another key', program(2), 'does not confirm'],
    ['signs something else', program(1, "process.stdout.write(sign(null, Buffer.from('x'), key))"), 'does not confirm'],
    ['prints nothing', program(1, ''), 'printed no Ed25519 signature'],
    ['prints a sentence', program(1, "console.log('the token is locked')"), 'printed no Ed25519 signature'],
    ['fails', program(1, 'process.stdout.write(s, () => process.exit(3))'), 'ended with 3'],
    ['reads nothing', [process.execPath, '-e', 'process.exit(4)'], 'ended with 4'],
    ['is killed', ['/bin/sh', '-c', 'kill -9 $$'], 'ended with a signal'],
    ['does not exist', ['/no/such/program'], 'cannot be run (ENOENT)'],
    ['prints too much', program(1, "process.stdout.write('x'.repeat(1e6))"), 'printed no Ed25519 signature'],
  ])('is refused where it %s', (_what, command, says) => {
    const signer = signerOf(command);
    expect(() => signer.sign(Buffer.alloc(100_000))).toThrow(
      expect.objectContaining({ code: 'storage', message: expect.stringContaining(says) }),
    );
  });

  it('is refused where it does not end', () => {
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    const signer = commandSigner({ command, publicKey: keyOf(1), environment: {}, timeoutMs: 1000 });
    expect(() => signer.sign(Buffer.from('x'))).toThrow('did not sign within 1 seconds');
  });
});

it('a program may open its input and output by name, as pkcs11-tool does', () => {
  const print = "require('node:fs').writeFileSync('/dev/stdout', s)";
  const [node = '', ...rest] = program(1, print);
  const command = [node, ...rest.map((arg) => arg.replace('readFileSync(0)', "readFileSync('/dev/stdin')"))];
  expect(signerOf(command).sign(Buffer.from('x'))).toEqual(seedSigner(seed(1)).sign(Buffer.from('x')));
});

describe('a ledger that is signed from outside', () => {
  const open = (dataDir: string, ...outside: OutsideSigner[]): Ledger =>
    openLedger(dataDir, tickingClock(Date.now()), outside);
  const isGood = async (dataDir: string): Promise<number> => {
    const task = { folder: join(dataDir, 'ledger') };
    expect(verifyLedger(task)).toMatchObject({ ok: true, problems: [] });
    return readFileSync(join(dataDir, 'ledger/public-keys.txt'), 'utf8').trim().split('\n').length;
  };

  it('has no key in its folder, and hands over to the next key outside', async () => {
    const dataDir = temporaryFolder();
    const first = signerOf(program(1));
    const ledger = open(dataDir, first);
    ledger.append(lifeOf(1, 1).flat());
    ledger.checkpoint();
    expect(() => ledger.rotateKey()).toThrow(expect.objectContaining({ code: 'usage' }));
    open(dataDir, first, seedSigner(seed(2))).rotateKey();
    open(dataDir, seedSigner(seed(2))).checkpoint();
    expect(existsSync(join(dataDir, 'keys'))).toBe(false);
    expect(await isGood(dataDir)).toBe(2);
    // It never goes back to a key that it has had, and is signed with no other.
    expect(() => open(dataDir, first, seedSigner(seed(2))).rotateKey()).toThrow('no key that the ledger has not had');
    expect(() => open(dataDir, first).append(lifeOf(2, 2).flat())).toThrow('is the key of this ledger');
  });

  it('takes over from the key in the folder, which signs until then', async () => {
    const dataDir = temporaryFolder();
    const outside = seedSigner(seed(3));
    const ledger = open(dataDir);
    ledger.append(lifeOf(1, 1).flat());
    ledger.checkpoint();
    const later = open(dataDir, outside);
    later.append(lifeOf(2, 2).flat());
    later.checkpoint();
    expect(await isGood(dataDir)).toBe(1);
    later.rotateKey();
    later.checkpoint();
    expect(await isGood(dataDir)).toBe(2);
  });

  it('appends nothing where the program does not sign the rotation', () => {
    const dataDir = temporaryFolder();
    const ledger = open(dataDir, seedSigner(seed(1)));
    ledger.append(lifeOf(1, 1).flat());
    ledger.checkpoint();
    const broken = open(dataDir, signerOf(program(9)), seedSigner(seed(2)));
    expect(() => broken.rotateKey()).toThrow('does not confirm');
    expect(open(dataDir).size()).toBe(ledger.size());
  });
});

describe('the key of the environment', () => {
  const hex = (byte: number): string => seed(byte).toString('hex');

  it('is one, or the present and the next', () => {
    const keys = (text: string) => loadProjects({ MIRROR_SIGNING_KEY: text }).secrets.signingKeys;
    expect(keys(hex(1))).toEqual([seed(1)]);
    expect(keys(`${hex(1)},${hex(2)}`)).toEqual([seed(1), seed(2)]);
    expect(loadProjects({}).secrets.signingKeys).toEqual([]);
    for (const text of ['secret', `${hex(1)},`, hex(1).slice(1)]) {
      expect(() => keys(text)).toThrow('MIRROR_SIGNING_KEY');
      expect(() => keys(text)).not.toThrow(text);
    }
  });

  it('serves one project only: a ledger is named after its first key', () => {
    const projects = [{ name: 'a' }, { name: 'b' }];
    const signer = { command: ['sign'], publicKey: keyOf(1).toString('base64') };
    const set = [{ path: 'projects', value: projects }];
    expect(() => loadProjects({ MIRROR_SIGNING_KEY: hex(1) }, { set })).toThrow('cannot share a signing key');
    expect(() => loadProjects({}, { set: [...set, { path: 'audit.signer', value: signer }] })).toThrow('cannot share');
    expect(
      loadProjects({}, { set: [{ path: 'audit.signer', value: signer }] }).projects[0].settings.audit.signer,
    ).toEqual(signer);
  });
});
