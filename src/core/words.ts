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

/** A number of bytes in the unit that reads best (powers of 1,000). */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let power = 0;
  for (; Math.round(value) >= 1000 && power < units.length - 1; power += 1) value /= 1000;
  return `${power === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** An ISO time to the minute, in UTC; a dash for none. */
export function minuteText(iso: string | null): string {
  return iso === null ? '–' : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}
