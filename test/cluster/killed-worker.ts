import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { pointText, type Execution, type KillPoint } from '../kill/kill-point.ts';
import { stopAll } from './cluster-workers.ts';
import { killable, type FaultWorld } from './fault-world.ts';

/** What happens to a worker at a point. */
export type Fate = 'SIGKILL' | 'SIGSTOP';

/** Lets a worker erase a person, and export, without a kill: all that it has executed. */
export async function recordWorker(world: FaultWorld): Promise<Execution[]> {
  await world.ask();
  const record = join(world.folderOf('.'), 'executions.json');
  const worker = world.worker('one', { env: { NODE_OPTIONS: killable, KILL_RECORD: record } });
  await world.until('all is erased', () => world.isDone('one'));
  await stopAll([worker]);
  await world.assertWhole(['one']);
  return JSON.parse(readFileSync(record, 'utf8')) as Execution[];
}

/**
 * A worker is killed at a point, or stopped there for longer than its lease and continued; another one takes over. Returns after how many
 * seconds that had the project, or undefined where the first one never came to the point. Fails where anything was lost.
 */
export async function assertTakenOver(world: FaultWorld, point: KillPoint, fate: Fate): Promise<number | undefined> {
  const { worker, until, isDone } = world;
  await world.ask();
  const first = worker('one', {
    env: { NODE_OPTIONS: killable, KILL_POINT: JSON.stringify(point), KILL_SIGNAL: fate },
  });
  const seen = { isStruck: false };
  first.child.stderr.on('data', (bytes) => (seen.isStruck ||= String(bytes).includes(`killed ${pointText(point)}`)));
  try {
    await until('the point', () => seen.isStruck || isDone('one'));
    const isEnding = !seen.isStruck;
    if (isEnding) {
      // The point may be in what a worker does at its end.
      first.child.kill('SIGTERM');
      await until('the point, or the end', () => seen.isStruck || first.child.exitCode !== null);
    }
    if (!seen.isStruck) {
      await stopAll([first]);
      await world.assertWhole(['one']);
      return undefined;
    }
    const second = worker('two');
    const after = await until('taken over', ({ projects }) => projects[0]?.holder === 'two');
    // A person is erased when no machine has a copy any more: so the first one has to come back.
    if (fate === 'SIGSTOP') first.child.kill('SIGCONT');
    const again = fate === 'SIGSTOP' ? first : worker('one');
    await until('all is erased', () => isDone('one') || isDone('two'));
    // One that was told to end already is not told again: that would end it at once.
    const isTold = isEnding && again === first;
    if (isTold) await again.ended;
    await stopAll(isTold ? [second] : [again, second]);
    await world.assertWhole(['one', 'two']);
    return after;
  } catch (cause) {
    throw new Error(`${fate} ${pointText(point)}`, { cause });
  }
}
