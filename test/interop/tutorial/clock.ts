// Preloaded into the program on the machine of the tutorial: its clock is ahead by the milliseconds in a file, which may grow while
// it runs, as if the machine's clock had been set.
import { readFileSync } from 'node:fs';

const lookEveryMs = 50;
const { now } = Date;
let aheadMs = 0;
let lookedAt = 0;
Date.now = () => {
  const at = now();
  if (at - lookedAt >= lookEveryMs) {
    aheadMs = Number(readFileSync('/run/tutorial/ahead', 'utf8'));
    lookedAt = at;
  }
  return at + aheadMs;
};
