/**
 * Microseconds since 1970 as ISO 8601 text in UTC with six fraction digits, also before 1970. Exact within the safe
 * integers, which hold the years 1684 to 2255.
 */
export function microsToIso(micros: number): string {
  const ms = Math.floor(micros / 1000);
  const rest = micros - ms * 1000;
  return `${new Date(ms).toISOString().slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}
