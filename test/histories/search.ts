import { syncBuiltinESMExports } from 'node:module';
import { parseArgs } from 'node:util';
import v8 from 'node:v8';
import fc from 'fast-check';
import type { Done } from './machine.ts';
import { histories, moveText } from './moves.ts';
import { play } from './play.ts';
import { newTally } from './promises.ts';

// Plays random histories, and prints the shortest found that breaks a promise: `node test/histories/search.ts --runs 1000 --seed 1`.
// `--path` with its seed plays that one again, with `--print` and what each command printed. `--seconds` ends the search after so long.

// The memory of this process is not what is tested: no collection of a large heap before each export.
const heapOf = v8.getHeapStatistics;
v8.getHeapStatistics = () => ({ ...heapOf(), total_heap_size: 0 });
syncBuiltinESMExports();

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    path: { type: 'string' },
    print: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '86400' },
  },
});
const [numRuns = 0, seed = 0, seconds = 0] = [values.runs, values.seed, values.seconds].map(Number);
const tally = newTally();
const startedMs = Date.now();
const took = (): string => `${JSON.stringify(tally)} ${Math.round((Date.now() - startedMs) / 1000)} s\n`;
const timer = setInterval(() => process.stderr.write(took()), 30_000);
const onDone = values.print
  ? ({ args, code, stdout, stderr }: Done, nowMs: number): void =>
      void process.stderr.write(`\n${new Date(nowMs).toISOString()} ${args.join(' ')}: ${code}\n${stdout}${stderr}`)
  : undefined;
const result = await fc.check(
  fc.asyncProperty(fc.boolean(), histories, (isLive, moves) => play(isLive, moves, tally, onDone)),
  { numRuns, seed, interruptAfterTimeLimit: seconds * 1000, ...(values.path && { path: values.path }) },
);
clearInterval(timer);
process.stdout.write(`seed ${seed}, ${result.numRuns} histories: ${took()}`);
if (result.failed && result.counterexample) {
  const [isLive, moves] = result.counterexample;
  const lines = [
    `--seed ${seed} --path ${result.counterexamplePath}, ${result.numShrinks} times shrunk`,
    `a service ${isLive ? 'like live ones' : 'as documented'}:`,
    ...moves.map((move) => `  ${moveText(move)}`),
    String(result.errorInstance),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = 1;
}
