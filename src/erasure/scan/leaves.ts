import type { Leaf } from './identity-index.ts';
import { parseJsonText } from './json-text.ts';

/**
 * Every text and number within a value, and the value itself where it is one. Texts that are JSON are looked into, however
 * deep. Not recursive: the depth is whatever a file holds.
 */
export function* leavesOf(name: string, owner: string, value: unknown): Generator<Leaf> {
  const open: { name: string; owner: string; value: unknown }[] = [{ name, owner, value }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { name, owner, value } = next;
    if (typeof value === 'string') {
      yield { name, owner, value };
      const parsed = parseJsonText(value);
      if (parsed !== undefined) open.push({ name, owner, value: parsed });
    } else if (typeof value === 'number' || typeof value === 'bigint') yield { name, owner, value };
    else if (Array.isArray(value))
      for (const item of value as unknown[]) open.push({ name, owner, value: item });
    else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
      for (const [key, child] of Object.entries(value)) open.push({ name: key, owner: name, value: child });
  }
}
