/**
 * Whether text `a` comes before `b` in the order of their UTF-8 bytes, which is how SQLite sorts and Parquet's bounds
 * compare. JavaScript's `<` is the order of UTF-16, where `😀` comes before `\uffff`.
 */
export function isBefore(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA === unitB) continue;
    // A surrogate stands for a character above all that are a single unit.
    return isSurrogate(unitA) === isSurrogate(unitB) ? unitA < unitB : isSurrogate(unitB);
  }
  return a.length < b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}
