import { afterAll, beforeAll, expect, it } from 'vitest';
import { killPoint, type KillPoint } from '../kill/kill-point.ts';
import { firstSync, openCrashWorkspace } from './commands-to-kill.ts';
import { assertSurvives, referenceOf, type Reference } from './killed-command.ts';
import type { Workspace } from './workspace.ts';

// One kill, for the fast set. `killed-*.crash.long.test.ts` and `killed-*.crash.slow.test.ts` have all the others.
let workspace: Workspace;
let reference: Reference;
let pageCommitted: KillPoint;
beforeAll(async () => {
  workspace = await openCrashWorkspace();
  // One page at a time, so that one is all that a kill may lose.
  reference = await referenceOf(firstSync(workspace, 1));
  pageCommitted = killPoint(reference.executions, 'after', /^COMMIT after UPDATE passes SET windows/);
});
afterAll(() => workspace[Symbol.asyncDispose]());

it('a sync that dies with a page committed goes on as if it had not been killed', async () => {
  await assertSurvives(reference, [pageCommitted]);
});

it('a sync that does not die where it should fails its test', async () => {
  const never = { ...pageCommitted, nth: 1000 };
  await expect(assertSurvives(reference, [never])).rejects.toThrow('not killed after #1000 COMMIT');
});
