import type { z } from 'zod';

/** Made when it is first needed: that takes as long as loading ten files. */
let grouped: Intl.NumberFormat | undefined;

/** A number with its thousands grouped. */
export function countText(count: number): string {
  return (grouped ??= new Intl.NumberFormat('en')).format(count);
}

/** A number and what it counts: `1 file`, `2 files`. */
export function countedText(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/** A text with a capital letter. */
export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** A code of this program as words. */
export function codeText(code: string): string {
  return code.replaceAll('_', ' ');
}

/** A text as one word of a shell line: quoted where a shell would change it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A number of bytes in the unit that reads best (powers of 1,000). */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let power = 0;
  for (; Math.round(value) >= 1000 && power < units.length - 1; power += 1) value /= 1000;
  return `${power === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** A duration in the unit that reads best: `4.2 s`, `45 s`, `12 min`, `3.5 h`, `6 days`; a dash for none. */
export function durationText(ms: number | null): string {
  if (ms === null) return '–';
  const tenths = (value: number): string => String(Number(value.toFixed(1)));
  const seconds = ms / 1000;
  if (seconds < 10) return `${tenths(seconds)} s`;
  if (Math.round(seconds) < 120) return `${Math.round(seconds)} s`;
  if (Math.round(seconds / 60) < 120) return `${Math.round(seconds / 60)} min`;
  const hours = Number(tenths(seconds / 3600));
  return hours < 48 ? `${hours} h` : `${tenths(seconds / 86_400)} days`;
}

/** How far a time is from now, in words: `3 min ago`, `in 2 days`. Within five seconds it is `now`. */
export function agoText(iso: string, now: string): string {
  const ms = Date.parse(now) - Date.parse(iso);
  if (Math.abs(ms) < 5000) return 'now';
  const distance = durationText(Math.floor(Math.abs(ms) / 1000) * 1000);
  return ms > 0 ? `${distance} ago` : `in ${distance}`;
}

/** An ISO time to the second, in UTC. */
export function secondText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** An ISO time to the minute, in UTC; a dash for none. */
export function minuteText(iso: string | null): string {
  return iso === null ? '–' : `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

/** What could move a terminal's cursor, colour it, or show a text in another order than it has; tabs and ends of lines too. */
const unshown = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text on one line, as a terminal may show it: controls and marks of direction become spaces. */
export function printable(text: string): string {
  return text.replaceAll(unshown, ' ');
}

/** A text as a terminal may show it, in its lines and with its tabs. */
export function printableLines(text: string): string {
  return text
    .split(/(\r?\n|\t)/)
    .map((part, index) => (index % 2 === 0 ? printable(part) : part))
    .join('');
}

/** A JSON text as a terminal may show it, of the same value: controls and marks of direction are written as escapes. */
export function printableJson(json: string): string {
  return json.replaceAll(unshown, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** What a wrong type should be, by the name that zod has for it. */
const typeWords: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  null: 'null',
  number: 'a number',
  object: 'a map of settings',
  record: 'a map',
  string: 'a text',
};

/** What is wrong with a value that a schema refuses, without the value. */
export function problemText(issue: z.core.$ZodIssue): string {
  const expected = issue.code === 'invalid_type' ? typeWords[issue.expected] : undefined;
  return expected === undefined ? issue.message : `has to be ${expected}`;
}
