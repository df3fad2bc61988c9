/** The median and the longest of durations (ms); null where there is no duration. */
export type Spread = { count: number; medianMs: number | null; worstMs: number | null };

/** The spread of durations. The median of an even number of durations is the mean of the two in the middle. */
export function spreadOf(durationsMs: readonly number[]): Spread {
  const sorted = durationsMs.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  const medianMs = upper === undefined || lower === undefined ? null : lower + (upper - lower) / 2;
  return { count: sorted.length, medianMs, worstMs: sorted.at(-1) ?? null };
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** The classes of a distribution of durations. Each includes its upper end; the last one has no end. */
const classes = [
  { label: '1 h', toMs: hourMs },
  { label: '6 h', toMs: 6 * hourMs },
  { label: '1 day', toMs: dayMs },
  { label: '3 days', toMs: 3 * dayMs },
  { label: '7 days', toMs: 7 * dayMs },
  { label: '14 days', toMs: 14 * dayMs },
  { label: '30 days', toMs: 30 * dayMs },
  { label: 'longer', toMs: Infinity },
] as const;

/** The number of durations in a class; the label is the class's upper end. */
export type DurationClass = { upTo: string; count: number };

/** The distribution of durations (ms), including empty classes. */
export function distributionOf(durationsMs: readonly number[]): DurationClass[] {
  return classes.map(({ label, toMs }, index) => {
    const fromMs = classes[index - 1]?.toMs ?? -Infinity;
    return { upTo: label, count: durationsMs.filter((ms) => ms > fromMs && ms <= toMs).length };
  });
}

/** When a request reached each milestone; null where it has not. Times are ISO 8601 UTC. */
export type Milestones = {
  receivedAt: string;
  verifiedAt: string | null;
  completedAt: string | null;
  /** Refused or given up. */
  endedAt: string | null;
};

/** How far the requests received so far were, at the end of a stretch of time. */
type Progress = { label: string; notErased: number; erasedHere: number; complete: number; ended: number };

/** How far requests were at the end of each stretch of a period; `each` is what a stretch is. */
export type ProgressOverTime = { each: 'day' | 'week' | 'month' | 'year'; points: Progress[] };

/** How far requests were at the end of each day, week, month or year of a period: about two dozen points, or years. */
export function progressOf(requests: readonly Milestones[], period: { from: string; to: string }): ProgressOverTime {
  const { each, stretches } = stretchesOf(period);
  const points = stretches.map(({ label, end }): Progress => {
    const progress = { label, notErased: 0, erasedHere: 0, complete: 0, ended: 0 };
    const isBy = (at: string | null): boolean => at !== null && at < end;
    for (const { receivedAt, verifiedAt, completedAt, endedAt } of requests) {
      if (!isBy(receivedAt)) continue;
      if (isBy(endedAt)) progress.ended += 1;
      else if (isBy(completedAt)) progress.complete += 1;
      else if (isBy(verifiedAt)) progress.erasedHere += 1;
      else progress.notErased += 1;
    }
    return progress;
  });
  return { each, points };
}

/** `end`: the first moment after it. */
type Stretch = { label: string; end: string };

/** The stretches of a period of whole days, both ends included (`2026-11-20`). */
function stretchesOf({ from, to }: { from: string; to: string }): {
  each: ProgressOverTime['each'];
  stretches: Stretch[];
} {
  const last = Date.parse(`${to}T00:00:00Z`);
  const days = (last - Date.parse(`${from}T00:00:00Z`)) / dayMs + 1;
  const step = steps.find(({ daysMax }) => days <= daysMax) ?? years;
  const stretches: Stretch[] = [];
  for (let start = new Date(`${from}T00:00:00Z`); start.getTime() <= last;) {
    const next = step.next(start);
    const end = new Date(Math.min(next.getTime(), last + dayMs)).toISOString();
    stretches.push({ label: step.label(start), end });
    start = next;
  }
  return { each: step.each, stretches };
}

const shortDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const shortMonth = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric', timeZone: 'UTC' });

type Step = {
  each: ProgressOverTime['each'];
  daysMax: number;
  next: (start: Date) => Date;
  label: (start: Date) => string;
};

const steps: readonly Step[] = [
  { each: 'day', daysMax: 16, next: (start) => daysAfter(start, 1), label: (start) => shortDay.format(start) },
  { each: 'week', daysMax: 110, next: (start) => daysAfter(start, 7), label: (start) => shortDay.format(start) },
  {
    each: 'month',
    daysMax: 740,
    next: (start) => new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1)),
    label: (start) => shortMonth.format(start),
  },
];

const years: Step = {
  each: 'year',
  daysMax: Infinity,
  next: (start) => new Date(Date.UTC(start.getUTCFullYear() + 1, 0, 1)),
  label: (start) => String(start.getUTCFullYear()),
};

function daysAfter(start: Date, days: number): Date {
  return new Date(start.getTime() + days * dayMs);
}
