import { z } from 'zod';
import { publishedDatasets, type PublishedDataset } from '../contract/datasets.ts';

/** The targets that every erasure request has. Published files are targets of their own. */
export const fixedTargets = [
  'upstream.person',
  'upstream.events',
  'upstream.recordings',
  'upstream.playlists',
  'mirror',
  'aux',
] as const;

/** Targets beyond the data folder, where there are any: the bucket that follows published files, and the copies of a cluster. */
export const elsewhereTargets = ['bucket', 'copies'] as const;
export type ElsewhereTarget = (typeof elsewhereTargets)[number];

export type FixedTarget = (typeof fixedTargets)[number] | ElsewhereTarget;

/** The targets that only the service can reach. */
export type UpstreamTarget = Extract<FixedTarget, `upstream.${string}`>;

/** A published file that holds the subject, or names it. */
export type FileTarget = { kind: 'file'; dataset: PublishedDataset; snapshotId: string; name: string };

/** One thing that an erasure request has to reach: a fixed target by its name, or a published file. */
export type Target = FixedTarget | FileTarget;

const filePattern = new RegExp(`^(${publishedDatasets.join('|')})/(\\d{8}T\\d{6}\\.\\d{3}Z)/(part-\\d{5,}\\.parquet)$`);
const filePrefix = 'snapshot:';

/**
 * A target as the ledger and the table `erasure_targets` spell it: `mirror`, `bucket`, `upstream.events`,
 * `snapshot:persons/20261120T125500.123Z/part-00001.parquet`.
 */
export const TargetName = z.union([
  z.enum([...fixedTargets, ...elsewhereTargets]),
  z.templateLiteral([filePrefix, z.string().regex(filePattern)]),
]);
export type TargetName = z.infer<typeof TargetName>;

/** Spells a target as text. */
export function spellTarget(target: Target): TargetName {
  if (typeof target === 'string') return target;
  return `${filePrefix}${target.dataset}/${target.snapshotId}/${target.name}`;
}

/** The target that a text spells. Throws when it spells none: this program has written the text. */
export function readTarget(text: string): Target {
  const fixed = [...fixedTargets, ...elsewhereTargets].find((target) => target === text);
  if (fixed) return fixed;
  const [, name = '', snapshotId = '', file = ''] = filePattern.exec(text.slice(filePrefix.length)) ?? [];
  const dataset = publishedDatasets.find((known) => known === name);
  if (!dataset || !text.startsWith(filePrefix)) throw new Error('a text that spells no target');
  return { kind: 'file', dataset, snapshotId, name: file };
}

/** Whether only the service can reach a target. */
export function isUpstream(target: Target): target is UpstreamTarget {
  return typeof target === 'string' && target.startsWith('upstream.');
}

/** Whether a target lies in the data folder, where a scan shows whether it was reached. */
export function isHere(target: Target): boolean {
  return typeof target !== 'string' || !(isUpstream(target) || elsewhereTargets.some((name) => name === target));
}

/** Whether a target is a published file. */
export function isFile(target: Target): target is FileTarget {
  return typeof target !== 'string';
}
