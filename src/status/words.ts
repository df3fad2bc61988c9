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
