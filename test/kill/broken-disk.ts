import { tmpdir } from 'node:os';
import { onTestFinished } from 'vitest';
import { watchFiles } from './watch-files.ts';

/** A disk that fails. */
export type BrokenDisk = {
  /** How many operations have failed. */
  faults: () => number;
  mend: () => void;
};

/**
 * Lets operations on files below the temporary folder fail with a system error: those whose number, from 1, `isBroken`
 * picks. The disk is mended by `mend`, or at the end of the test.
 */
export function breakDisk(isBroken: (step: number) => boolean, code = 'ENOSPC'): BrokenDisk {
  let step = 0;
  let faults = 0;
  const stopWatching = watchFiles(tmpdir(), ({ execute }) => {
    step += 1;
    if (!isBroken(step)) return execute();
    faults += 1;
    throw Object.assign(new Error(`${code}: injected`), { code });
  });
  let isMended = false;
  const mend = (): void => {
    if (!isMended) stopWatching();
    isMended = true;
  };
  onTestFinished(mend);
  return { faults: () => faults, mend };
}
