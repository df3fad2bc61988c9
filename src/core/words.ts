const grouped = new Intl.NumberFormat('en');

/** A number with its thousands grouped. */
export function countText(count: number): string {
  return grouped.format(count);
}

/** A number and what it counts: `1 file`, `2 files`. */
export function countedText(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** A code of ours as words. */
export function codeText(code: string): string {
  return code.replaceAll('_', ' ');
}
