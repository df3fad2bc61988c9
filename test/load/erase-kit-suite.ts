import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { jsonOf, runCliHere } from '../cli/run-cli.ts';
import { openWorkspace, unlimited } from '../cli/workspace.ts';
import type { TestWarehouse } from './warehouses.ts';

/** A warehouse in which a kit can be run, and tables be made of others. `run` gives what its one SELECT gives. */
export type KitWarehouse = TestWarehouse & {
  run: (statements: readonly string[]) => Promise<string>;
  make: (table: string, select: string) => Promise<void>;
};

/** Tests, for one engine, that a person is seen gone from tables that `load` does not make. */
export function testKit(open: () => KitWarehouse): void {
  test('a person who was filled in again from an old file is deleted by the fence, and that is attested', async () => {
    await using workspace = await openWorkspace();
    const warehouse = open();
    const { engine, schema } = warehouse.place;
    const folder = workspace.folder;
    const key = join(folder, 'id');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
    const config = join(folder, 'config.yaml');
    const tables = `${schema}.people, ${schema}.ids, ${schema}.orders`;
    const signer = readFileSync(`${key}.pub`, 'utf8').trim();
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
      const report = await warehouse.run(stdout.trim().split(/;\n|\n(?=\\)|(?<=\.key')\n/));
      writeFileSync(reportFile, report);
      execFileSync('rm', ['-f', `${reportFile}.sig`]);
      execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-n', 'analytics-mirror', '-f', key, reportFile], {
        stdio: 'pipe',
      });
      return JSON.parse(report) as { tables: { deleted: number; left: number; control: number }[] };
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
    const blind = await warehouse.run(sql.trim().split(/;\n|\n(?=\\)|(?<=\.key')\n/));
    expect((JSON.parse(blind) as { tables: object[] }).tables).toMatchObject([{ control: 0 }, { control: 0 }]);
    expect(await countOf('people')).toBe(2 * people - 2);
    expect((await run('erase', 'kit', ...about, ...named)).code).toBe(2);
    writeFileSync(keyFile, own);

    const told = await acknowledge('--all');
    expect(told).toMatchObject({ code: 0, stdout: `acknowledged ${id}\n` });
    expect(jsonOf(await succeed('erase', 'show', id, '--json'))).toMatchObject({
      acknowledgements: [
        {
          consumer: 'warehouse',
          seen: {
            assurance: 'attested',
            tables: [`${schema}.ids`, `${schema}.people`],
            not_covered: [`${schema}.orders`],
          },
        },
      ],
    });
  });
}
