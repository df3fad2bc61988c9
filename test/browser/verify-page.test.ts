import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { verifyPagePath } from '../../config/verify-page.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { testKey, type TokenShape } from '../anchor/time-stamp-authority.ts';
import { bundleFolder, bundleOf } from '../audit/bundle-fixture.ts';
import type { Case } from '../interop/damage/case.ts';
import { damaged, writeCase } from '../interop/damage/damaged.ts';
import { soundCases } from '../interop/damage/ledgers.ts';
import { randomOf } from '../interop/damage/random.ts';
import { anchor, policyText } from '../ledger/anchored-vectors.ts';
import { tickingClock } from '../ledger/ledger-fixture.ts';
import { everyNth, nth } from '../nth.ts';
import { temporaryFolder } from '../snapshot/temporary-folder.ts';
import { openWatched, violationsOf } from './open-page.ts';
import { changedBytes, judged, said, type Said, type Task } from './verify-in-page.ts';

const verifier = fileURLToPath(new URL('../../docs/verifier/', import.meta.url));
const vectors = JSON.parse(readFileSync(join(verifier, 'vectors/vectors.json'), 'utf8')) as {
  name: string;
  kept: Record<'publicKey' | 'checkpoint' | 'policy', string | null>;
}[];
const proofs = readdirSync(join(verifier, 'proofs')).filter((file) => file !== 'vectors.json');

const open = (): Promise<Page> => openWatched(verifyPagePath.href, {});

/** What is chosen on the page, by the field; and the command that says the same. */
type Given = Partial<Record<'file' | 'folder' | 'public-key' | 'policy' | 'checkpoint' | 'receipt', string>> & {
  certificates?: string[];
};

/** What verify.mjs says as a command. Its certificates are named as the page names them. */
function commanded({ file, folder, certificates = [], ...kept }: Given): Said {
  const place = temporaryFolder();
  const options = Object.entries(kept).flatMap(([name, path]) => [`--${name}`, path]);
  mkdirSync(join(place, 'certificates'));
  for (const path of certificates) {
    const named = `certificates/${path.split('/').at(-1) ?? ''}`;
    cpSync(path, join(place, named));
    options.push('--certificate', named);
  }
  const args = [join(verifier, 'verify.mjs'), file ?? folder ?? '', ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: place, encoding: 'utf8' });
  const kind = { 0: 'ok', 3: 'partly' }[status ?? 1] ?? 'bad';
  // Without a verdict the page gives the reason, and prints nothing.
  return status === 2 ? { kind, lines: '', reason: stderr.trim() } : { kind, lines: stdout.trimEnd(), reason: '' };
}

async function chosen(page: Page, given: Given): Promise<Said> {
  await page.click('button[type=reset]');
  const { file, folder, ...kept } = given;
  if (folder !== undefined) await page.setInputFiles('#folder', folder);
  for (const [id, path] of Object.entries(kept)) await page.setInputFiles(`#${id}`, path);
  if (file !== undefined) await page.setInputFiles('#file', file);
  return said(page);
}

function textFile(text: string, name = 'kept'): string {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return file;
}

/** A case as the page's worker takes it, and what the command says of the same files under the same names. */
function commandOf(given: Case): { task: Task; said: () => { code: number | null; text: string } } {
  const { text, certificates, kept } = given;
  const folder = temporaryFolder();
  const args = ['checked'];
  if (text === undefined) writeCase(given, join(folder, 'checked'));
  else writeFileSync(join(folder, 'checked'), text);
  const add = (option: string, name: string, content: string | Buffer | undefined): void => {
    if (content === undefined) return;
    writeFileSync(join(folder, name), content);
    args.push(option, name);
  };
  add('--public-key', 'kept-key', kept.publicKey);
  if (text === undefined) {
    add('--checkpoint', 'kept-checkpoint', kept.checkpoint);
    add('--receipt', 'kept-receipt', kept.receipt);
    for (const [name, bytes] of certificates) add('--certificate', `certificate ${name}`, bytes);
  }
  const files = Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name))
      .map((path) => [path.slice(folder.length + 1), readFileSync(path, 'base64')]),
  );
  const said = (): { code: number | null; text: string } => {
    const { status, stdout } = spawnSync(process.execPath, [join(verifier, 'verify.mjs'), ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
    return { code: status, text: stdout.trimEnd() };
  };
  return { task: { args, files }, said };
}

/** Has the page say of all what the command says of them. Returns the colours, by their number. */
async function compare(all: readonly Given[]): Promise<Record<string, number>> {
  const page = await open();
  const kinds: Record<string, number> = {};
  for (const given of all) {
    const found = await chosen(page, given);
    expect({ given, ...found }).toEqual({ given, ...commanded(given) });
    kinds[found.kind] = (kinds[found.kind] ?? 0) + 1;
  }
  return kinds;
}

describe('the page of the verifier', () => {
  it('says of every bundle and receipt among the vectors what verify.mjs says', async () => {
    const kinds = await compare(everyNth(proofs).map((name) => ({ file: join(verifier, 'proofs', name) })));
    expect(kinds).toMatchObject({ bad: expect.any(Number), partly: expect.any(Number) });
  });

  it('says of every ledger among the vectors what verify.mjs says', async () => {
    const kinds = await compare(
      everyNth(vectors).map(({ name, kept: { publicKey, checkpoint, policy } }) => {
        const given: Given = { folder: join(verifier, 'vectors', name) };
        if (publicKey !== null) given['public-key'] = textFile(publicKey);
        if (checkpoint !== null) given.checkpoint = textFile(checkpoint);
        if (policy !== null) given.policy = textFile(policy);
        return given;
      }),
    );
    expect(kinds).toMatchObject({ bad: expect.any(Number), partly: expect.any(Number), ok: expect.any(Number) });
  });

  it('says of damaged ledgers, bundles and receipts what verify.mjs says', async () => {
    const sound = soundCases();
    const seeds = Array.from({ length: 60 }, (_each, at) => at + 1);
    const cases = seeds.map((seed) => damaged(sound, randomOf(seed)).given);
    const commands = cases.map(commandOf);
    const found = await judged(
      await open(),
      commands.map(({ task }) => task),
    );
    const wrong = found.flatMap((one, at) => {
      const said = commands[at]?.said();
      return JSON.stringify(one) === JSON.stringify(said) ? [] : [{ seed: seeds[at], page: one, command: said }];
    });
    expect(wrong).toEqual([]);
    expect(new Set(found.map(({ code }) => code))).toEqual(new Set([0, 1, 3]));
  }, 600_000);

  it('refuses a bundle after a change of a byte', async () => {
    const text = readFileSync(join(verifier, 'proofs/bundle.json'), 'utf8');
    const { public_keys: keys } = JSON.parse(text) as { public_keys: string };
    const codes = await changedBytes(await open(), { text, keys, nth: 11 * nth });
    expect(Object.keys(codes)).toEqual(['1']);
    expect(codes['1']).toHaveLength(Math.ceil(Buffer.byteLength(text) / (11 * nth)));
  }, 600_000);

  it('holds a ledger against all that was kept, as verify.mjs does', async () => {
    const { dataDir, keys } = bundleFolder();
    const { text, page } = bundleOf(dataDir, 1);
    const [bundle, certificatePage] = [textFile(text), textFile(page, 'certificate.html')];
    const kept = {
      'public-key': textFile(keys),
      checkpoint: textFile(openLedger(dataDir, tickingClock(Date.UTC(2026, 10, 21))).checkpoint().text),
    };
    const folder = join(dataDir, 'ledger');
    const certificates = [1, 2].map((n) =>
      textFile((JSON.parse(bundleOf(dataDir, n).text) as { certificate: string }).certificate, `${n}.json`),
    );
    const other = textFile('{"__proto__":{"request":1},"format_version":1}', '__proto__');
    const receipt = join(verifier, 'proofs/receipt.json');
    const kinds = await compare([
      { file: bundle, 'public-key': kept['public-key'] },
      { file: certificatePage },
      { file: textFile(text.replace('{', '{"__proto__":{"ok":true},')) },
      { folder, ...kept },
      { folder, ...kept, certificates },
      { folder, ...kept, certificates: [...certificates, other], receipt },
      { folder, policy: bundle },
      { folder, 'public-key': bundle },
      { file: bundle, policy: textFile('{') },
    ]);
    expect(kinds).toEqual({ ok: 3, partly: 1, bad: 5 });
    rmSync(dataDir, { recursive: true });
  });

  it('gives no verdict where the browser cannot check a signature that verify.mjs can, and checks those of its curves', async () => {
    const given = (key: NonNullable<TokenShape['key']>, digest: 'sha256' | 'sha384' | 'sha512'): Given => {
      const folder = join(temporaryFolder(), 'ledger');
      cpSync(join(verifier, 'vectors/good'), folder, { recursive: true });
      anchor(folder, { shape: { key, digest } });
      const time_stamps = { needed: 1, authorities: [testKey(`${key}.pem`)] };
      return { folder, policy: textFile(policyText(folder, { time_stamps })) };
    };
    expect(await compare([given('authority-p384', 'sha384'), given('authority-p521', 'sha512')])).toEqual({ ok: 2 });
    const other = given('authority-other-curve', 'sha256');
    expect(commanded(other)).toMatchObject({ kind: 'ok' });
    expect(await chosen(await open(), other)).toEqual({
      kind: 'bad',
      lines: '',
      reason: 'the key of a time stamp is on a curve that browsers do not know; verify.mjs checks it',
    });
  });

  it('takes the verdict away as soon as something else is chosen, and says why it has none', async () => {
    const page = await open();
    const file = textFile(readFileSync(join(verifier, 'proofs/bundle.json'), 'utf8'), 'gone.json');
    expect(await chosen(page, { file })).toMatchObject({ kind: 'partly' });
    // Between the choice and the next verdict.
    const between = await page.evaluate<string[]>(`(() => {
      const files = new DataTransfer();
      files.items.add(new File(['x'], '<img src=x onerror=alert(1)>'));
      document.getElementById('file').files = files.files;
      document.getElementById('file').dispatchEvent(new Event('change', { bubbles: true }));
      const said = document.getElementById('said');
      return [said.className, said.textContent, document.getElementById('details').textContent];
    })()`);
    expect(between).toEqual(['', 'Checking <img src=x onerror=alert(1)> …', '']);
    expect(await said(page)).toMatchObject({ kind: 'bad', lines: expect.stringMatching(/not_a_bundle\n.*NOT OK$/s) });
    expect(await page.locator('img').count()).toBe(0);
    // A name is no command for who types the command that is shown.
    const evil = textFile('x', `--a'; touch b; '`);
    await chosen(page, { file: evil, 'public-key': textFile('x', '--policy') });
    expect(await page.locator('dd').allTextContents()).toContain(
      String.raw`node verify.mjs './--a'\''; touch b; '\''' --public-key ./--policy`,
    );
    await page.setInputFiles('#file', []);
    await page.setInputFiles('#public-key', []);
    expect(await page.locator('#said').textContent()).toBe('Nothing is checked yet.');
    // A file that is gone when it is read again.
    await page.setInputFiles('#file', file);
    expect(await said(page)).toMatchObject({ kind: 'partly' });
    writeFileSync(file, 'another');
    await page.setInputFiles('#public-key', textFile('x'));
    expect(await said(page)).toMatchObject({
      kind: 'bad',
      reason: expect.stringMatching(/could not be read|permission/),
    });
  });

  it('counts all problems, of which it shows the first ones', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'entries.jsonl'), '{\n'.repeat(1500));
    const page = await open();
    expect(await chosen(page, { folder })).toEqual(commanded({ folder }));
    expect(await page.locator('#said').textContent()).toMatch(/^NOT OK1501 things are wrong\./);
  });

  it('takes what is dropped: one file or one folder', async () => {
    const page = await open();
    const devtools = await page.context().newCDPSession(page);
    const drop = async (...files: string[]): Promise<Said> => {
      const data = { items: [], files, dragOperationsMask: 1 };
      for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
        await devtools.send('Input.dispatchDragEvent', { type, x: 300, y: 60, data });
      return said(page);
    };
    const [folder, file] = [join(verifier, 'vectors/good'), join(verifier, 'proofs/receipt.json')];
    expect(await drop(folder)).toEqual(commanded({ folder }));
    expect(await drop(file)).toEqual(commanded({ file }));
    expect(await drop(folder, file)).toMatchObject({
      kind: 'bad',
      reason: expect.stringMatching(/^drop one file, or/),
    });
    expect(await drop(join(verifier, 'vectors'))).toMatchObject({ reason: expect.stringMatching(/no entries\.jsonl/) });
  });

  it.each(['light', 'dark'] as const)(
    'has no violation in %s, is cut nowhere and prints the verdict alone',
    async (colorScheme) => {
      const page = await openWatched(verifyPagePath.href, { colorScheme, viewport: { width: 390, height: 844 } });
      expect(await violationsOf(page)).toEqual([]);
      for (const name of ['bundle', 'bundle-superseded-reopened', 'bundle-boasting-rows']) {
        await chosen(page, { file: join(verifier, 'proofs', `${name}.json`) });
        await page.locator('summary').click();
        expect(await violationsOf(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')).toBe(
          0,
        );
      }
      await page.emulateMedia({ media: 'print' });
      expect(await page.locator('form').isVisible()).toBe(false);
      expect(await page.locator('#said').textContent()).toMatch(/^NOT OK/);
    },
  );
});
