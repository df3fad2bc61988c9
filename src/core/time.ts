const isoPattern = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(?:[.,](\d{1,9}))?)?([Zz]|[+-]\d\d:?\d\d)?$/;

/** The time of an HTTP date, in milliseconds since 1970; NaN for any other text. `Date.parse` takes almost any text for a date. */
export function httpDateMs(text: string): number {
  return /^\s*[A-Z][a-z]+, [\w -]+ [\d:]+ GMT\s*$/.test(text) ? Date.parse(text) : Number.NaN;
}

const calendarCycleMs = 146_097 * 86_400_000;
const secondsMin = Date.parse('0000-01-01T00:00:00Z') / 1000;
const secondsMax = Date.parse('9999-12-31T23:59:59Z') / 1000;
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

type IsoParts = { seconds: number; fraction: string; utc: boolean };

/** Seconds since 1970 and the fraction's digits, or undefined when the text is not a time. */
function parseIso(text: string): IsoParts | undefined {
  const match = isoPattern.exec(text);
  if (!match) return undefined;
  const [, secondsText, fraction = '', zone = ''] = match;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = secondsText === undefined ? 0 : twoDigits(text, 17);
  const offset = offsetSeconds(zone);
  const isRealTime = day >= 1 && day <= daysIn(year, month) && hour <= 23 && minute <= 59 && second <= 59;
  if (!isRealTime || offset === undefined) return undefined;
  // Date.UTC takes the years 0 to 99 for 1900 to 1999; the calendar repeats every 400 years.
  const utcMs = Date.UTC(year + 400, month - 1, day, hour, minute, second) - calendarCycleMs;
  const seconds = utcMs / 1000 - offset;
  // An offset can lead out of the years that ISO 8601 writes with four digits.
  if (seconds < secondsMin || seconds > secondsMax) return undefined;
  return { seconds, fraction, utc: zone === 'Z' };
}

// Every exported row has two times: this is three times as fast as capturing each number.
function twoDigits(text: string, index: number): number {
  return (text.charCodeAt(index) - 48) * 10 + text.charCodeAt(index + 1) - 48;
}

function offsetSeconds(zone: string): number | undefined {
  if (zone.length < 2) return 0;
  const hours = twoDigits(zone, 1);
  const minutes = twoDigits(zone, zone.length - 2);
  if (hours > 23 || minutes > 59) return undefined;
  const seconds = hours * 3600 + minutes * 60;
  return zone.startsWith('-') ? -seconds : seconds;
}

/** The days of a month, 1 to 12, in the Gregorian calendar; 0 for a month that there is not. */
function daysIn(year: number, month: number): number {
  const isLeapFebruary = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return isLeapFebruary ? 29 : (daysOfMonth[month - 1] ?? 0);
}

/** Microseconds since 1970 of an ISO 8601 time, finer digits cut; undefined for another text. Default zone: UTC. */
export function isoToMicros(text: string): bigint | undefined {
  const parts = parseIso(text);
  if (!parts) return undefined;
  return BigInt(parts.seconds) * 1_000_000n + BigInt(Number(parts.fraction.slice(0, 6).padEnd(6, '0')));
}

/** The same instant as ISO 8601 in UTC, with the fraction digits that were given; undefined for another text. */
export function isoToUtc(text: string): string | undefined {
  const parts = parseIso(text);
  if (!parts) return undefined;
  if (parts.utc && text.charAt(10) === 'T' && text.length > 17 && text.charAt(19) !== ',') return text;
  const whole = new Date(parts.seconds * 1000).toISOString().slice(0, -5);
  return parts.fraction === '' ? `${whole}Z` : `${whole}.${parts.fraction}Z`;
}

/** Microseconds since 1970 as ISO 8601 text in UTC, with six digits. Exact for the years 1684 to 2255. */
export function microsToIso(micros: number): string {
  const ms = Math.floor(micros / 1000);
  const rest = micros - ms * 1000;
  return `${new Date(ms).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}
