import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LivingPerson } from '../../src/sandbox/store/truth.ts';
import { assertDiscreet, discreetRun } from './discreet-run.ts';
import { emailsIn } from './erasure-workspace.ts';
import { jsonOf, type Ended } from './run-cli.ts';
import { serviceOfEarlier } from './service-of-earlier.ts';
import { openWorkspace, unlimited, type Workspace } from './workspace.ts';

// Each runs whole reconciliations, as processes of their own.
vi.setConfig({ testTimeout: 180_000 });

type Listed = { id: string; state: string; reason: string | null; origin: string };
type Added = {
  requests: { line: number; id: string; state: string; reason: string | null; persons: number; isKnown: boolean }[];
};

const settings = [...unlimited, '--set', 'deletions.confirmAfterSeconds=0', '--log-level', 'warn'];

let workspace: Workspace;
let persons: LivingPerson[];
/** Every text that tells who somebody is. */
let texts: string[];
let run: (args: readonly string[]) => Promise<Ended>;
beforeAll(async () => {
  workspace = await openWorkspace({ persons: 120, recordings: 30, ...serviceOfEarlier });
  persons = [...workspace.sandbox.living()];
  texts = persons.flatMap(({ uuid, distinct_ids: ids, properties }) => [uuid, ...ids, ...emailsIn(properties)]);
  run = discreetRun((args) => workspace.run([...args, ...settings]), texts);
  await run(['sync']);
  await run(['export']);
}, 120_000);
beforeEach(assertNobodyIsErasedByAccident);
afterAll(() => {
  assertDiscreet(workspace.dataDir, texts);
  return workspace[Symbol.asyncDispose]();
});

/** Whoever has been asked to be erased so far. */
const asked = new Set<string>();

async function assertNobodyIsErasedByAccident(): Promise<void> {
  const { rows } = jsonOf(await workspace.run(['query', '--json', 'SELECT uuid FROM persons'])) as { rows: string[][] };
  const mirrored = new Set(rows.flat());
  expect(persons.filter(({ uuid }) => !mirrored.has(uuid) && !asked.has(uuid))).toEqual([]);
}

function personAt(index: number): LivingPerson {
  const person = persons[index];
  if (!person) throw new Error('no such person');
  return person;
}

/** A file that names people, a line for each. */
function fileOf(...lines: string[]): string {
  const path = join(workspace.folder, `people-${lines.length}-${asked.size}.csv`);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

async function add(file: string, ...more: string[]): Promise<Ended> {
  return run(['erase', 'add', '--file', file, '--basis', 'objection', '--by', 'dpo', '--json', ...more]);
}

async function requestsNow(): Promise<Listed[]> {
  return (jsonOf(await run(['erase', 'list', '--all', '--json'])) as { requests: Listed[] }).requests;
}

describe('a deletion at the service', () => {
  it('is told while it waits: for others, for an answer, and when it is carried out', async () => {
    const { uuid } = personAt(90);
    const { sandbox } = workspace;
    asked.add(uuid);
    sandbox.act({ do: 'delete', uuid });
    await run(['sync']);
    const collected = await run(['reconcile']);
    expect(collected.stdout).toMatch(/1 {2}deleted at the service: erased together, within 24 hours/);
    sandbox.act({ do: 'set_project', vanished: true });
    const waiting = await run(['reconcile', '--set', 'deletions.collectHours=0']);
    sandbox.act({ do: 'set_project', vanished: false });
    expect([waiting.code, waiting.stdout]).toEqual([
      4,
      expect.stringMatching(/1 {2}calls for attention: `erase list`/),
    ]);
    const erased = await run(['reconcile', '--set', 'deletions.collectHours=0']);
    expect([erased.code, erased.stdout]).toEqual([0, expect.stringMatching(/1 {2}fenced and taken out of the mirror/)]);
  });
});

describe('erase add', () => {
  it('says who is not known, by line, and takes the others', async () => {
    const { uuid } = personAt(4);
    asked.add(uuid);
    const ended = await add(
      fileOf(`uuid,${uuid}`, 'uuid,0189f1c0-7e5e-7bd2-a3c1-52f0a4d1c001', 'email,nobody@nowhere.example'),
    );
    expect(ended).toMatchObject({ code: 4, stderr: '' });
    expect(ended.stdout).not.toMatch(/nobody@|0189f1c0/);
    expect((jsonOf(ended) as Added).requests).toMatchObject([
      { line: 1, state: 'scoped', reason: null, persons: 1, isKnown: false },
      { line: 2, state: 'refused', reason: 'unknown_subject', persons: 0 },
      { line: 3, state: 'refused', reason: 'unknown_subject', persons: 0 },
    ]);
  });

  it.each([
    [
      'kinds and values that are none',
      ['uuid,not-a-uuid-at-all', 'phone,+46 70 123', 'email,no address', 'id,12x'],
      /lines? 1: .*\n.*line 2: .*\n.*line 3: .*\n.*line 4: /,
    ],
    ['more columns than two', ['distinct_id,secret-one,secret-two'], /line 1: /],
    ['quotes that never end', ['distinct_id,"secret without an end'], /are not CSV/],
  ])('refuses a file of %s, without a word of what stands there', async (_what, lines, words) => {
    const before = await requestsNow();
    const ended = await add(fileOf(...lines));
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(words);
    expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/not-a-uuid|70 123|no address|12x|secret/);
    expect(await requestsNow()).toEqual(before);
  });

  it('takes people from standard input', async () => {
    const { uuid, distinct_ids: ids } = personAt(8);
    asked.add(uuid);
    const [id = ''] = ids;
    const file = fileOf('kind,value', `distinct_id,"${id.replaceAll('"', '""')}"`);
    const ended = await workspace.run(
      ['erase', 'add', '-', '--basis', 'objection', '--by', 'dpo', '--json', ...settings],
      { shell: `exec "$@" < ${file}` },
    );
    expect((jsonOf(ended) as Added).requests).toMatchObject([{ line: 1, state: 'scoped', persons: 1 }]);
  });
});

describe('a request', () => {
  it('can be given up before anything is done for it, and not later', async () => {
    const [first] = (jsonOf(await add(fileOf(`uuid,${personAt(4).uuid}`))) as Added).requests;
    const id = first?.id ?? '';
    expect(await run(['erase', 'cancel', id.slice(0, 8)])).toMatchObject({ code: 0, stdout: `cancelled ${id}\n` });
    asked.delete(personAt(4).uuid);
    // Nobody but the one of standard input goes.
    expect(await run(['reconcile'])).toMatchObject({ code: 0, stderr: '' });
    const requests = await requestsNow();
    expect(requests.find((request) => request.id === id)).toMatchObject({ state: 'cancelled' });
    const sealed = requests.find(({ state }) => state === 'sealed');
    expect(await run(['erase', 'cancel', sealed?.id ?? ''])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\(ended and sealed\) can no longer be cancelled\n {2}.*readmit/),
    });
    expect(await run(['erase', 'cancel', 'ffffffff'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is no request of that id'),
    });
  });

  it('that touches a living person is held, and erases the rest when it is approved', async () => {
    // The published files know all of these distinct ids as one person's; the service has made others of them since.
    const several = persons.find(({ distinct_ids: ids }, index) => index > 20 && ids.length > 2);
    if (!several) throw new Error('nobody has three distinct ids');
    workspace.sandbox.act({ do: 'split', uuid: several.uuid });
    expect(await run(['sync'])).toMatchObject({ code: 0, stderr: '' });
    asked.add(several.uuid);
    const added = await add(fileOf(`uuid,${several.uuid}`));
    expect(added.code).toBe(4);
    const [request] = (jsonOf(added) as Added).requests;
    expect(request).toMatchObject({ state: 'held', reason: 'shared_identifier' });

    const epoch = async (): Promise<unknown> =>
      jsonOf(await run(['query', '--json', 'SELECT epoch FROM erasure_epoch']));
    const before = await epoch();
    expect(await run(['reconcile'])).toMatchObject({ code: 4, stderr: '' });
    expect(await epoch()).toEqual(before);
    expect(await run(['erase', 'list'])).toMatchObject({
      stdout: expect.stringContaining('held for approval: shared identifier'),
    });

    expect(await run(['erase', 'approve', request?.id ?? ''])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['reconcile'])).toMatchObject({ code: 0, stderr: '' });
    expect((await requestsNow()).find(({ id }) => id === request?.id)).toMatchObject({ state: 'sealed' });
    const [, ...others] = several.distinct_ids;
    const { rows } = jsonOf(
      await workspace.run(['query', '--json', 'SELECT distinct_id, person_uuid FROM person_distinct_ids']),
    ) as { rows: [string, string][] };
    const owners = new Map(rows);
    expect(others.map((id) => owners.has(id))).toEqual(others.map(() => true));
    expect(owners.has(several.distinct_ids[0] ?? '')).toBe(false);
    const living = [...workspace.sandbox.living()].map(({ uuid }) => uuid);
    expect(living).toEqual(expect.arrayContaining(others.map((id) => owners.get(id))));
    expect(living).not.toContain(several.uuid);
  });
});

describe('where', () => {
  it('tells every place that holds a person, as a table and as JSON, and shows nobody', async () => {
    const { uuid } = personAt(60);
    const file = fileOf(`uuid,${uuid}`);
    const { code, stdout } = await run(['where', '--file', file]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/mirror\.db persons +1\n/);
    expect(stdout).toMatch(/snapshots\/persons\/\S+\/part-\d{5}\.parquet +1 +\d+\n/);
    expect(stdout).toMatch(/searched the mirror and \d+ published files\n/);
    expect(jsonOf(await run(['where', '--file', file, '--json']))).toMatchObject({
      places: [{ place: 'mirror.db persons', rows: 1 }, { rows: expect.any(Number) }, {}],
      requests: [],
      isShared: false,
      exported: null,
    });
  });

  it('gives out all that is held, to a file that only its owner can read', async () => {
    const { uuid, distinct_ids: ids, properties } = personAt(60);
    const out = join(workspace.folder, 'access.json');
    const page = join(workspace.folder, 'access.html');
    const ended = await run(['where', '--file', fileOf(`uuid,${uuid}`), '--export', out, '--page', page]);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect((statSync(out).mode & 0o777).toString(8)).toBe('600');
    const access = JSON.parse(readFileSync(out, 'utf8')) as {
      persons: { uuid: string; distinct_ids: string[]; properties: unknown }[];
      files: { file: string }[];
    };
    expect(access.persons).toMatchObject([{ uuid }]);
    expect(access.persons[0]?.properties).toEqual(JSON.parse(properties));
    expect(access.persons[0]?.distinct_ids.toSorted()).toEqual(ids.toSorted());
    const held = new Set(access.files.map(({ file: path }) => path.split('/')[1]));
    expect(held).toEqual(new Set(['distinct_ids', 'persons']));
    expect(JSON.stringify(access.files)).toContain(JSON.stringify(ids[0]));
    expect((statSync(page).mode & 0o777).toString(8)).toBe('600');
    expect(readFileSync(page, 'utf8')).toContain(`<dd>${uuid}</dd>`);
    // Here the data are asked for, so `run` does not look for them.
    const { stdout } = await workspace.run(['where', '--file', fileOf(`uuid,${uuid}`), '--page', '-']);
    expect(stdout).toContain(`<dd>${uuid}</dd>`);
  });

  it('gives out no data of several persons to one, unless each is named', async () => {
    const [one, other] = [personAt(60).uuid, personAt(61).uuid];
    const both = fileOf(`uuid,${one}\nid,${personAt(61).id}`);
    const refused = await run(['where', '--file', both, '--page', '-']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('what was given names 2 persons');
    const named = await workspace.run(['where', '--uuid', one, '--uuid', other, '--page', '-']);
    expect(named.stdout).toContain(`<dd>${other}</dd>`);
  });

  it('says so where nothing is held', async () => {
    const { code, stdout } = await run(['where', '--file', fileOf('email,nobody@nowhere.example')]);
    expect(code).toBe(0);
    expect(stdout).toContain('nothing is held about this person');
  });
});
