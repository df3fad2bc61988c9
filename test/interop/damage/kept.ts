import { readFileSync } from 'node:fs';
import { canonicalJson } from '../../../src/ledger/canonical-json.ts';
import { publicKeyOf, vkeyOf } from '../../../src/ledger/note.ts';
import {
  checkpointsOf,
  keysFile,
  linesOf,
  privateKeys,
  recordOf,
  signAgain,
  textOf,
  type Case,
  type Json,
} from './case.ts';
import { boast, type Damage } from './entries.ts';
import { changeBytes } from './files.ts';
import type { Random } from './random.ts';

const bundle = readFileSync(new URL('../../../docs/verifier/proofs/bundle.json', import.meta.url), 'utf8');

/** Keys that were kept elsewhere, right or not. */
function keptKey(given: Case, random: Random): string {
  const lines = textOf(given, keysFile).split('\n').slice(0, -1);
  const [first = '', ...more] = lines;
  const name = first.split('+')[0] ?? '';
  return random.pick([
    `${first}\n`,
    `${first}\n`,
    `${more.at(-1) ?? first}\n`,
    `${more.at(-1) ?? first}\n`,
    `${lines.join('\n')}\n`,
    `${lines.toReversed().join('\n')}\n`,
    first,
    '',
    '\n',
    `${first}\n\n`,
    `${first}\n${vkeyOf({ name, publicKey: publicKeyOf(random.pick(privateKeys)) })}\n`,
    `${vkeyOf({ name: 'another', publicKey: publicKeyOf(random.pick(privateKeys)) })}\n`,
    `${first}x\n`,
  ]);
}

/** Changes a value somewhere in JSON. */
export function changeValue(value: unknown, random: Random): unknown {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.8)) {
    const at = random.below(value.length);
    return random.pick([
      () => value.toSpliced(at, 1),
      () => value.toSpliced(at, 0, value[at]),
      () => value.toReversed(),
      () => value.with(at, changeValue(value[at], random)),
      () => value.with(at, changeValue(value[at], random)),
    ])() as unknown;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && random.chance(0.95)) {
    const own = value as Json;
    const name = random.pick(Object.keys(own));
    if (random.chance(0.05)) return Object.fromEntries(Object.entries(own).filter(([each]) => each !== name));
    if (random.chance(0.05)) return { ...own, more: random.pick([null, 1, 'x']) };
    return { ...own, [name]: changeValue(own[name], random) };
  }
  if (typeof value === 'number' && random.chance(0.7)) return Math.max(0, value + random.pick([-1, 1]));
  if (typeof value === 'boolean' && random.chance(0.7)) return !value;
  if (typeof value === 'string' && random.chance(0.5))
    return `${value}${random.pick(['.', ' ', '\n', '\u200b', '\u2028', '😀', '<'])}`;
  if (typeof value === 'string' && random.chance(0.3)) return value.slice(1);
  return random.pick([
    null,
    0,
    1,
    '',
    'x',
    [],
    {},
    true,
    '2026-11-20T12:00:01.000Z',
    '00000000-0000-4000-8000-000000000002',
    'x'.repeat(200),
    '😀'.repeat(200),
    'x'.repeat(201),
    '\u0007',
    '1.2.3',
  ]);
}

/** The value of a text, with another value somewhere; the text itself where earlier damage left no JSON. */
function changeJson(text: string, random: Random): unknown {
  try {
    return changeValue(JSON.parse(text), random);
  } catch {
    return text;
  }
}

/** Another certificate that the entries name; sometimes signed too. */
const certify =
  (change: (text: string, random: Random) => string): Damage =>
  (given, random) => {
    const names = [...given.certificates.keys()];
    if (names.length === 0) return;
    const name = random.pick(names);
    const bytes = Buffer.from(change(String(given.certificates.get(name)), random));
    if (random.chance(0.2)) given.certificates.set(name, bytes);
    else boast(given, name, bytes);
    if (random.chance(0.8)) signAgain(given, random);
  };

function spell(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    return JSON.stringify(value);
  }
}

/** Words of a certificate that the operator states, which no entry shows. */
function withStated(text: string, random: Random): string {
  return text.replace(/(?<="stated":)\{.*?\}(?=,"subject")/, (stated) => spell(changeJson(stated, random)));
}

export const keptDamages: Record<string, Damage> = {
  'a kept key': (given, random) => void (given.kept.publicKey = keptKey(given, random)),
  'a kept checkpoint': (given, random) => {
    const files = checkpointsOf(given);
    if (files.length > 0) given.kept.checkpoint = textOf(given, random.pick(files));
  },
  'a kept checkpoint that is changed': (given, random) => {
    const files = checkpointsOf(given);
    const bytes = files.length > 0 ? Buffer.from(textOf(given, random.pick(files))) : Buffer.alloc(0);
    given.kept.checkpoint = changeBytes(bytes, random).toString('utf8');
  },
  'a kept receipt that is changed': (given, random) => {
    if (given.kept.receipt === undefined) return;
    const isText = random.chance(0.5);
    given.kept.receipt = isText
      ? changeBytes(Buffer.from(given.kept.receipt), random).toString('utf8')
      : `${JSON.stringify(changeJson(given.kept.receipt, random), null, 2)}\n`;
  },
  'a bundle as a receipt': (given) => void (given.kept.receipt = bundle),
  'no receipt': (given) => void delete given.kept.receipt,
  'another time of verification': (given, random) => {
    const at = linesOf(given).map((line) => Date.parse(String(recordOf(line)?.['at'])));
    const last = random.pick(at.filter((ms) => !Number.isNaN(ms))) as number | undefined;
    given.nowMs = (last ?? given.nowMs) + random.pick([0, 1, 86_400_000, 86_400_001, 86_399_999, -1, 40 * 86_400_000]);
  },
  'bytes of a certificate': certify((text, random) => changeBytes(Buffer.from(text), random).toString('utf8')),
  'a value of a certificate': certify((text, random) => spell(changeJson(text, random))),
  'stated words of a certificate': certify((text, random) => withStated(text, random)),
  'a certificate in other spelling': certify((text, random) =>
    random.pick([
      text.replace(
        '"format_version":1',
        `"format_version":${random.pick(['1.0', '1e0', '"1"', 'true', '2', '0.1e1', '10e-1'])}`,
      ),
      text.replace(
        /"generation":(\d+)/,
        (_all, n: string) => `"generation":${random.pick([`${n}.0`, `"${n}"`, 'true', 'null', '[1]', '2', '1e0'])}`,
      ),
      `${text}\n`,
      ` ${text}`,
      `\uFEFF${text}`,
      text.replace('{', '{"request":"00000000-0000-4000-8000-000000000009",'),
      text.replace('"origin"', String.raw`"origi\u006e"`),
      text.replace(/"request":"[^"]*"/, '"request":"00000000-0000-4000-8000-00000000000A"'),
      `[${text}]`,
      'null',
      '{',
      '',
    ]),
  ),
  'certificates exchanged': (given, random) => {
    const names = [...given.certificates.keys()];
    if (names.length === 0) return;
    const bytes = given.certificates.get(random.pick(names)) ?? Buffer.alloc(0);
    given.certificates.set(random.pick(names), bytes);
  },
};
