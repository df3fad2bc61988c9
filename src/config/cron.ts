import { Cron } from 'croner';

/** When a cron expression ticks, in UTC. All times are milliseconds since 1970. */
export type Ticks = { atOrBefore(timeMs: number): number; after(timeMs: number): number };

/** The ticks of a cron expression (five fields, or six with seconds). Throws an `Error` if wrong or never ticking. */
export function compileCron(expression: string): Ticks {
  // A zone by its name would need formats of the system, which take longer to make than `status` to run.
  const cron = new Cron(expression, { utcOffset: 0, domAndDow: true, mode: '5-or-6-parts' });
  if (cron.getOnce()) throw new Error('it is a single time');
  const found = (tick: Date | null | undefined): number => {
    if (!tick) throw new Error('it names a day that never comes');
    return tick.getTime();
  };
  const ticks: Ticks = {
    // The runs before a second that has begun: the tick of this second is one of them.
    atOrBefore: (timeMs) => found(cron.previousRuns(1, new Date(Math.floor(timeMs / 1000) * 1000 + 1000))[0]),
    after: (timeMs) => found(cron.nextRun(new Date(timeMs))),
  };
  ticks.after(0);
  return ticks;
}
