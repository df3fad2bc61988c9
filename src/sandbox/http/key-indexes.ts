import type { ApiKeys } from '../store/api-keys.ts';
import { bearerKey } from './authorize.ts';

export type KeyIndexes = ReturnType<typeof keyIndexes>;

/** Numbers the keys, so that a log can tell them apart without holding them: `first` in order, others as they come. */
export function keyIndexes(apiKeys: Pick<ApiKeys, 'find'>, first: readonly string[]) {
  const indexes = new Map(first.map((key, index) => [key, index]));
  return {
    /** The number of the key in an `Authorization` header; null for none or an unknown one. */
    of(header: string | undefined): number | null {
      const key = bearerKey(header);
      if (key === undefined || !apiKeys.find(key)) return null;
      const index = indexes.get(key) ?? indexes.size;
      indexes.set(key, index);
      return index;
    },
  };
}
