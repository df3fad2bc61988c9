import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonOf, runCliHere } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import type { TestWarehouse } from './warehouses.ts';

/** A warehouse in which a kit can be run, and tables be made of others. `run` gives what its one SELECT gives. */
export type KitWarehouse = TestWarehouse & {
  run: (statements: readonly string[]) => Promise<string>;
  make: (table: string, select: string) => Promise<void>;
  /** Adds rows as somebody may who fills a table by hand. */
  insert: (table: string, rows: string) => Promise<void>;
};

/** Makes an SSH key in a file, and gives its public key. */
export function sshKeyIn(path: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]);
  return readFileSync(`${path}.pub`, 'utf8').trim();
}

/** Runs the statements of a kit, and signs the report that they print, in a file. */
export async function signedReport(
  warehouse: KitWarehouse,
  kit: string,
  { key, file }: { key: string; file: string },
): Promise<{ tables: { control: number; deleted: number; left: number }[] }> {
  const report = await warehouse.run(kit.trim().split(/;\n|\n(?=\\)|(?<=\.key')\n/));
  writeFileSync(file, report);
  rmSync(`${file}.sig`, { force: true });
  execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', 'analytics-mirror', '-f', key, file], { stdio: 'pipe' });
  return JSON.parse(report) as { tables: { control: number; deleted: number; left: number }[] };
}

/** Tests, for one engine, that a person is seen gone from tables that `load` does not make. */
export function testKit(open: () => KitWarehouse): void {
  test('a person who was filled in again from an old file is deleted by the fence, and that is attested', async () => {
    await using workspace = await openWorkspace();
    const warehouse = open();
    const { engine, schema } = warehouse.place;
    const folder = workspace.folder;
    const key = join(folder, 'id');
    const config = join(folder, 'config.yaml');
    const tables = `${schema}.people, ${schema}.ids, ${schema}.orders`;
    const signer = sshKeyIn(key);
    writeFileSync(
      config,
      `export: { consumers: [warehouse], fence: [{ consumer: warehouse, signer: ${signer}, tables: [${tables}] }] }\n`,
    );
    const env = { ...workspace.env, MIRROR_CONFIG: config };
    const run = (...args: string[]) => runCliHere(args, env);
    const succeed = async (...args: string[]) => {
      const ended = await run(...args);
      expect(ended).toMatchObject({ code: expect.toBeOneOf([0, 4]) as number });
      return ended;
    };
    const publish = async () => {
      await succeed('export');
      await succeed('load', '--into', warehouse.address, '--schema', schema);
    };
    await succeed('sync', ...unlimited);
    await publish();
    const owners = `SELECT person_uuid, count(*) AS n FROM $distinct_ids GROUP BY person_uuid`;
    const [[uuid = ''] = []] = (await warehouse.read(
      `SELECT max(person_uuid) FROM (${owners}) AS o WHERE n > 1`,
    )) as string[][];
    await warehouse.make('old', 'SELECT person_uuid, name FROM $persons');
    await warehouse.make('people', 'SELECT person_uuid, name FROM $old');
    await warehouse.make('ids', 'SELECT distinct_id FROM $distinct_ids');
    const countOf = async (table: string) => Number((await warehouse.read(`SELECT count(*) FROM $${table}`))[0]?.[0]);
    const [people, ids] = [await countOf('people'), await countOf('ids')];

    const keyFile = join(folder, 'fence.key');
    const named = ['people:person_uuid=uuid', 'ids:distinct_id=distinct_id'].flatMap((one) => [
      '--table',
      `${schema}.${one}`,
    ]);
    const about = ['--for', engine, '--consumer', 'warehouse', '--fence', `${schema}.fence`, '--key', keyFile];
    const reportFile = join(folder, 'report.json');
    const runKit = async (...more: string[]) => {
      const { stdout } = await succeed('erase', 'kit', ...about, ...named, ...more);
      const secret = readFileSync(keyFile, 'utf8').trim();
      expect(stdout).not.toContain(secret.slice(0, 64));
      expect(stdout).not.toContain(secret.slice(64));
      return signedReport(warehouse, stdout, { key, file: reportFile });
    };
    const acknowledge = (...args: string[]) =>
      run('erase', 'acknowledge', ...args, '--consumer', 'warehouse', '--report', reportFile);

    // Before the erasure: nobody is fenced.
    expect((await runKit()).tables).toMatchObject([
      { control: 1, deleted: 0, left: 0 },
      { control: 1, deleted: 0, left: 0 },
    ]);
    await succeed('erase', 'add', '--uuid', uuid, '--basis', 'objection', '--by', 'T-1');
    await succeed('reconcile', ...unlimited);
    const { requests } = jsonOf(await succeed('erase', 'list', '--all', '--json')) as { requests: { id: string }[] };
    const id = requests[0]?.id ?? '';
    expect((await acknowledge(id)).stderr).toContain('the report is older than the erasure');
    expect(await countOf('people')).toBe(people);
    await publish();
    const first = await runKit();
    expect(first.tables).toMatchObject([
      { control: 1, deleted: 1, left: 0 },
      { control: 1, left: 0 },
    ]);
    expect(first.tables[1]?.deleted).toBeGreaterThan(1);
    // Filled again from an old file: the feed of deletions may have ended, the fence has not.
    await warehouse.read('INSERT INTO $people SELECT person_uuid, name FROM $old').catch(() => undefined);
    expect(await countOf('people')).toBe(2 * people - 1);
    expect((await runKit()).tables).toMatchObject([
      { control: 1, deleted: 1, left: 0 },
      { control: 1, deleted: 0, left: 0 },
    ]);
    expect(await warehouse.read(`SELECT count(*) FROM $people WHERE person_uuid = '${uuid}'`)).toEqual([['0']]);
    expect(await countOf('ids')).toBe(ids - (first.tables[1]?.deleted ?? 0));

    // Another key in the file, as of another consumer: the control row is not found, and nothing is deleted.
    const own = readFileSync(keyFile, 'utf8');
    const sql = (await succeed('erase', 'kit', ...about, ...named)).stdout;
    writeFileSync(keyFile, `${'0'.repeat(128)}\n`);
    expect((await signedReport(warehouse, sql, { key, file: reportFile })).tables).toMatchObject([
      { control: 0 },
      { control: 0 },
    ]);
    expect(await acknowledge()).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('its control row was not found') as string,
    });
    expect(await countOf('people')).toBe(2 * people - 2);
    expect((await run('erase', 'kit', ...about, ...named)).code).toBe(2);
    writeFileSync(keyFile, own);
    await runKit();

    const told = await acknowledge();
    expect(told).toMatchObject({ code: 0, stdout: `acknowledged ${id}\n` });
    expect(jsonOf(await succeed('erase', 'show', id, '--json'))).toMatchObject({
      acknowledgements: [
        {
          consumer: 'warehouse',
          seen: [{ assurance: 'attested', tables: [`${schema}.ids`, `${schema}.people`] }],
          not_covered: [`${schema}.orders`],
        },
      ],
    });
  });
}
