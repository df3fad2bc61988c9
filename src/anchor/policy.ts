import { hash, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { readJson } from '../core/exact-json.ts';
import { readTimeStampFiles, type Checkpoint } from '../ledger/checkpoint.ts';
import { finding, type Finding, type FindingCode } from '../ledger/finding.ts';
import { cosignedAt, readVkey, vkeyOf, type VerifierKey } from '../ledger/note.ts';
import type { AnchoredFacts, VerifyTask } from '../ledger/verify.ts';
import { readTimeStamp, type TimeStamp } from './time-stamp.ts';

/** The certificates in a text (PEM), of which there is at least one. */
const Certificates = z.string().transform((pem, context) => {
  try {
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
    if (blocks) return blocks.map((block) => new X509Certificate(block));
  } catch {
    // It is said below.
  }
  context.addIssue({ code: 'custom', message: 'holds no certificate (PEM)' });
  return z.NEVER;
});

/** The certificates of a file (PEM). Throws for a text without any. */
export function readCertificates(pem: string): X509Certificate[] {
  return Certificates.parse(pem);
}

const vkeyText = (type: 'note' | 'cosignature') =>
  z.string().transform((text, context) => {
    const key = readVkey(text, type);
    if (key) return key;
    context.addIssue({ code: 'custom', message: 'is not the right key (a vkey)' });
    return z.NEVER;
  });

const count = z.int().min(0);
const Policy = z
  .strictObject({
    policy: z.literal('analytics-mirror/anchor-policy@1'),
    public_key: vkeyText('note'),
    from_entry: count.default(0),
    max_age_seconds: count,
    time_stamps: z.strictObject({ needed: count, authorities: z.array(Certificates) }),
    witnesses: z.strictObject({ needed: count, keys: z.array(vkeyText('cosignature')) }),
  })
  .superRefine(({ time_stamps: stamps, witnesses }, context) => {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', message });
    const names = witnesses.keys.map((key) => vkeyOf(key, 'cosignature'));
    if (new Set(names).size < names.length) refuse('a witness stands twice in it');
    if (stamps.needed > stamps.authorities.length || witnesses.needed > names.length)
      refuse('it needs more than it names');
    if (stamps.needed + witnesses.needed === 0) refuse('it needs no anchor');
  });

/** Which anchors outside an auditor trusts, and how soon an entry has to be anchored (docs/verifier/ANCHORS.md). */
export type Policy = z.output<typeof Policy>;

/** The policy in a text. Throws `usage` for one that is none. */
export function readPolicy(text: string): Policy {
  const parsed = Policy.safeParse(readJson(text));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new AppError(`this is no policy: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.replace('  ', ' '), {
    code: 'usage',
    hint: 'docs/verifier/ANCHORS.md describes a policy',
  });
}

/** The time stamps in a ledger's folder that are right, and the names of the others. */
export function readTimeStamps(folder: string): { stamps: (TimeStamp & { where: string })[]; bad: string[] } {
  const read = readTimeStampFiles(folder).map(({ file, token }) => {
    const where = `time stamp ${file.replace(/\.tst$/, '')}`;
    return { where, stamp: token && readTimeStamp(token) };
  });
  return {
    stamps: read.flatMap(({ where, stamp }) => (stamp ? [{ ...stamp, where }] : [])),
    bad: read.flatMap(({ where, stamp }) => (stamp ? [] : [where])),
  };
}

/** The earliest time at which an authority with these certificates stamped a checkpoint, in seconds; undefined for never. */
export function stampedAt(
  { note }: Checkpoint,
  stamps: readonly TimeStamp[],
  certificates: readonly X509Certificate[],
): number | undefined {
  const imprint = hash('sha256', note.text);
  const times = stamps
    .filter((stamp) => stamp.imprint === imprint && stamp.isTrustedBy(certificates))
    .map(({ time }) => time);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The judge of the anchors of a ledger's folder: of its time stamps by themselves, and, with a policy, of all of them. */
export function anchorJudge(folder: string, policy: Policy | undefined): NonNullable<VerifyTask['anchors']> {
  return {
    hasFirstKey: policy !== undefined,
    judge: (facts) => {
      const { stamps, bad } = readTimeStamps(folder);
      const imprints = new Set(facts.claims.map(({ checkpoint }) => hash('sha256', checkpoint.note.text)));
      const foreign = stamps.filter(({ imprint }) => !imprints.has(imprint)).map(({ where }) => where);
      const problems = [...bad, ...foreign].map((where) => finding(where, 'bad_time_stamp'));
      const judged = policy ? judgeByPolicy(policy, stamps, facts) : { problems: [], warnings: [] };
      return { ...judged, problems: [...problems, ...judged.problems] };
    },
  };
}

/** So much may an entry be dated after its anchor, in seconds: clocks differ. */
const clockSeconds = 300;

function judgeByPolicy(
  policy: Policy,
  stamps: readonly TimeStamp[],
  { first, claims, times, now }: AnchoredFacts,
): { problems: Finding[]; warnings: Finding[] } {
  const good = claims.filter(({ isGood }) => isGood);
  const isForged = (key: VerifierKey, { note }: Checkpoint): boolean => cosignedAt(note, key) === 'bad_cosignature';
  const problems = good
    .filter(({ checkpoint }) => policy.witnesses.keys.some((key) => isForged(key, checkpoint)))
    .map(({ where }) => finding(where, 'bad_cosignature'));
  if (first && vkeyOf(first) !== vkeyOf(policy.public_key)) problems.push(finding('policy', 'wrong_public_key'));
  const anchors = good
    .map(({ checkpoint }) => ({ size: checkpoint.size, time: anchoredAt(checkpoint, stamps, policy) }))
    .filter((anchor): anchor is { size: number; time: number } => anchor.time !== undefined)
    .toSorted((a, b) => b.size - a.size);
  // From the newest to the oldest: an entry is anchored by the earliest of all checkpoints that cover it.
  let anchored = Infinity;
  for (const [index, { size, time }] of anchors.entries()) {
    anchored = Math.min(anchored, time);
    const found = new Map<FindingCode, number>();
    for (let seq = anchors[index + 1]?.size ?? 0; seq < size; seq += 1) {
      const problem = seq < policy.from_entry ? undefined : dateProblem((times[seq] ?? NaN) / 1000, anchored, policy);
      if (problem && !found.has(problem)) found.set(problem, seq);
    }
    for (const [problem, seq] of found) problems.push(finding(`entry ${seq}`, problem));
  }
  const covered = anchors[0]?.size ?? 0;
  if (covered >= times.length) return { problems, warnings: [] };
  const oldestMs = times.slice(covered).reduce((least, ms) => (ms < least ? ms : least), Infinity);
  if (covered === 0) problems.push(finding('ledger', 'nothing_anchored'));
  else if (now - oldestMs > policy.max_age_seconds * 1000)
    problems.push(finding(`entry ${covered}`, 'unanchored_for_long'));
  return { problems, warnings: [finding(`entry ${covered}`, 'unanchored_entries')] };
}

/** When a checkpoint had all anchors that a policy needs, in seconds since 1970; undefined where it has not. */
function anchoredAt(checkpoint: Checkpoint, stamps: readonly TimeStamp[], policy: Policy): number | undefined {
  const nth = (needed: number, times: readonly (number | string | undefined)[]): number | undefined => {
    const known = times.filter((time) => typeof time === 'number').toSorted((a, b) => a - b);
    return needed === 0 ? -Infinity : known[needed - 1];
  };
  const { time_stamps: timeStamps, witnesses } = policy;
  const stamped = timeStamps.authorities.map((certificates) => stampedAt(checkpoint, stamps, certificates));
  const cosigned = witnesses.keys.map((key) => cosignedAt(checkpoint.note, key));
  const [byStamps, byWitnesses] = [nth(timeStamps.needed, stamped), nth(witnesses.needed, cosigned)];
  return byStamps === undefined || byWitnesses === undefined ? undefined : Math.max(byStamps, byWitnesses);
}

function dateProblem(time: number, anchored: number, { max_age_seconds: age }: Policy): FindingCode | undefined {
  if (anchored - time > age) return 'anchored_late';
  return time - anchored > clockSeconds ? 'dated_after_anchor' : undefined;
}
