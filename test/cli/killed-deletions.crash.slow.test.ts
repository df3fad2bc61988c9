import { afterAll, beforeAll, expect, it } from 'vitest';
import { deletionCommands, openCrashWorkspace, type DeletionCommands } from './commands-to-kill.ts';
import { assertSurvives, referenceOf } from './killed-command.ts';
import { killPoint, type KillPoint } from '../kill/kill-point.ts';
import type { Workspace } from './workspace.ts';

let workspace: Workspace;
let commands: DeletionCommands;
beforeAll(async () => {
  workspace = await openCrashWorkspace();
  commands = await deletionCommands(workspace, 4);
});
afterAll(() => workspace[Symbol.asyncDispose]());

/** Where each command dies, one time after the other. */
const deaths: Record<keyof DeletionCommands, [moment: KillPoint['moment'], pattern: RegExp, nth?: number][]> = {
  sync: [
    ['before', /^DELETE FROM distinct_id_owners WHERE person_row_key = \? AND/],
    ['before', /^INSERT INTO distinct_ids_lost/, 2],
    ['before', /^INSERT OR IGNORE INTO suspects .* FROM persons/],
    ['before', /^DELETE FROM recordings WHERE/, 2],
    ['after', /^COMMIT after UPDATE suspects SET confirmations/, 2],
  ],
  reconcile: [
    ['before', /^UPDATE suspects SET confirmations/],
    ['before', /^DELETE FROM persons WHERE/],
    ['before', /^DELETE FROM persons_seen WHERE from_key = @rowKey/],
    ['before', /^DELETE FROM suspects WHERE dataset = '?persons/],
    ['before', /^DELETE FROM distinct_id_owners WHERE person_row_key = @rowKey$/],
    ['before', /^DELETE FROM distinct_ids_lost WHERE person_row_key = @rowKey$/],
    ['before', /^INSERT INTO deletions/],
    ['before', /^INSERT INTO changes .*'delete'/],
    ['before', /^COMMIT after INSERT INTO deletions/],
    ['after', /^COMMIT after INSERT INTO deletions/],
    ['after', /^COMMIT after INSERT INTO deletions/, 2],
    ['before', /^UPDATE runs SET outcome = @outcome/],
  ],
  hold: [
    ['before', /^INSERT INTO deletion_plans/],
    ['before', /^UPDATE suspects SET plan = NULL/],
    ['before', /^UPDATE suspects SET plan = \?/],
    ['after', /^COMMIT after UPDATE suspects SET plan = \?/],
  ],
  approve: [
    ['before', /^UPDATE deletion_plans SET approved_at/],
    ['after', /^UPDATE deletion_plans SET approved_at/],
    ['after', /^COMMIT after UPDATE suspects SET confirmations/],
  ],
};

it.each(Object.keys(deaths) as (keyof DeletionCommands)[])(
  'killed at each step of %s, the mirror loses who is gone, once each, and nobody else',
  async (name) => {
    const reference = await referenceOf(commands[name]);
    const { content, deletions } = reference.outcome;
    const living = [...workspace.sandbox.living()].map(({ uuid }) => uuid);
    expect(content['persons']?.map(([uuid]) => uuid)).toEqual(living.toSorted());
    const gone = [...workspace.sandbox.gone()]
      .filter(({ uuid }) => !living.includes(uuid))
      .map(({ uuid, merged_into: into }) => `persons ${uuid} ${into === null ? 'deleted' : 'merged'}`);
    const told = deletions.map((row) => row.join(' ')).filter((text) => text.startsWith('persons'));
    expect(told).toEqual(gone.toSorted());

    await assertSurvives(
      reference,
      deaths[name].map(([moment, pattern, nth]) => killPoint(reference.executions, moment, pattern, nth)),
    );
  },
);
