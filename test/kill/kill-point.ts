/**
 * A moment at which a process is killed: right before or right after the nth execution of an operation, or with half of it
 * done. `operation` is the name of an operation, or one of `anyOperation`.
 */
export type KillPoint = { operation: string; nth: number; moment: 'before' | 'within' | 'after' };

/** What stands for every operation of a kind: the nth of them is counted over all. `disk` counts opening for reading too. */
export const anyOperation = {
  sql: 'any writing SQL',
  disk: 'any operation on the disk',
  http: 'any request to the service',
  process: 'any start of a process',
  named: 'any named point',
} as const;

/** An operation, how often a process executed it, and whether its effect is there for good as soon as it is executed. */
export type Execution = { operation: string; times: number; isCommitted: boolean };

/**
 * Every moment at which a kill can make a difference: before the first, the middle and the last execution of each
 * operation, and after it if it is committed at once. After any other operation the disk is as it is before the next one.
 * Bytes may also be written by half.
 */
export function killPoints(executions: readonly Execution[]): KillPoint[] {
  return executions.flatMap(({ operation, times, isCommitted }) =>
    [...new Set([1, Math.ceil(times / 2), times])].flatMap((nth) =>
      momentsOf(operation, isCommitted).map((moment): KillPoint => ({ operation, nth, moment })),
    ),
  );
}

function momentsOf(operation: string, isCommitted: boolean): KillPoint['moment'][] {
  if (!isCommitted) return ['before'];
  return operation.startsWith('write ') ? ['before', 'within', 'after'] : ['before', 'after'];
}

/** The point at the one operation that the pattern matches. Throws if it matches none, or several. */
export function killPoint(
  executions: readonly Execution[],
  moment: KillPoint['moment'],
  pattern: RegExp,
  nth = 1,
): KillPoint {
  const found = executions.filter(({ operation }) => pattern.test(operation));
  const [execution] = found;
  if (!execution || found.length > 1) throw new Error(`${pattern} matches ${found.length} operations`);
  return { operation: execution.operation, nth, moment };
}

/** A point in one line, different for every point. */
export function pointText({ operation, nth, moment }: KillPoint): string {
  return `${moment} #${nth} ${operation}`;
}
