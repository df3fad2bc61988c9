/** A number of bytes in the unit that reads best (powers of 1,000). */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toPrecision(2)} ${units[power] ?? ''}`;
}

/** A duration in the unit that reads best, cut to whole ones: `45 s`, `12 min`, `3 h`, `6 days`. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}

/** How a time lies to another, in words: `3 min ago`, `in 2 days`. */
export function agoText(iso: string, now: string): string {
  const ms = Date.parse(now) - Date.parse(iso);
  if (Math.abs(ms) < 5000) return 'now';
  return ms > 0 ? `${durationText(ms)} ago` : `in ${durationText(-ms)}`;
}

/** When what is planned for a time will be: `in 3 min`, or `now` where only something else keeps it. */
export function nextText(iso: string, now: string): string {
  return iso <= now ? 'now' : agoText(iso, now);
}

/** An ISO time to the minute, in UTC. */
export function timeText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}
