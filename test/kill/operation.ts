import { anyOperation, type Execution, type KillPoint } from './kill-point.ts';

/** Something that a process is about to do, caught before it is done. */
export type Operation = {
  kind: keyof typeof anyOperation;
  /** What is done, without what differs from one run to the next. */
  name: string;
  /** Whether it changes anything. What only reads has no points of its own. */
  isChange: boolean;
  execute: () => unknown;
  /** Does half of it, where that is possible. */
  doHalf?: () => unknown;
  /** Asked when it has been executed: whether its effect is there for good. */
  isCommitted: () => boolean;
};

/** Executes an operation, or what a test does in its place. Returns what the operation returns. */
export type Pass = (operation: Operation) => unknown;

/** Counts the operations that pass, and calls `die` at the point, if there is one. */
export function countOperations(
  point: KillPoint | null,
  die: () => void,
): { pass: Pass; executions: () => Execution[] } {
  const executions = new Map<string, Execution>();
  const times = new Map<string, number>();

  const pass: Pass = ({ kind, name, isChange, execute, doHalf, isCommitted }) => {
    if (kind === 'sql' && !isChange) return execute();
    const names = [anyOperation[kind], ...(isChange ? [name] : [])];
    for (const each of names) times.set(each, (times.get(each) ?? 0) + 1);
    const execution: Execution = { operation: name, times: times.get(name) ?? 0, isCommitted: false };
    if (isChange) executions.set(name, execution);
    const isHere = point !== null && names.includes(point.operation) && times.get(point.operation) === point.nth;
    if (isHere && point.moment === 'before') die();
    if (isHere && point.moment === 'within') {
      doHalf?.();
      die();
    }
    const result = execute();
    execution.isCommitted = isCommitted();
    if (isHere && point.moment === 'after') die();
    return result;
  };
  return { pass, executions: () => [...executions.values()] };
}
