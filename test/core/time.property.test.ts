import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isoToMicros, isoToUtc } from '../../src/core/time.ts';

const daysMin = -719_528; // 0000-01-01
const daysMax = 2_932_896; // 9999-12-31

/** Year, month and day of a number of days since 1970, by Hinnant's `civil_from_days`; knows nothing of `Date`. */
function civilDate(days: number): string {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
}

function timeOfDay(seconds: number): string {
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

const zone = fc.oneof(
  fc.constantFrom('', 'Z', 'z').map((text) => ({ text, seconds: 0 })),
  fc
    .record({
      sign: fc.constantFrom('+', '-'),
      hours: fc.integer({ min: 0, max: 23 }),
      minutes: fc.integer({ min: 0, max: 59 }),
      colon: fc.constantFrom(':', ''),
    })
    .map(({ sign, hours, minutes, colon }) => ({
      text: `${sign}${two(hours)}${colon}${two(minutes)}`,
      seconds: (hours * 3600 + minutes * 60) * (sign === '-' ? -1 : 1),
    })),
);
/** An instant (in seconds since 1970, with the digits of its fraction) and a text that means it. */
const instant = fc
  .record({
    days: fc.oneof(
      fc.integer({ min: daysMin, max: daysMax }),
      fc.integer({ min: -800, max: 800 }),
      fc.constantFrom(daysMin, daysMax, -1, 0, 11_016, 11_017, -25_509, -25_508),
    ),
    secondOfDay: fc.integer({ min: 0, max: 86_399 }),
    fraction: fc.stringMatching(/^\d{0,9}$/),
    mark: fc.constantFrom('.', ','),
    separator: fc.constantFrom('T', 't', ' '),
    zone,
  })
  .map(({ days, secondOfDay, fraction, mark, separator, zone }) => ({
    text: `${civilDate(days)}${separator}${timeOfDay(secondOfDay)}${fraction === '' ? '' : mark + fraction}${zone.text}`,
    seconds: days * 86_400 + secondOfDay - zone.seconds,
    fraction,
  }));

test('micros and UTC text are those of the calendar, or undefined beyond its four digits of years', () => {
  fc.assert(
    fc.property(instant, ({ text, seconds, fraction }) => {
      const days = Math.floor(seconds / 86_400);
      const isWritable = days >= daysMin && days <= daysMax;
      const utc = `${civilDate(days)}T${timeOfDay(seconds - days * 86_400)}${fraction && '.'}${fraction}Z`;
      const micros = BigInt(seconds) * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
      expect(isoToMicros(text)).toBe(isWritable ? micros : undefined);
      expect(isoToUtc(text)).toBe(isWritable ? utc : undefined);
    }),
    { numRuns: 5000 },
  );
});

test('UTC text means the same instant and is left as it is', () => {
  fc.assert(
    fc.property(instant, ({ text }) => {
      const utc = isoToUtc(text);
      fc.pre(utc !== undefined);
      expect(isoToMicros(utc)).toBe(isoToMicros(text));
      expect(isoToUtc(utc)).toBe(utc);
    }),
    { numRuns: 1000 },
  );
});

test('whatever is put into a time, the result is a time or nothing', () => {
  fc.assert(
    fc.property(instant, fc.nat(), fc.string({ maxLength: 2 }), ({ text }, at, inserted) => {
      const changed = text.slice(0, at % text.length) + inserted + text.slice((at % text.length) + 1);
      expect(isoToUtc(changed) ?? '1970-01-01T00:00:00Z').toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/);
      expect(isoToMicros(changed) === undefined).toBe(isoToUtc(changed) === undefined);
    }),
    { numRuns: 2000 },
  );
});
