import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { smallDisks } from './small-disks.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 3000, recordings: 4 });
});
afterAll(() => workspace[Symbol.asyncDispose]());

it.each(smallDisks)(
  '$name stops an erasure with one sentence, and room is all it takes to go on',
  async (disk) => {
    const dataDir = join(workspace.folder, disk.name.replaceAll(' ', '-'));
    mkdirSync(dataDir, { mode: 0o700 });
    const people = join(workspace.folder, 'people.csv');
    const persons = [...workspace.sandbox.living()].slice(0, 300).filter((_person, index) => index % 100 === 0);
    writeFileSync(people, persons.map(({ uuid }) => `uuid,${uuid}\n`).join(''));
    const script = `set -- "$@" --log-level error --set alerts.diskFreeBytesMin=0
    "$@" sync > /dev/null; "$@" export > /dev/null; "$@" erase add --file "$PEOPLE" --basis objection --by dpo > /dev/null
    fill 200000; "$@" reconcile; echo "without room: $?"
    free; "$@" reconcile > /dev/null; echo "with room: $?"
    "$@" erase scan --file "$PEOPLE" > /dev/null; echo "scan: $?"
    "$@" query "SELECT state, count(*) FROM erasure_requests GROUP BY 1"
    "$@" query "SELECT count(*) FROM persons"; "$@" audit verify > /dev/null; echo "verify: $?"`;
    const { code, stdout, stderr } = await workspace.run([...unlimited, '--set', 'deletions.confirmAfterSeconds=0'], {
      shell: disk.around(script),
      env: { MIRROR_DATA_DIR: dataDir, PEOPLE: people },
    });
    expect(stderr).toMatch(/^error: [^\n]+\n {2}[^\n]+\n$/);
    expect({ code, said: stdout.trimEnd().split('\n') }).toEqual({
      code: 0,
      said: [
        'without room: 1',
        'with room: 0',
        'scan: 0',
        'state              count(*)',
        `awaiting_upstream  ${persons.length}`,
        'count(*)',
        String([...workspace.sandbox.living()].length),
        'verify: 0',
      ],
    });
  },
  120_000,
);
