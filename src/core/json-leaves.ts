/** Every text within a parsed JSON value: values and items, not the names of fields. The text itself, where it is one. */
export function* textLeaves(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textLeaves(item);
  else if (typeof value === 'object' && value !== null)
    for (const child of Object.values(value)) yield* textLeaves(child);
}
