import { recordOrder } from '../../../docs/verifier/verify.mjs';
import { sha256 } from '../../../src/core/digest.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { certificateText } from '../../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../../src/erasure/proof/derive-certificate.ts';
import { readEntry } from '../../../src/ledger/entry.ts';
import { collectHistories } from '../../../src/ledger/histories.ts';
import { publicKeyOf, signBytes, vkeyOf } from '../../../src/ledger/note.ts';
import { lifeOf, naming, requestId, stated } from '../../ledger/ledger-fixture.ts';
import { keysFile, lineOf, linesOf, privateKeys, setLines, signAgain, type Case, type Json } from './case.ts';
import type { Random } from './random.ts';
import { randomRecord, shapes } from './records.ts';

const startMs = Date.UTC(2026, 10, 20, 12);

/** Fields that fit what was recorded: a request, its generation and the epoch that come next. */
function fieldsAfter(records: readonly Json[], random: Random): (type: string) => Json {
  const request = requestId(1 + random.below(3));
  const own = records.filter((record) => record['request'] === request);
  const epochs = records.filter((record) => record['type'] === 'fenced').map((record) => Number(record['epoch']));
  const epoch = Math.max(0, ...epochs) + 1;
  const present = Math.max(1, ...own.map((record) => Number(record['generation'])));
  return (type) => {
    const shape = shapes[type] ?? '';
    const generation = present + (type === 'reopened' && own.at(-1)?.['type'] !== 'reopened' ? 1 : 0);
    const fitting: Json = { request, requests: [request], generation, epoch, epoch_from: 0, epoch_to: epoch - 1 };
    return Object.fromEntries(Object.entries(fitting).filter(([name]) => shape.split(' ').includes(name)));
  };
}

/** The lives of some requests, woven into each other: each keeps its order. */
function woven(random: Random): Json[] {
  const lives = [1, 2, 3].slice(0, 1 + random.below(3)).map((n): Json[] => {
    const life = lifeOf(n, 1)
      .flat()
      .slice(0, random.chance(0.7) ? undefined : random.below(20));
    return random.chance(0.3) ? life.map(naming(['crm-team', 'warehouse'])) : life;
  });
  const all: Json[] = [];
  let epoch = 0;
  let isHeld: Json[] | undefined;
  while (lives.some((life) => life.length > 0)) {
    const life = isHeld ?? random.pick(lives.filter((each) => each.length > 0));
    const record = life.shift();
    if (!record) break;
    // One request is fenced at a time.
    isHeld = record['type'] === 'fencing' ? life : undefined;
    if (record['type'] === 'fencing') epoch += 1;
    all.push('epoch' in record ? { ...record, epoch } : record);
  }
  return all;
}

function isPossible(records: readonly Json[], next: Json): boolean {
  const order = recordOrder();
  for (const record of records) order(record);
  return order(next) === undefined;
}

/** The certificate that follows from the lines about a request; undefined where none does. */
function certificateOf(lines: readonly Buffer[], request: string, ledgerOrigin: string): string | undefined {
  const histories = collectHistories();
  try {
    for (const [seq, line] of lines.entries()) {
      const entry = readEntry(line);
      if (typeof entry !== 'string') histories.take({ ...entry, seq });
    }
    const history = histories.of(request);
    const certificate = history && deriveCertificate(history, { ledgerOrigin, stated });
    return certificate && certificateText(certificate);
  } catch {
    return undefined;
  }
}

/** A ledger as the program could have written it, or nearly: lives of requests among records of all kinds. */
export function randomHistory(random: Random): Case {
  const [first, next] = privateKeys;
  if (!first || !next) throw new Error('no keys');
  const publicKey = publicKeyOf(first);
  const name = `analytics-mirror/${sha256(publicKey).slice(0, 32)}`;
  const given: Case = { files: new Map(), kept: {}, certificates: new Map(), nowMs: startMs };
  const noise = random.pick([0, 0.1, 0.3, 0.6]);
  const records: Json[] = [];
  const lines: Buffer[] = [];
  const keys = [vkeyOf({ name, publicKey })];
  const push = (record: Json): void => {
    given.nowMs += random.chance(0.03) ? random.pick([-5000, 86_400_000, 7 * 86_400_000]) : 1000;
    lines.push(lineOf({ ...record, at: isoTime(given.nowMs), seq: lines.length }));
    records.push(record);
  };
  for (const record of woven(random)) {
    while (random.chance(noise)) {
      const more = randomRecord(random, fieldsAfter(records, random));
      if (random.chance(0.03) || isPossible(records, more)) push(more);
    }
    if (keys.length === 1 && random.chance(0.03)) {
      const line = vkeyOf({ name, publicKey: publicKeyOf(next) });
      keys.push(line);
      push({
        type: 'key_rotated',
        old_key: publicKey.toString('hex'),
        new_key: publicKeyOf(next).toString('hex'),
        signature: signBytes(Buffer.from(`${line}\n`), first).toString('hex'),
      });
    }
    const request = String(record['request']);
    const text = record['type'] === 'certified' ? certificateOf(lines, request, name) : undefined;
    if (text !== undefined) given.certificates.set(`${given.certificates.size}.json`, Buffer.from(text));
    if (random.chance(0.99)) push(text === undefined ? record : { ...record, certificate: sha256(text) });
  }
  setLines(given, lines);
  given.files.set(keysFile, Buffer.from(`${keys.join('\n')}\n`));
  signAgain(given, random);
  given.nowMs += 60_000;
  return given;
}

/** Lets a certificate follow from the entries as they are, and the entries name it. */
export function certifyAgain(given: Case): void {
  const origin = given.files.get(keysFile)?.toString().split('+')[0] ?? '';
  const lines = linesOf(given);
  for (const [seq, line] of lines.entries()) {
    const entry = readEntry(line);
    if (typeof entry === 'string' || entry.type !== 'certified') continue;
    const text = certificateOf(lines.slice(0, seq), entry.request, origin);
    if (text === undefined) continue;
    given.certificates.set(`again-${seq}.json`, Buffer.from(text));
    lines[seq] = lineOf({ ...entry, certificate: sha256(text) });
  }
  setLines(given, lines);
}
