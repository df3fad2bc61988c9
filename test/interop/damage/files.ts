import { checkpointText } from '../../../src/ledger/checkpoint.ts';
import { leafHash } from '../../../src/ledger/merkle.ts';
import { rootOf } from '../../../src/ledger/merkle-proof.ts';
import { privateKeyOf, publicKeyOf, vkeyOf } from '../../../src/ledger/note.ts';
import {
  checkpointsOf,
  keysFile,
  lineOf,
  linesOf,
  privateKeys,
  recordOf,
  setLines,
  signerOf,
  textOf,
  type Case,
} from './case.ts';
import type { Damage } from './entries.ts';
import type { Random } from './random.ts';

/** Changes bytes, somewhere. */
export function changeBytes(bytes: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  const flipped = Buffer.of((after[0] ?? 0) ^ (1 << random.below(8)));
  return random.pick([
    () => Buffer.concat([before, flipped, after.subarray(1)]),
    () => Buffer.concat([before, after.subarray(1)]),
    () => Buffer.concat([before, after.subarray(0, 1), after]),
    () => Buffer.concat([before, Buffer.of(random.below(256)), after]),
    () => before,
    () => Buffer.concat([bytes, Buffer.from(random.pick(['\n', '\n\n', ' ', '\r\n', 'x', '\0']))]),
    () => Buffer.concat([Buffer.from(random.pick(['\n', ' ', '\uFEFF', '\r\n'])), bytes]),
  ])();
}

function onCheckpoint(change: (text: string, random: Random, given: Case) => string): Damage {
  return (given, random) => {
    const files = checkpointsOf(given);
    if (files.length === 0) return;
    const file = random.pick(files);
    given.files.set(file, Buffer.from(change(textOf(given, file), random, given)));
  };
}

function onKeys(change: (lines: string[], random: Random) => string[]): Damage {
  return (given, random) => {
    const lines = textOf(given, keysFile).split('\n').slice(0, -1);
    if (lines.length === 0) return;
    given.files.set(
      keysFile,
      Buffer.from(
        change(lines, random)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    );
  };
}

/** Other spellings of a text in base64. */
function spellOtherwise(encoded: string, random: Random): string {
  const last = encoded.replace(/=*$/, '').slice(-1);
  const next = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return random.pick([
    encoded.replace(/=+$/, ''),
    `${encoded}=`,
    encoded.replaceAll('+', '-').replaceAll('/', '_'),
    encoded.replace(
      new RegExp(`${last.replace(/[+/]/, String.raw`\$&`)}(=*)$`),
      (_all, padding: string) => `${next[(next.indexOf(last) + 1) % 64] ?? ''}${padding}`,
    ),
    `${encoded.slice(0, 8)} ${encoded.slice(8)}`,
    `${encoded} `,
    encoded.slice(0, 8),
    encoded.slice(0, 4),
    '',
    '====',
  ]);
}

const stranger = { name: 'someone.example', privateKey: privateKeyOf(Buffer.alloc(32, 0x44)) };

/** A checkpoint that is signed, of whatever size and root. */
function signedAnew(text: string, random: Random, given: Case): string {
  const [name = '', size = '0'] = text.split('\n');
  const lines = linesOf(given);
  const other = random.pick([Number(size), 0, lines.length, lines.length + 1, random.below(lines.length + 1)]);
  const root = random.chance(0.6) ? rootOf(lines.slice(0, other).map(leafHash)) : Buffer.alloc(32, random.below(256));
  const privateKey = random.chance(0.6) ? signerOf(given, other)?.privateKey : random.pick(privateKeys);
  if (!privateKey) return text;
  const origin = random.pick([name, name, name, `${name}0`, 'analytics-mirror/0', `${name}/x`]);
  return checkpointText({ size: other, root }, { name: origin, privateKey });
}

/** A line more, or fewer, or other ones. */
function withOtherSignatures(text: string, random: Random, given: Case): string {
  const [content = '', signatures = ''] = text.split('\n\n');
  const [name = '', size = '0'] = content.split('\n');
  const root = rootOf(linesOf(given).slice(0, Number(size)).map(leafHash));
  const by = (signer: typeof stranger): string =>
    checkpointText({ size: Number(size), root }, signer).split('\n\n')[1] ?? '';
  const more = random.pick([
    by(stranger),
    by({ name, privateKey: random.pick(privateKeys) }),
    `— ${name} ${Buffer.concat([Buffer.from(signatures.split(' ')[2] ?? '', 'base64').subarray(0, 4), Buffer.alloc(random.pick([0, 1, 63, 64, 65]), 7)]).toString('base64')}\n`,
    '— someone.example AAAAAAAA\n',
    '— someone.example AAAAAA==\n',
    '— someone.example AAAA\n',
    '— some+one.example AAAAAAAA\n',
    '— some one.example AAAAAAAA\n',
    '—someone.example AAAAAAAA\n',
    '- someone.example AAAAAAAA\n',
    '— someone.example\n',
    '\n',
    'x\n',
  ]);
  return random.pick([
    `${content}\n\n${signatures}${more}`,
    `${content}\n\n${more}${signatures}`,
    `${content}\n\n${more}`,
    `${content}\n\n`,
    `${content}\n`,
    content,
  ]);
}

/** Three lines that are not quite three good lines. */
function withOtherContent(text: string, random: Random): string {
  const [origin = '', size = '', root = '', ...rest] = text.split('\n');
  const lines = random.pick([
    [
      origin,
      random.pick([
        `0${size}`,
        `+${size}`,
        `-${size}`,
        `${size}.0`,
        ` ${size}`,
        `${size} `,
        '',
        '9'.repeat(15),
        '9'.repeat(16),
        '1e1',
        '٥',
      ]),
      root,
    ],
    [origin, size, spellOtherwise(root, random)],
    [random.pick(['', ` ${origin}`, `${origin} `, origin.toUpperCase(), `${origin}\r`, `${origin}\u2028`]), size, root],
    [origin, size, root, 'an extension'],
    [origin, size, root, ''],
    [origin, root, size],
    [origin, size],
  ]);
  return [...lines, ...rest].join('\n');
}

const otherFiles = ['000000005', '5.txt', '00000005.txt', '0000000005.txt', '000000005.TXT', '000000005.txt.bak', 'note.txt', '.txt', 'x', '.hidden', '000000000.txt', '123456789012345.txt', '1234567890123456.txt']; // prettier-ignore

/** Words that whoever has no key can append: that something differs or is mended, and what stands on the ledger already. */
const appendWords: Damage = (given, random) => {
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const lines = linesOf(given);
    const last = recordOf(lines.at(-1) ?? Buffer.alloc(0)) ?? {};
    const part = random.pick(['snapshots', 'requests']);
    const word = random.pick([
      { type: 'differs', part, items: 1 },
      { type: 'mended', part, items: 1 },
      recordOf(random.pick(lines)),
    ]);
    setLines(given, [...lines, lineOf({ at: last['at'] ?? '2026-11-20T12:00:00.000Z', ...word, seq: lines.length })]);
  }
};

export const fileDamages: Record<string, Damage> = {
  'words appended without a key': (given, random) => {
    if (linesOf(given).length > 0) appendWords(given, random);
  },
  'bytes of the entries': (given, random) => {
    const bytes = given.files.get('entries.jsonl');
    if (bytes) given.files.set('entries.jsonl', changeBytes(bytes, random));
  },
  'bytes of the keys': (given, random) => {
    const bytes = given.files.get(keysFile);
    if (bytes) given.files.set(keysFile, changeBytes(bytes, random));
  },
  'bytes of a checkpoint': (given, random) => {
    const files = checkpointsOf(given);
    if (files.length === 0) return;
    const file = random.pick(files);
    given.files.set(file, changeBytes(given.files.get(file) ?? Buffer.alloc(0), random));
  },
  'a file gone': (given, random) => void given.files.delete(random.pick([...given.files.keys(), keysFile])),
  'a folder for a file': (given, random) => void given.files.set(random.pick([...given.files.keys()]), null),
  'a checkpoint gone': (given, random) => {
    const files = checkpointsOf(given);
    if (files.length > 0) given.files.delete(random.pick(files));
  },
  'a checkpoint under another name': (given, random) => {
    const files = checkpointsOf(given);
    if (files.length === 0) return;
    const file = random.pick(files);
    const name = random.chance(0.5)
      ? random.pick(otherFiles)
      : String(random.below(40)).padStart(9, '0').concat('.txt');
    given.files.set(`checkpoints/${name}`, given.files.get(file) ?? null);
    if (random.chance(0.5)) given.files.delete(file);
  },
  'another file': (given, random) => {
    const path = random.pick(['checkpoints/', '']) + random.pick(otherFiles);
    given.files.set(path, random.pick([null, Buffer.from('x'), Buffer.alloc(0)]));
  },
  'a checkpoint signed anew': onCheckpoint(signedAnew),
  'other signatures': onCheckpoint(withOtherSignatures),
  'other content of a checkpoint': onCheckpoint((text, random) => withOtherContent(text, random)),
  'base64 in other spelling': onCheckpoint((text, random) =>
    text.replace(/(?<=^— \S+ )\S+$/m, (encoded) => spellOtherwise(encoded, random)),
  ),
  'a checkpoint with other ends of lines': onCheckpoint((text, random) =>
    random.pick([
      text.replaceAll('\n', '\r\n'),
      text.trimEnd(),
      `${text}\n`,
      text.replace('\n\n', '\n\n\n'),
      text.replace('\n\n', '\n'),
    ]),
  ),
  'a key less': onKeys((lines, random) => lines.toSpliced(random.below(lines.length), 1)),
  'keys exchanged': onKeys((lines) => lines.toReversed()),
  'a key twice': onKeys((lines, random) => lines.toSpliced(random.below(lines.length + 1), 0, random.pick(lines))),
  'another key': onKeys((lines, random) => {
    const name = lines[0]?.split('+')[0] ?? '';
    const own = [name, name, 'another'].map((each) =>
      vkeyOf({ name: each, publicKey: publicKeyOf(random.pick(privateKeys)) }),
    );
    return random.chance(0.5) ? [...lines, random.pick(own)] : lines.with(random.below(lines.length), random.pick(own));
  }),
  'a key in other spelling': onKeys((lines, random) => {
    const at = random.below(lines.length);
    const [name = '', id = '', encoded = ''] = lines[at]?.split('+', 3) ?? [];
    const spelt = random.pick([
      `${name}+${id.toUpperCase()}+${encoded}`,
      `${name}+${id}+${spellOtherwise(lines[at]?.slice(name.length + id.length + 2) ?? '', random)}`,
      `${name} +${id}+${encoded}`,
      `${name}+00000000+${encoded}`,
      ` ${lines[at] ?? ''}`,
      `${lines[at] ?? ''}\r`,
      `${lines[at] ?? ''}\n`,
      '',
    ]);
    return lines.with(at, spelt);
  }),
  'the name of the keys': onKeys((lines, random) => {
    const other = random.pick(['analytics-mirror/00000000000000000000000000000000', 'x', 'analytics-mirror']);
    const isAll = random.chance(0.7);
    return lines.map((line, at) => {
      const publicKey = Buffer.from(line.split('+').slice(2).join('+'), 'base64').subarray(1);
      return isAll || at === 0 ? vkeyOf({ name: other, publicKey }) : line;
    });
  }),
  'no newline after the keys': (given) =>
    void given.files.set(keysFile, Buffer.from(textOf(given, keysFile).trimEnd())),
  'no keys': (given) => void given.files.set(keysFile, Buffer.alloc(0)),
};
