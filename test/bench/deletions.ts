import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { Measurement } from './case.ts';
import { measureCommand } from './measure.ts';

// What deletions and deltas cost, at the embedded service: `npm run bench:deletions -- [--persons N] [--recordings N]`. The rows that are
// touched stand far apart in the list, so each file of each generation holds some of them.

const { values } = parseArgs({
  options: {
    persons: { type: 'string', default: '1000000' },
    recordings: { type: 'string', default: '200000' },
    generations: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
    deltas: { type: 'string', default: '0' },
  },
});
const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const persons = Number(values.persons);
execFileSync(process.execPath, [fileURLToPath(new URL('../../config/build.ts', import.meta.url))], {
  stdio: 'inherit',
});
const folder = mkdtempSync(join(tmpdir(), 'analytics-mirror-deletions-'));
const dataDir = join(folder, 'data');
const service = spawn(
  process.execPath,
  [
    program,
    'sandbox',
    '--json',
    '--dir',
    join(folder, 'service'),
    '--persons',
    values.persons,
    '--recordings',
    values.recordings,
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
try {
  const [line] = (await once(createInterface({ input: service.stdout }), 'line')) as [string];
  const { url, projectId, apiKey } = JSON.parse(line) as { url: string; projectId: string; apiKey: string };
  const settings = ['deletions.confirmAfterSeconds=0', 'deletions.collectHours=0', `export.keep=${values.generations}`];
  const around = [...settings, 'export.deltasMax=1000'].flatMap((setting) => ['--set', setting]);
  const run = (...command: string[]): Promise<Measurement> =>
    measureCommand([...command, ...around], url, dataDir, apiKey);

  /** So many living persons, at places of the list that are equally far apart. */
  const apart = async (count: number): Promise<{ uuid: string; distinct_ids: string[] }[]> => {
    const rows = [];
    for (let index = 0; index < count; index += 1) {
      const offset = Math.floor((index * (persons - 400)) / count);
      const path = `${url}/api/environments/${projectId}/persons/?limit=1&offset=${offset}`;
      const answer = await fetch(path, { headers: { authorization: `Bearer ${apiKey}` } });
      rows.push(...((await answer.json()) as { results: { uuid: string; distinct_ids: string[] }[] }).results);
    }
    return rows;
  };
  const act = async (action: object): Promise<void> => {
    const answer = await fetch(`${url}/__sandbox/act`, { method: 'POST', body: JSON.stringify(action) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  const erase = async (count: number): Promise<void> => {
    const file = join(folder, 'requests.csv');
    const rows = await apart(count);
    writeFileSync(
      file,
      rows.map(({ distinct_ids: [id = ''] }) => `distinct_id,"${id.replaceAll('"', '""')}"\n`).join(''),
    );
    const files = filesIn(join(dataDir, 'snapshots'));
    tell(
      `erase add, ${count} of ${files.count} files, ${files.bytes / 1e6} MB`,
      await run('erase', 'add', '--file', file, '--basis', 'objection', '--by', 'T-1'),
    );
    tell(`reconcile, ${count} on request`, await run('reconcile'));
  };

  tell('first sync', await run('sync'));
  tell('export', await run('export'));
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { uuid } of await apart(50)) await act({ do: 'delete', uuid });
    tell('sync, 50 gone', await run('sync', 'persons', '--fresh'));
    tell('reconcile, 50 gone at the service', await run('reconcile'));
  }
  for (let generation = 1; generation < Number(values.generations); generation += 1) {
    await act({ do: 'create' });
    await run('sync', 'persons');
    tell('export', await run('export'));
  }
  await erase(1);
  await erase(100);
  const before = filesIn(join(dataDir, 'snapshots'), 'metadata');
  for (let delta = 0; delta < Number(values.deltas); delta += 1) {
    for (let row = 0; row < 110; row += 1) await act({ do: 'create', properties: { delta, row } });
    await run('sync', 'persons', '--mode', 'head');
    await run('export', '--kind', 'delta', 'persons');
  }
  const after = filesIn(join(dataDir, 'snapshots'), 'metadata');
  process.stdout.write(
    `metadata of ${values.deltas} deltas: ${(after.bytes - before.bytes) / 1e6} MB in ${after.count - before.count} files\n`,
  );
} finally {
  service.kill();
  rmSync(folder, { recursive: true, force: true });
}

function tell(what: string, { ms, cpuMs, writtenBytes, peakRssBytes }: Measurement): void {
  const numbers = `${(cpuMs / 1000).toFixed(1)} s of processor time, ${(ms / 1000).toFixed(1)} s`;
  process.stdout.write(
    `${what}: ${numbers}, ${(writtenBytes / 1e9).toFixed(2)} GB written, ${Math.round(peakRssBytes / 1e6)} MB\n`,
  );
}

/** The files below a folder, or below each folder of a name in it. */
function filesIn(root: string, within = ''): { count: number; bytes: number } {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && (within === '' || entry.parentPath.includes(within)),
  );
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  return { count: files.length, bytes };
}
