import process from 'node:process';
import { openClusterDatabase } from '../../src/cluster/cluster-database.ts';
import { openHoldings } from '../../src/cluster/holdings.ts';
import type { ClusterTiming } from '../../src/cluster/timing.ts';

// One machine that takes a project, says so, and works as a job does: a step each few milliseconds, each after a check.

/** What the process is told, as JSON, in its one argument. `computeMs`: how long it computes first, without a pause. */
export type HolderOptions = { address: string; machine: string; timing: ClusterTiming; computeMs: number };

const { address, machine, timing, computeMs } = JSON.parse(process.argv[2] ?? '') as HolderOptions;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const database = openClusterDatabase(address);
const holdings = openHoldings({ database, address, machine, schema: 1, timing });
const holding = await holdings.take({ id: 'p', name: 'shop' }, 'worker');
say(`taken ${holding.token}`);
const until = Date.now() + computeMs;
while (Date.now() < until);
const working = setInterval(() => {
  try {
    holding.check();
    say('step');
  } catch (error) {
    clearInterval(working);
    say(`lost: ${error instanceof Error ? error.message : ''}`);
    process.stdin.destroy();
  }
}, 20);
process.stdin.resume();
