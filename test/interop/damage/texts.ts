import { canonicalJson } from '../../../src/ledger/canonical-json.ts';
import { checkpointText } from '../../../src/ledger/checkpoint.ts';
import { rootOf } from '../../../src/ledger/merkle-proof.ts';
import { inclusionProofs } from '../../ledger/inclusion-proof.ts';
import { leafHash } from '../../../src/ledger/merkle.ts';
import { proofText } from '../../../src/ledger/proof.ts';
import { keysFile, linesOf, recordOf, signerOf, textOf, type Case, type Json } from './case.ts';
import type { Damage } from './entries.ts';
import { changeBytes } from './files.ts';
import { changeValue } from './kept.ts';
import type { Random } from './random.ts';

type Entry = { line: string; proof: string };
type Carried = Json & { entries: Entry[] };

const begin = '<script type="application/json" id="bundle">';

/** Takes the JSON out of a bundle, page or receipt, and puts another in. */
function onJson(change: (value: Carried, random: Random) => unknown): Damage {
  return (given, random) => {
    const { text = '' } = given;
    const isPage = !text.startsWith('{');
    const from = isPage ? text.indexOf(begin) + begin.length : 0;
    const to = isPage ? text.indexOf('</script>', from) : text.length;
    try {
      const value = change(JSON.parse(text.slice(from, to)) as Carried, random);
      const isReceipt = text.startsWith('{\n');
      const json = isReceipt ? JSON.stringify(value, null, 2) : canonicalJson(value);
      given.text = `${text.slice(0, from)}${isPage ? json.replaceAll('<', String.raw`\u003c`) : json}\n${text.slice(to)}`;
    } catch {
      // What was damaged before may be no JSON any more.
    }
  };
}

const onEntries = (change: (entries: Entry[], at: number, random: Random) => Entry[]): Damage =>
  onJson((value, random) => {
    const { entries } = value;
    return entries.length === 0 ? value : { ...value, entries: change(entries, random.below(entries.length), random) };
  });

/** Changes what one proof says. */
const onProof = (change: (proof: string, random: Random, other: string) => string): Damage =>
  onEntries((entries, at, random) =>
    entries.map((entry, place) =>
      place === at ? { ...entry, proof: change(entry.proof, random, random.pick(entries).proof) } : entry,
    ),
  );

/** The bundle of a certificate of a ledger as it is, made by who holds the key. */
export function bundleOf(given: Case, random: Random): string | undefined {
  const lines = linesOf(given);
  const certificate = String(random.pick([...given.certificates.values()]));
  const size = random.chance(0.8) ? lines.length : random.below(lines.length + 1);
  const signer = signerOf(given, size);
  if (!signer) return undefined;
  try {
    const { request } = JSON.parse(certificate) as { request: string };
    const isOwn = (record: Json): boolean =>
      record['request'] === request || (record['requests'] as string[] | undefined)?.includes(request) === true;
    const wanted = lines.slice(0, size).flatMap((line, seq) => {
      const record = recordOf(line) ?? {};
      const isLater = ['key_rotated', 'differs', 'mended'].includes(String(record['type']));
      return isOwn(record) || isLater || random.chance(0.02) ? [seq] : [];
    });
    const leaves = lines.slice(0, size).map(leafHash);
    const checkpoint = checkpointText({ size, root: rootOf(leaves) }, signer);
    const hashes = inclusionProofs(leaves, wanted);
    const entries = wanted.map((index, at) => ({
      line: lines[index]?.toString('utf8') ?? '',
      proof: proofText({ index, hashes: hashes[at] ?? [], checkpoint }),
    }));
    return `${canonicalJson({ bundle: 'analytics-mirror/bundle@1', certificate, entries, public_keys: textOf(given, keysFile) })}\n`;
  } catch {
    return undefined;
  }
}

export const textDamages: Record<string, Damage> = {
  'bytes of a text': (given, random) =>
    void (given.text = changeBytes(Buffer.from(given.text ?? ''), random).toString('utf8')),
  'a value of a text': onJson((value, random) => changeValue(value, random)),
  'an entry less': onEntries((entries, at) => entries.toSpliced(at, 1)),
  'an entry twice': onEntries((entries, at) =>
    entries.flatMap((entry, place) => (place === at ? [entry, entry] : [entry])),
  ),
  'entries exchanged': onEntries((entries, at, random) => {
    const [one, other] = [entries[at], random.pick(entries)];
    return entries.map((entry) => (entry === one ? other : entry === other && one ? one : entry));
  }),
  'a line of a text': onEntries((entries, at, random) =>
    entries.map((entry, place) => {
      if (place !== at) return entry;
      const changed = random.chance(0.5)
        ? changeBytes(Buffer.from(entry.line), random).toString('utf8').replace('\n', '')
        : JSON.stringify(changeValue(JSON.parse(entry.line), random));
      return { ...entry, line: changed };
    }),
  ),
  'bytes of a proof': onProof((proof, random) => changeBytes(Buffer.from(proof), random).toString('utf8')),
  'the proof of another entry': onProof((_proof, _random, other) => other),
  'the checkpoint of another proof': onProof((proof, _random, other) =>
    proof.replace(/\n\n.*$/s, () => other.slice(other.indexOf('\n\n'))),
  ),
  'another way of a proof': onProof((proof, random) => {
    const [head = '', ...rest] = proof.split('\n\n');
    const [version = '', index = '', ...hashes] = head.split('\n');
    const at = random.below(hashes.length);
    const others = random.pick([
      hashes.toSpliced(at, 1),
      hashes.toSpliced(at, 0, hashes[at] ?? ''),
      hashes.toReversed(),
      [],
      [...hashes, 'AAAA'],
    ]);
    const number = random.pick([
      index,
      index,
      `${index}0`,
      index.replace(/\d+/, '0'),
      index.replace('index ', 'index 0'),
    ]);
    return [[version, number, ...others].join('\n'), ...rest].join('\n\n');
  }),
  'other keys in a text': onJson((value, random) => {
    const lines = String(value['public_keys']).split('\n').slice(0, -1);
    const others = random.pick([lines.slice(1), lines.slice(0, 1), lines.toReversed(), [...lines, lines[0] ?? ''], []]);
    return { ...value, public_keys: others.map((line) => `${line}\n`).join('') };
  }),
  'a text in other spelling': (given, random) => {
    const { text = '' } = given;
    given.text = random.pick([
      ` ${text}`,
      `\uFEFF${text}`,
      text.trimEnd(),
      `${text}\n`,
      text.replaceAll('<', String.raw`\u003c`),
      text.replaceAll(String.raw`\u003c`, '<'),
      text.replaceAll('\n', '\r\n'),
      text.replace(/^\{\s*/, '{'),
      text.replace(/^\{\s*/, '{ '),
      `${begin}${text}</script>`,
      `${begin}${text.replaceAll('<', String.raw`\u003c`)}</script>`,
      `<p>${begin}${text}`,
      text.replace('</script>', '</SCRIPT>'),
      text.replace('"format_version": 1', '"format_version": 1.0'),
      text.replace('"mirror": true', '"mirror": 1'),
    ]);
  },
  'a key kept of a text': (given, random) => {
    const line = /analytics-mirror\/[0-9a-f]{32}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+/g;
    const lines = [...(given.text ?? '').matchAll(line)].map(([found]) => found);
    const [first = ''] = lines;
    given.kept.publicKey = random.pick([
      `${first}\n`,
      `${lines.at(-1) ?? ''}\n`,
      `${lines.join('\n')}\n`,
      first,
      'x\n',
      `${first.replace('/', '/0')}\n`,
    ]);
  },
};
