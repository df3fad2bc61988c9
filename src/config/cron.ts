import { createTask, parse } from 'node-cron';

/** When a cron expression ticks, in UTC. All times are milliseconds since 1970. */
export type Ticks = { atOrBefore(timeMs: number): number; after(timeMs: number): number };

const dayMs = 86_400_000;
/** Every expression that ticks does so within these days: 29 February meets each weekday once in 28 or 40 years. */
const daysMax = 41 * 366;
const daysKept = 1000;

/** The ticks of a cron expression (five fields, or six with seconds). Throws an `Error` if wrong or never ticking. */
export function compileCron(expression: string): Ticks {
  const { hour, minute, second, dayOfMonth, month, dayOfWeek } = parse(expression);
  const countDays = (field: readonly unknown[]): number => new Set(field.filter(Number.isInteger)).size;
  const isDaily = countDays(dayOfMonth) === 31 && countDays(month) === 12 && countDays(dayOfWeek) === 7;
  let tasks: ReturnType<typeof createTask>[] | undefined;
  const matches = (timeMs: number): boolean => {
    tasks ??= byKindOfDay(expression).map((one) => {
      const task = createTask(one, () => undefined, { timezone: 'UTC' });
      // Only its matching is used. Its timers follow the machine's clock, and skip ticks while that is suspended.
      void task.destroy();
      return task;
    });
    return tasks.some((task) => task.match(new Date(timeMs)));
  };
  const timesOfDay = hour
    .flatMap((h) => minute.flatMap((m) => second.map((s) => ((h * 60 + m) * 60 + s) * 1000)))
    .toSorted((a, b) => a - b);
  const first = timesOfDay[0] ?? 0;
  const last = timesOfDay.at(-1) ?? 0;
  // The worker asks for the same few days every minute, and matching takes a while.
  const tickDays = new Map<number, boolean>();
  const isTickDay = (dayStartMs: number): boolean => {
    // The usual schedules. To match a day takes the formats of a time zone, which take longer to make than `status` to run.
    if (isDaily) return true;
    const known = tickDays.get(dayStartMs);
    if (known !== undefined) return known;
    const isOne = matches(dayStartMs + first);
    if (tickDays.size >= daysKept) tickDays.clear();
    tickDays.set(dayStartMs, isOne);
    return isOne;
  };
  const search = (fromDayMs: number, stepMs: number): number => {
    for (let day = 0; day < daysMax; day += 1) if (isTickDay(fromDayMs + day * stepMs)) return fromDayMs + day * stepMs;
    throw new Error('it names a day that never comes');
  };
  const ticks: Ticks = {
    atOrBefore: (timeMs) => {
      const today = startOfDay(timeMs);
      const earlier = timesOfDay.findLast((time) => today + time <= timeMs);
      if (earlier !== undefined && isTickDay(today)) return today + earlier;
      return search(today - dayMs, -dayMs) + last;
    },
    after: (timeMs) => {
      const today = startOfDay(timeMs);
      const later = timesOfDay.find((time) => today + time > timeMs);
      if (later !== undefined && isTickDay(today)) return today + later;
      return search(today + dayMs, dayMs) + first;
    },
  };
  ticks.after(0);
  return ticks;
}

/** As cron reads it: where days of the month and of the week are named, one of both is enough. The package wants both. */
function byKindOfDay(expression: string): string[] {
  const fields = expression.trim().split(/\s+/);
  const named = [fields.length - 3, fields.length - 1].filter((at) => /^[^*?]/.test(fields[at] ?? ''));
  return named.length < 2 ? [expression] : named.map((at) => fields.with(at, '*').join(' '));
}

function startOfDay(timeMs: number): number {
  return Math.floor(timeMs / dayMs) * dayMs;
}
