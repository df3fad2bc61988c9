import { startSandbox } from '../../sandbox/sandbox.ts';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { createApp, createProjectApps, type App, type ProjectApps } from '../../app.ts';
import { AppError } from '../../core/errors.ts';
import { databasePath } from '../../mirror/database.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { ExportJobResult } from '../../worker/export-job.ts';
import { besideSandbox, unhurried } from '../beside-sandbox.ts';
import { printResult, withApp, type CommandContext } from '../command.ts';
import { countText, durationText } from '../../core/words.ts';
import { settingsFlags, type GlobalOptions } from '../global-options.ts';
import { eraseSome } from './demo-erasure.ts';
import { describeDemo } from './demo-report.ts';
import { exportNow } from './export.ts';
import { runWorker } from './run.ts';
import { syncNow } from './sync.ts';

const persons = 20_000;
const recordings = 4000;
const generations = 3;

/** Defines `demo`: the whole story on the embedded sandbox, in a fresh folder. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--keep', 'go on as a worker beside the sandbox, with its status page, until it is stopped')
    .addHelpText(
      'after',
      '\nExamples:\n  npm run demo\n  npm run demo -- --keep\n  analytics-mirror demo --data-dir ./demo --json',
    )
    .action(async () => {
      const flags = command.optsWithGlobals<GlobalOptions & { keep?: boolean }>();
      const dataDir = flags.dataDir ?? mkdtempSync(join(tmpdir(), 'analytics-mirror-demo-'));
      // People who do not exist must not get among people who do.
      if (existsSync(databasePath(dataDir)))
        throw new AppError(`the demo wants a fresh folder, and this one has a mirror: ${dataDir}`, {
          code: 'usage',
          hint: 'name another --data-dir, or none for a temporary folder',
        });
      const say = (line: string): void => void context.stderr.write(`${line}\n`);
      const since = stopwatch();
      const sandbox = await startSandbox({ persons, recordings, seed: 1, port: 0 });
      say(
        `served   ${countText(persons)} persons and ${countText(recordings)} recordings at ${sandbox.url} (${since()})`,
      );
      try {
        const surroundings = besideSandbox(sandbox, context);
        const settings = settingsFlags({
          ...flags,
          dataDir,
          set: [...demoSettings(sandbox), ...(flags.set ?? [])],
        });
        const app = createApp(surroundings, settings);
        await withApp(app, async () => {
          const { passes } = await syncNow(app, context, {
            datasets: ['persons', 'recordings', 'playlists'],
            mode: 'full',
            resume: true,
          });
          say(
            `synced   ${passes.map(({ dataset, verdict }) => `${dataset} ${verdict}`).join(', ')} (${since()})`,
          );
          const { snapshots } = await publishGenerations(app, context, sandbox);
          say(
            `exported ${generations} times, at last ${snapshots.map(({ dataset, rows }) => `${countText(rows)} ${dataset}`).join(', ')} (${since()})`,
          );
          const erasure = await eraseSome(app, context, sandbox);
          say(
            `erased   ${countText(erasure.people)} people from the service, the mirror and ${countText(erasure.filesRewritten)} published files (${since()})`,
          );
          printResult(context, command, await describeDemo(app, erasure));
        });
        if (flags.keep) await keepWorking(createProjectApps(surroundings, settings), context, say);
      } finally {
        await sandbox.close();
      }
    });
}

/** Works beside the sandbox until it is stopped, and says where its status page is. */
async function keepWorking(
  parts: ProjectApps,
  context: CommandContext,
  say: (line: string) => void,
): Promise<void> {
  try {
    await runWorker(parts, context, (_worker, statusUrl) =>
      say(`a worker goes on beside the sandbox; its status page: ${statusUrl} (end it with Ctrl-C)`),
    );
  } finally {
    for (const app of parts.apps) await app.close();
  }
}

/** Publishes several generations, with changes at the service in between. */
async function publishGenerations(
  app: App,
  context: CommandContext,
  sandbox: Sandbox,
): Promise<ExportJobResult> {
  for (let generation = 1; ; generation += 1) {
    const published = await exportNow(app, context, ['persons', 'recordings', 'distinct_ids']);
    if (generation === generations) return published;
    const [first, second] = [...sandbox.living()].slice(generation * 10);
    if (first && second) sandbox.act({ do: 'merge', loser: first.uuid, survivor: second.uuid });
    await syncNow(app, context, { datasets: ['persons'], mode: 'head', resume: true });
  }
}

function demoSettings({ playlists }: Sandbox): { path: string; value: unknown }[] {
  return [
    { path: 'playlists.shortIds', value: playlists },
    { path: 'log.level', value: 'warn' },
    ...unhurried,
    // Nothing waits for it; it is there so that the status page has a budget to show.
    { path: 'budget.windows', value: [{ requests: 100_000, perSeconds: 3600 }] },
  ];
}

function stopwatch(): () => string {
  let last = performance.now();
  return () => {
    const now = performance.now();
    const text = durationText(now - last);
    last = now;
    return text;
  };
}
