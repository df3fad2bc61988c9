import { describe, expect, it } from 'vitest';
import { publishedDatasets } from '../../src/contract/datasets.ts';
import { fixedTargets, isFile, isUpstream, readTarget, spellTarget, TargetName } from '../../src/ledger/target.ts';

const files = publishedDatasets.map(
  (dataset) => `snapshot:${dataset}/20261120T125500.123Z/part-00001.parquet` as const,
);

describe('a target', () => {
  it.each([...fixedTargets, 'bucket', ...files])('%s is read and spelled the same', (name) => {
    expect(spellTarget(readTarget(name))).toBe(name);
    expect(TargetName.safeParse(name).success).toBe(true);
    expect(isFile(readTarget(name))).toBe(name.startsWith('snapshot:'));
    expect(isUpstream(readTarget(name))).toBe(name.startsWith('upstream.'));
  });

  it('is read as the file that it is', () => {
    expect(readTarget('snapshot:persons/20261120T125500.123Z/part-00012.parquet')).toEqual({
      kind: 'file',
      dataset: 'persons',
      snapshotId: '20261120T125500.123Z',
      name: 'part-00012.parquet',
    });
  });

  it.each([
    '',
    'mirror ',
    'persons',
    'snapshot:',
    'snapshot:visits/20261120T125500.123Z/part-00001.parquet',
    'snapshot:persons/20261120T125500.123Z/manifest.json',
    'snapshot:persons/../part-00001.parquet',
    'elsewhere persons/20261120T125500.123Z/part-00001.parquet',
  ])('is not read from %j', (text) => {
    expect(() => readTarget(text)).toThrow('a text that spells no target');
    expect(TargetName.safeParse(text).success).toBe(false);
  });
});
