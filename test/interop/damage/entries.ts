import { sha256 } from '../../../src/core/digest.ts';
import { publicKeyOf, signBytes, vkeyOf } from '../../../src/ledger/note.ts';
import { keysFile, lineOf, linesOf, privateKeys, recordOf, renumber, setLines, textOf } from './case.ts';
import { sign, signAgain, signerOf, type Case, type Json } from './case.ts';
import { certifyAgain } from './history.ts';
import type { Random } from './random.ts';
import { randomRecord, shapes, valueFor } from './records.ts';

export type Damage = (given: Case, random: Random) => void;

function onLines(change: (lines: Buffer[], at: number, random: Random) => Uint8Array[]): Damage {
  return (given, random) => {
    const lines = linesOf(given);
    if (lines.length > 0) setLines(given, change(lines, random.below(lines.length), random));
  };
}

function onRecord(change: (record: Json, random: Random, given: Case) => Json): Damage {
  return (given, random) => {
    const lines = linesOf(given);
    const at = random.below(lines.length);
    const record = lines[at] && recordOf(lines[at]);
    if (record) setLines(given, lines.with(at, lineOf(change(record, random, given))));
  };
}

/** Other spellings of a line, and lines that are none. */
const spellings: ((line: string, random: Random) => string)[] = [
  (line) => line.replace('{', '{"at":"2026-11-20T12:00:01.000Z",'),
  (line) => line.replace('{', '{"__proto__":{},'),
  (line) => line.replace('{', '{"constructor":1,'),
  (line) => line.replace('{', '{"":1,'),
  (line, random) =>
    line.replace(/(?<=:)\d+(?=[,}])/, (digits) => `${digits}${random.pick(['.0', 'e0', '.5', 'E+0', '0', '.', 'n'])}`),
  (line, random) =>
    line.replace(/(?<=:)\d+(?=[,}])/, () =>
      random.pick([
        '-0',
        '-1',
        '01',
        '9007199254740991',
        '9007199254740992',
        '1e400',
        '-9007199254740993',
        '1'.repeat(5000),
        'NaN',
        'Infinity',
        '+1',
      ]),
    ),
  (line) => line.replace(/[a-z](?=[a-z]*")/, (letter) => String.raw`\u00${letter.charCodeAt(0).toString(16)}`),
  (line, random) =>
    line.replace(
      /:"[^"]*"/,
      () =>
        `:"${random.pick([String.raw`\ud800`, String.raw`\uDC00\ud83d`, String.raw`😀`, '😀', '\u007f', String.raw`\u001f`, '\u2028', String.raw`\/`, '\t', '\u0000', 'é'])}"`,
    ),
  (line) => `\uFEFF${line}`,
  (line) => `${line}\r`,
  (line, random) => `${line}${random.pick([' ', '\t', '\u00a0', '\0', '}', ',', '{}'])}`,
  (line, random) => `${random.pick([' ', '\u2003', '\v', '\f'])}${line}`,
  (line) => line.replace(':', ': '),
  (line) => line.replace(/"([a-z_]+)"/, '$1'),
  (line) => line.replace(',', ',,'),
  (line) => line.replace('}', ',}'),
  (line) => line.replaceAll('"', "'"),
  (line) => `[${line}]`,
  (_line, random) => random.pick(['', 'null', '{}', '[]', '0', '"x"', 'true', '{', '}', '""', 'undefined', '/**/{}']),
  (_line, random) => '['.repeat(random.pick([99, 100, 101, 102, 5000, 100_000])),
  (line, random) => {
    const depth = random.pick([98, 99, 100, 101, 102, 5000, 200_000]);
    return random.pick([
      `${'['.repeat(depth)}${']'.repeat(depth)}`,
      line.replace('{', `{"a":${'['.repeat(depth)}${']'.repeat(depth)},`),
    ]);
  },
  (line, random) => line.replace('{', `{"a":"${'x'.repeat(2 ** 20 - line.length - 7 + random.pick([-1, 0, 1]))}",`),
  (line) => line.replace(/"[a-z_]+":[^,]*,/, ''),
  (line, random) => line.slice(0, random.below(line.length)),
];

/** Values that no field holds, or only some. */
const oddValues: unknown[] = [null, true, false, 0, 1, -1, 2 ** 53 - 1, 2 ** 53, 1.5, '', 'x', [], {}, ['deleted'], [[]], '1', 'a'.repeat(64), 'A'.repeat(64), '2026-02-30T12:00:00.000Z', '2026-11-20T24:00:00.000Z', '2026-11-20T12:00:60.000Z', '2026-11-20T12:00:00Z', '0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z', '2026-11-20T12:00:00.000z', '٢٠٢٦-11-20T12:00:00.000Z', '00000000-0000-4000-8000-000000000001\n', 'snapshot:persons/20261120T125500.123Z/part-0001.parquet', 'snapshot:x/20261120T125500.123Z/part-00001.parquet', 'file', 'toString', '__proto__']; // prettier-ignore

function withOddValue(record: Json, random: Random): Json {
  const name = random.pick(Object.keys(record));
  return { ...record, [name]: random.pick(oddValues) };
}

function withOtherValue(record: Json, random: Random): Json {
  const name = random.pick(Object.keys(record).filter((each) => each !== 'type'));
  const type = String(record['type']);
  const value = record[name];
  const isNumber = typeof value === 'number' && random.chance(0.5);
  return { ...record, [name]: isNumber ? Math.max(0, value + random.pick([-1, 1])) : valueFor(type, name, random) };
}

function withField(record: Json, random: Random): Json {
  const type = String(record['type']);
  const names = [shapes[type] ?? '', random.pick(Object.values(shapes))].join(' ').trim().split(/ +/);
  const name = random.pick(names).replace('?', '');
  return { ...record, [name]: valueFor(type, name, random) };
}

/** Fields of another record of the ledger in place of a record's own. */
function withFieldsOfOther(record: Json, random: Random, given: Case): Json {
  const other = recordOf(random.pick(linesOf(given))) ?? {};
  const name = random.pick(Object.keys(record));
  return name in other ? { ...record, [name]: other[name] } : record;
}

function withTime(record: Json, random: Random): Json {
  const times = ['due_at', 'until', 'events_expected_by'];
  const name = times.find((each) => each in record && random.chance(0.7)) ?? 'at';
  const ms = Date.parse(String(record[name])) + random.pick([-1, 1, -1000, 86_400_000, -86_400_000, 40 * 86_400_000]);
  return Number.isNaN(ms) ? record : { ...record, [name]: new Date(ms).toISOString() };
}

/** A rotation of the key somewhere, right or not, that the list of keys names or not. */
const rotate: Damage = (given, random) => {
  const lines = linesOf(given);
  const at = random.below(lines.length + 1);
  const signer = signerOf(given, at);
  if (!signer) return;
  const { name, privateKey } = signer;
  const neutral = Buffer.concat([Buffer.of(1), Buffer.alloc(31)]);
  const smallOrder = [
    neutral,
    Buffer.alloc(32),
    Buffer.from(`ee${'ff'.repeat(30)}ff`, 'hex'),
    Buffer.from(`26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85`, 'hex'),
    Buffer.alloc(32, 0xff),
  ];
  const publicKey = random.pick([...privateKeys.map(publicKeyOf), ...smallOrder]);
  const line = vkeyOf({ name, publicKey });
  const signed = Buffer.from(random.pick([`${line}\n`, `${line}\n`, `${line}\n`, line]));
  const record = {
    type: 'key_rotated',
    at: recordOf(lines[Math.max(0, at - 1)] ?? Buffer.alloc(0))?.['at'] ?? '2026-11-20T12:00:00.000Z',
    seq: at,
    old_key: publicKeyOf(random.chance(0.85) ? privateKey : random.pick(privateKeys)).toString('hex'),
    new_key: publicKey.toString('hex'),
    signature: signBytes(signed, random.chance(0.85) ? privateKey : random.pick(privateKeys)).toString('hex'),
  };
  setLines(given, lines.toSpliced(at, 0, lineOf(record)));
  if (random.chance(0.7)) given.files.set(keysFile, Buffer.from(`${textOf(given, keysFile)}${line}\n`));
};

/** Another text for a certificate, which the entries name. */
export function boast(given: Case, name: string, bytes: Buffer): void {
  const before = given.certificates.get(name) ?? Buffer.alloc(0);
  const [from, to] = [before, bytes].map((each) => sha256(each)) as [string, string];
  given.certificates.set(name, bytes);
  setLines(
    given,
    linesOf(given).map((line) => Buffer.from(line.toString('latin1').replaceAll(from, to), 'latin1')),
  );
}

export const entryDamages: Record<string, Damage> = {
  'a line dropped': onLines((lines, at) => lines.toSpliced(at, 1)),
  'lines dropped': onLines((lines, at, random) => lines.toSpliced(at, 1 + random.below(4))),
  'a line twice': onLines((lines, at) => lines.toSpliced(at, 0, lines[at] ?? Buffer.alloc(0))),
  'lines exchanged': onLines((lines, at, random) => {
    const other = random.below(lines.length);
    return lines.with(at, lines[other] ?? Buffer.alloc(0)).with(other, lines[at] ?? Buffer.alloc(0));
  }),
  'a line moved': onLines((lines, at, random) => {
    const [line = Buffer.alloc(0)] = lines.slice(at);
    return lines.toSpliced(at, 1).toSpliced(random.below(lines.length), 0, line);
  }),
  'the end cut': onLines((lines, at) => lines.slice(0, at)),
  'lines in reverse': onLines((lines, at) => [...lines.slice(0, at), ...lines.slice(at).toReversed()]),
  'a line in other spelling': onLines((lines, at, random) =>
    lines.with(at, Buffer.from(random.pick(spellings)(String(lines[at]), random))),
  ),
  'bytes that are no UTF-8': onLines((lines, at, random) => {
    const line = lines[at] ?? Buffer.alloc(0);
    const place = random.below(line.length);
    const odd = Buffer.from(random.pick(['ff', 'c0af', 'eda080', 'f4908080', 'e282', '80']), 'hex');
    return lines.with(at, Buffer.concat([line.subarray(0, place), odd, line.subarray(place)]));
  }),
  'an odd value': onRecord(withOddValue),
  'another value': onRecord(withOtherValue),
  'a field more': onRecord(withField),
  'a field less': onRecord((record, random) => {
    const gone = random.pick(Object.keys(record));
    return Object.fromEntries(Object.entries(record).filter(([name]) => name !== gone));
  }),
  'another type': onRecord((record, random) => ({
    ...record,
    type: random.pick([...Object.keys(shapes), 'erased', 'toString']),
  })),
  'a field of another entry': onRecord(withFieldsOfOther),
  'another time': onRecord(withTime),
  'a record put in': (given, random) => {
    const lines = linesOf(given);
    const at = random.below(lines.length + 1);
    const { request, requests, generation, at: time } = recordOf(lines[at] ?? lines[0] ?? Buffer.alloc(0)) ?? {};
    const fitting = { request: request ?? requests, requests: requests ?? [request], generation };
    const record = randomRecord(random, (type) =>
      Object.fromEntries(
        Object.entries(fitting).filter(
          ([name, value]) => value !== undefined && shapes[type]?.split(' ').includes(name),
        ),
      ),
    );
    setLines(given, lines.toSpliced(at, 0, lineOf({ ...record, seq: at, at: time ?? '2026-11-20T12:00:00.000Z' })));
  },
  'a rotation of the key': rotate,
};

/** What an attacker does after changing entries: nothing, numbers them anew, or signs them too, and has certificates follow. */
export function cover(given: Case, random: Random): void {
  if (random.chance(0.2)) return;
  renumber(given);
  if (random.chance(0.25)) certifyAgain(given);
  if (random.chance(0.8)) signAgain(given, random);
  else if (random.chance(0.5)) sign(given, random.below(linesOf(given).length + 1));
}
