import { parseArgs } from 'node:util';
import fc from 'fast-check';
import type { Done, Mask } from './machine.ts';
import { histories, kinds, moveText, type Move } from './moves.ts';
import { reuseDuckDb } from '../snapshot/one-duckdb.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';
import type { Kind } from './world.ts';

// Plays random histories, and prints the shortest found that breaks a promise: `node test/histories/search.ts --runs 1000 --seed 1`.
// What it prints as `--moves` plays that one again, with `--print` and what each command printed. `--seconds` ends the search.

reuseDuckDb();
const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '86400' },
    moves: { type: 'string' },
    live: { type: 'boolean', default: false },
    crowd: { type: 'string', default: '0' },
    mask: { type: 'string', default: 'none' },
    print: { type: 'boolean', default: false },
  },
});
const onDone = values.print
  ? ({ args, code, stdout, stderr }: Done, nowMs: number): void =>
      void process.stderr.write(`\n${new Date(nowMs).toISOString()} ${args.join(' ')}: ${code}\n${stdout}${stderr}`)
  : undefined;

/** The promise that a history breaks; undefined where it breaks none. */
async function faultOf(kind: Kind, moves: readonly Move[]): Promise<string | undefined> {
  try {
    await play(kind, moves, newTally(), onDone);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

/** Leaves out every move without which a promise is broken all the same, until none can be left out. */
async function shrink(kind: Kind, moves: readonly Move[]): Promise<Move[]> {
  for (const size of [8, 4, 2, 1])
    for (let first = moves.length - size; first >= 0; first -= size) {
      const fewer = moves.toSpliced(first, size);
      if ((await faultOf(kind, fewer)) !== undefined) moves = fewer;
    }
  return [...moves];
}

async function tell(kind: Kind, moves: readonly Move[]): Promise<void> {
  const lines = [
    `a service ${kind.isLive ? 'like live ones' : 'as documented'}, with ${3 + kind.crowd} people; masks: ${kind.mask}`,
    ...moves.map((move) => `  ${moveText(move)}`),
    (await faultOf(kind, moves)) ?? 'no promise is broken',
    `${kind.isLive ? '--live ' : ''}--crowd ${kind.crowd} --mask ${kind.mask} --moves '${JSON.stringify(moves)}'`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

if (values.moves !== undefined)
  await tell(
    { isLive: values.live, crowd: Number(values.crowd), mask: values.mask as Mask },
    JSON.parse(values.moves) as Move[],
  );
else {
  const [numRuns = 0, seed = 0, seconds = 0] = [values.runs, values.seed, values.seconds].map(Number);
  const tally = newTally();
  const startedMs = Date.now();
  const took = (): string => `${JSON.stringify(tally)} ${Math.round((Date.now() - startedMs) / 1000)} s\n`;
  const timer = setInterval(() => process.stderr.write(took()), 30_000);
  const result = await fc.check(
    fc.asyncProperty(kinds, histories, (kind, moves) => play(kind, moves, tally, onDone)),
    { numRuns, seed, interruptAfterTimeLimit: seconds * 1000, endOnFailure: true },
  );
  clearInterval(timer);
  process.stdout.write(`seed ${seed}, ${result.numRuns} histories: ${took()}`);
  if (result.failed && result.counterexample) {
    const [kind, moves] = result.counterexample;
    await tell(kind, await shrink(kind, moves));
    process.exitCode = 1;
  }
}
