const isoPattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?$/;

type IsoParts = { seconds: number; fraction: string; utc: boolean };

/** Seconds since 1970 and the fraction's digits, or undefined when the text is not a time. */
function parseIso(text: string): IsoParts | undefined {
  const match = isoPattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction, zulu, sign, offsetHours, offsetMinutes] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second ?? 0));
  const isRealTime =
    date.getUTCMonth() === Number(month) - 1 &&
    date.getUTCDate() === Number(day) &&
    date.getUTCHours() === Number(hour) &&
    date.getUTCMinutes() === Number(minute) &&
    date.getUTCSeconds() === Number(second ?? 0);
  if (!isRealTime) return undefined;
  const offset =
    sign === undefined
      ? 0
      : (sign === '-' ? -1 : 1) * (Number(offsetHours) * 3600 + Number(offsetMinutes) * 60);
  return { seconds: date.getTime() / 1000 - offset, fraction: fraction ?? '', utc: zulu === 'Z' };
}

/**
 * Microseconds since 1970-01-01T00:00:00Z of an ISO 8601 date-time, finer digits cut; undefined when the text is
 * not one. A time without a zone is UTC.
 */
export function isoToMicros(text: string): bigint | undefined {
  const parts = parseIso(text);
  if (!parts) return undefined;
  return BigInt(parts.seconds) * 1_000_000n + BigInt(parts.fraction.slice(0, 6).padEnd(6, '0'));
}

/**
 * The same instant as ISO 8601 text in UTC, with exactly the fraction digits that were given; undefined when the
 * text is not a time. `2024-05-01T02:00:00.123456+02:00` becomes `2024-05-01T00:00:00.123456Z`.
 */
export function isoToUtc(text: string): string | undefined {
  const parts = parseIso(text);
  if (!parts) return undefined;
  if (parts.utc && text.charAt(10) === 'T' && text.length > 17) return text;
  const whole = new Date(parts.seconds * 1000).toISOString().slice(0, -5);
  return parts.fraction === '' ? `${whole}Z` : `${whole}.${parts.fraction}Z`;
}
