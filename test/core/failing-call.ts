import fs, { readlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished, vi } from 'vitest';

type Call = 'copyFileSync' | 'fsyncSync' | 'mkdirSync' | 'openSync' | 'rmSync' | 'statSync' | 'utimesSync';

/** Lets a call of Node fail until the test has ended, as on a disk that does: with any arguments, or those that are meant. */
export function failCall(call: Call, failure: Error, isMeant: (...given: unknown[]) => boolean = () => true): void {
  const real = fs[call] as (...given: unknown[]) => unknown;
  const spy = vi.spyOn(fs, call).mockImplementation((...given: unknown[]) => {
    if (isMeant(...given)) throw failure;
    return real(...given);
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
}

/** The paths of which the content is made to survive a power cut from now on, until the test has ended. */
export function syncedPaths(): string[] {
  const paths: string[] = [];
  failCall('fsyncSync', new Error('of nothing'), (descriptor) => {
    paths.push(readlinkSync(`/proc/self/fd/${String(descriptor)}`));
    return false;
  });
  return paths;
}
