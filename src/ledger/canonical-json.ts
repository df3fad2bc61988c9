/**
 * A value as canonical JSON (RFC 8785): no space, keys in the order of their UTF-16 code units, so that equal values are
 * equal bytes. Takes what the ledger holds: strings, safe integers, booleans, null, and lists and plain objects of these.
 * Throws `TypeError` for anything else, and never puts the value in its message.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string') return canonicalText(value);
  if (Array.isArray(value)) return `[${Array.from(value, canonicalJson).join(',')}]`;
  if (isPlainObject(value)) {
    // `toSorted` compares UTF-16 code units, as the RFC wants.
    const members = Object.keys(value)
      .toSorted()
      .map((key) => `${canonicalText(key)}:${canonicalJson(value[key])}`);
    return `{${members.join(',')}}`;
  }
  throw new TypeError(`a value that canonical JSON does not take: ${typeof value}`);
}

/** The RFC takes its spelling of strings from ECMAScript; a lone surrogate is no Unicode text and has no UTF-8. */
function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('a text with a lone surrogate, which canonical JSON does not take');
  return JSON.stringify(text);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
