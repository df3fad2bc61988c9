/**
 * A moment at which a command dies: right before or after something that it executes for the nth time, or with half of
 * it done. `statement`: SQL that changes the mirror, an operation on a file of the data folder, the start of a process, or a
 * request's way to the service and back.
 */
export type KillPoint = { statement: string; nth: number; moment: 'before' | 'within' | 'after' };

/** Something that changes the data folder, or is seen outside: how often a command executes it, and whether it is committed at once. */
export type Execution = { statement: string; times: number; isCommitted: boolean };

/**
 * Every moment worth dying at: before each statement, the first, the middle and the last time, and after each that is
 * committed at once. After any other the file is as it is before the next one. Bytes may also be written by half.
 */
export function killPoints(executions: readonly Execution[]): KillPoint[] {
  return executions.flatMap(({ statement, times, isCommitted }) =>
    [...new Set([1, Math.ceil(times / 2), times])].flatMap((nth) =>
      momentsOf(statement, isCommitted).map((moment): KillPoint => ({ statement, nth, moment })),
    ),
  );
}

function momentsOf(statement: string, isCommitted: boolean): KillPoint['moment'][] {
  if (!isCommitted) return ['before'];
  return statement.startsWith('write ') ? ['before', 'within', 'after'] : ['before', 'after'];
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
