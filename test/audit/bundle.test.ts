import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleText } from '../../src/audit/bundle.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { sha256 } from '../../src/core/digest.ts';
import { certificateText } from '../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../src/erasure/proof/derive-certificate.ts';
import { canonicalJson } from '../../src/ledger/canonical-json.ts';
import { ledgerOrigin } from '../../src/ledger/checkpoint.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { proveEntries } from '../../src/ledger/prove-entries.ts';
import { issuing, lifeOf, plantKeys, requestId, stated, tickingClock } from '../ledger/ledger-fixture.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { readBundle, verifyBundle } from '../../docs/verifier/verify.mjs';
import { bundleFolder, bundleOf, checkBytes, verifier } from './bundle-fixture.ts';

type Bundle = { certificate: string; entries: { line: string; proof: string }[]; public_keys: string };

let dataDir: string;
let keys: string;
let text: string;
let page: string;
beforeAll(() => {
  ({ dataDir, keys } = bundleFolder());
  ({ text, page } = bundleOf(dataDir, 1));
});
afterAll(() => rmSync(dataDir, { recursive: true }));

const changed = (change: (bundle: Bundle) => object): string =>
  `${canonicalJson(change(JSON.parse(text) as Bundle))}\n`;

describe('a bundle', () => {
  it('verifies in an empty folder with nothing but the verifier, and so does the page that carries it', () => {
    const folder = freshFolder();
    cpSync(verifier, join(folder, 'verify.mjs'));
    writeFileSync(join(folder, 'bundle.json'), text);
    writeFileSync(join(folder, 'page.html'), page);
    writeFileSync(join(folder, 'kept.pub'), keys.split('\n')[0] + '\n');
    const run = (...args: string[]) =>
      spawnSync(process.execPath, ['verify.mjs', ...args], { cwd: folder, encoding: 'utf8' });
    for (const file of ['bundle.json', 'page.html']) {
      expect(run(file)).toMatchObject({
        status: 3,
        stdout: expect.stringMatching(
          /own_keys_only\n.*OK as far as it goes: nothing was given that was kept elsewhere\n$/s,
        ),
        stderr: '',
      });
      expect(run(file, '--public-key', 'kept.pub')).toMatchObject({
        status: 0,
        stdout: expect.not.stringContaining('note'),
      });
      expect(run(file, '--checkpoint', 'kept.pub')).toMatchObject({ status: 2 });
    }
    expect(readdirSync(folder)).toHaveLength(4);
    writeFileSync(join(folder, 'page.html'), page.replace('"entries"', '"entrie"'));
    expect(run('page.html')).toMatchObject({ status: 1, stdout: expect.stringMatching(/not_a_bundle\n.*NOT OK\n$/s) });
  });

  it('is told by the verifier, so that a page whose words say something else misleads nobody', () => {
    const run = (name: string, content: string): string => {
      const file = join(freshFolder(), name);
      writeFileSync(file, content);
      const { status, stdout } = spawnSync(process.execPath, [fileURLToPath(verifier), file], { encoding: 'utf8' });
      expect(status).toBe(3);
      return stdout;
    };
    const [words = '', data = ''] = page.split(/(?=<script type="application\/json" id="bundle">)/);
    const forged = words.replaceAll(requestId(1), requestId(2)).replaceAll(/not reached/gi, 'verified');
    expect(forged).not.toBe(words);
    const told = run('forged.html', forged + data);
    expect(told).toContain('the words of the page are not checked; what it proves is this certificate:\n');
    for (const stdout of [told, run('bundle.json', text)]) {
      const certificate = JSON.parse((JSON.parse(text) as Bundle).certificate) as Record<string, unknown>;
      // All of it: whatever a page states, the reader finds here.
      for (const [name, value] of Object.entries(certificate))
        for (const one of [value].flat())
          expect(stdout).toContain(`\n${name}: ${typeof one === 'string' ? one : canonicalJson(one as object)}\n`);
      expect(stdout).toMatch(
        /\nin words \(version 3\):\nErased in our copy on [^\n]+\.\nNOT STATED: [^\n]+\.\nLegal ground: /,
      );
      expect(stdout).toMatch(/\nnot proven, upstream\.events: It is not proven/);
      expect(stdout).not.toContain(requestId(2));
    }
    expect(told).toContain(
      '\nlater entries about this request, and any that were left out: only the ledger shows them\n',
    );
    expect(run('bundle.json', text)).not.toContain('words of the page');
  });

  it('is none where a file begins as another, whatever stands behind', () => {
    const another = text.replace('"bundle":"analytics-mirror/bundle@1"', '"bundle":"erased everywhere"');
    const behind = page.slice(page.indexOf('<script type="application/json"'));
    for (const file of [another, text])
      expect(verifyBundle({ text: file + behind }).problems).toEqual([{ where: 'bundle', problem: 'not_a_bundle' }]);
    expect(verifyBundle({ text: `x${text}${behind}` }).ok).toBe(true);
  });

  it('is read from a page as it was written, whatever signs its texts have', () => {
    const bundle = { ...(JSON.parse(text) as Bundle), certificate: String.raw`a<b, and \u003c` };
    const [begin, end] = ['<script type="application/json" id="bundle">', '</script>'];
    const json = canonicalJson(bundle);
    expect(readBundle(`${begin}${json.replaceAll('<', String.raw`\u003c`)}\n${end}`)).toEqual(bundle);
    expect(readBundle(`${begin}${json}\n${end}`)).toBeUndefined();
  });

  it('is refused by a key that was kept where an older one signed a proof: its holder can show another past', () => {
    const [fork, whole] = [freshFolder(), freshFolder()];
    for (const dataDir of [fork, whole]) plantKeys(dataDir);
    const request = requestId(7);
    const forked = openLedger(fork, tickingClock());
    const facts = { ledgerOrigin: ledgerOrigin(fork, forked), stated };
    const life = lifeOf(7, 1).flat().slice(0, -2);
    forked.append(life);
    const certificate = deriveCertificate(forked.histories.of(request) as never, facts);
    const forged = certificateText(certificate as never);
    forked.append([{ type: 'certified', request, generation: 1, certificate: sha256(forged) }]);
    forked.checkpoint();
    const shown = { certificate: { request }, text: forged, entry: life.length };
    const bundle = JSON.parse(bundleText(fork, forked, shown)) as Bundle;
    // The true ledger goes on, and hands over to another key.
    const ledger = openLedger(whole, tickingClock());
    ledger.append([...lifeOf(1, 1).flat(), ...lifeOf(2, 2).flat()]);
    ledger.rotateKey();
    ledger.checkpoint();
    const { entries: rotation } = proveEntries(join(whole, 'ledger'), ledger, [ledger.size() - 1]);
    const own = readFileSync(join(whole, 'ledger/public-keys.txt'), 'utf8');
    const mixed = { ...bundle, entries: [...bundle.entries, ...rotation], public_keys: own };
    const text = `${canonicalJson(mixed)}\n`;
    const [old, present] = own.split('\n').map((line) => `${line}\n`);
    // As VERDICTS.md says, an older key alone does not tell.
    expect(verifyBundle({ text, publicKey: old })).toMatchObject({ ok: true, problems: [] });
    expect(verifyBundle({ text, publicKey: present }).problems).toEqual([
      { where: 'kept public key', problem: 'not_signed_by_key' },
    ]);
  });

  it('verifies where the key was replaced while it was made, or after the ledger was read', () => {
    const folder = join(freshFolder(), 'rotated');
    cpSync(dataDir, folder, { recursive: true });
    const ledger = readLedger(folder);
    const found = findCertificate({ dataDir: folder, ...issuing }, ledger, requestId(1));
    // Once the entries are read and the keys are not.
    const rotate = () => openLedger(folder, tickingClock(Date.UTC(2026, 10, 22))).rotateKey();
    const rotating = {
      ...ledger,
      lines: {
        ...ledger.lines,
        proofs: (...given: Parameters<typeof ledger.lines.proofs>) => (rotate(), ledger.lines.proofs(...given)),
      },
    };
    expect(bundleText(folder, rotating, found)).toBe(text);
    expect(readFileSync(join(folder, 'ledger/public-keys.txt'), 'utf8')).not.toBe(keys);
    expect(bundleText(folder, ledger, found)).toBe(text);
    expect(verifyBundle({ text, publicKey: keys })).toMatchObject({ ok: true, problems: [] });
  });

  it('does not verify after a change of a byte, nor cut short', () => {
    expect(checkBytes({ text, keys }, 61)).toBeGreaterThan(200);
    for (let cut = 0; cut < text.length; cut += 997) expect(verifyBundle({ text: text.slice(0, cut) }).ok).toBe(false);
  });

  it.each<[string, (bundle: Bundle) => object, string]>([
    [
      'an entry left out',
      (bundle) => ({ ...bundle, entries: bundle.entries.toSpliced(4, 1) }),
      'certificate says_otherwise',
    ],
    ['the first entry left out', (bundle) => ({ ...bundle, entries: bundle.entries.slice(1) }), 'unknown_request'],
    [
      'two entries exchanged',
      (bundle) => ({
        ...bundle,
        entries: bundle.entries.with(1, bundle.entries[2] as never).with(2, bundle.entries[1] as never),
      }),
      'wrong_seq',
    ],
    [
      'the proof of another entry',
      (bundle) => ({
        ...bundle,
        entries: bundle.entries.with(1, { line: bundle.entries[1]?.line ?? '', proof: bundle.entries[2]?.proof ?? '' }),
      }),
      'not_proved',
    ],
    ['no entries', (bundle) => ({ ...bundle, entries: [] }), 'certificate not_on_ledger'],
    [
      'the key before the rotation alone, and no rotation',
      (bundle) => ({ ...bundle, entries: bundle.entries.slice(0, -1) }),
      'not_proved',
    ],
    ['a field more', (bundle) => ({ ...bundle, more: 1 }), 'bundle not_a_bundle'],
    [
      'a certificate that says more',
      (bundle) => ({ ...bundle, certificate: bundle.certificate.replace('not_reached', 'verified') }),
      'other_certificate',
    ],
  ])('is refused with %s', (_what, change, problem) => {
    const { ok, problems } = verifyBundle({ text: changed(change) });
    expect(ok).toBe(false);
    expect(problems.map((each) => `${each.where} ${each.problem}`).join('; ')).toContain(problem);
  });

  it('is refused where its keys are not those that were kept, or have the name of others', () => {
    const stranger = freshFolder();
    plantKeys(stranger);
    writeFileSync(join(stranger, 'keys/ledger.key'), `${'44'.repeat(32)}\n`);
    openLedger(stranger, tickingClock()).checkpoint();
    const strangers = readFileSync(join(stranger, 'ledger/public-keys.txt'), 'utf8');
    const problemsOf = (task: { text: string; publicKey?: string }) =>
      verifyBundle(task).problems.map(({ problem }) => problem);
    expect(problemsOf({ text, publicKey: strangers })).toEqual(['wrong_public_key']);
    expect(problemsOf({ text, publicKey: 'x' })).toEqual(['bad_public_key']);
    expect(problemsOf({ text: changed((bundle) => ({ ...bundle, public_keys: strangers })) })).toContain('not_proved');
  });

  it('is another for each request, and holds what names that request only', () => {
    const { text: other } = bundleOf(dataDir, 2);
    expect(verifyBundle({ text: other, publicKey: keys }).ok).toBe(true);
    expect(other).not.toBe(text);
    expect(text).not.toContain(`"request":"${requestId(2)}"`);
  });
});
