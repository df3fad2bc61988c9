/** A moment at which a command dies: right before or after a statement that it executes for the nth time. */
export type KillPoint = { statement: string; nth: number; moment: 'before' | 'after' };

/** A statement that changes the mirror: how often a command executes it, and whether it is committed at once. */
export type Execution = { statement: string; times: number; isCommitted: boolean };

/**
 * Every moment worth dying at: before each statement, the first, the middle and the last time, and after each that is
 * committed at once. After any other the file is as it is before the next one.
 */
export function killPoints(executions: readonly Execution[]): KillPoint[] {
  return executions.flatMap(({ statement, times, isCommitted }) =>
    [...new Set([1, Math.ceil(times / 2), times])].flatMap((nth): KillPoint[] => {
      const before: KillPoint = { statement, nth, moment: 'before' };
      return isCommitted ? [before, { ...before, moment: 'after' }] : [before];
    }),
  );
}

/** The point at the one statement that the pattern names. Throws when it names none, or several. */
export function killPoint(
  executions: readonly Execution[],
  moment: KillPoint['moment'],
  pattern: RegExp,
  nth = 1,
): KillPoint {
  const found = executions.filter(({ statement }) => pattern.test(statement));
  const [execution] = found;
  if (!execution || found.length > 1) throw new Error(`${pattern} names ${found.length} statements`);
  return { statement: execution.statement, nth, moment };
}

/** A point in one line, which no other point has. */
export function pointText({ statement, nth, moment }: KillPoint): string {
  return `${moment} #${nth} ${statement}`;
}
