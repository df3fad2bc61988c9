import type { App } from '../app/app.ts';
import { systemClock, type Clock } from '../core/clock.ts';
import { countText, durationText } from '../core/words.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { ExportJobResult } from '../worker/export-job.ts';
import { eraseSome, type ErasingCommands } from './demo-erasure.ts';
import { describeDemo, type DemoReport } from './demo-report.ts';
import { startEmbeddedSandbox, unhurried } from './embedded-sandbox.ts';

/** What the demo uses of the commands. */
type DemoCommands = Omit<ErasingCommands, 'passTime'>;

const persons = 20_000;
const recordings = 4000;
const generations = 3;
/** The demo begins so long ago, so that the service's weekly batch has run at its end. */
const agoMs = 14 * 86_400_000;

const earlier: Clock = { ...systemClock, now: () => systemClock.now() - agoMs };

/** Starts the service of the demo, if wanted with hostile values in its data. */
export async function serveDemo({
  say,
  hostile,
}: Pick<DemoCommands, 'say'> & { hostile?: boolean | undefined }): Promise<Sandbox> {
  const since = stopwatch();
  // Like live services, but that no recording ends in the two weeks of the demo.
  const like = { profile: 'live', live: { retentionDays: 90 } } as const;
  const sandbox = await startEmbeddedSandbox({
    persons,
    recordings,
    seed: 1,
    port: 0,
    hostile,
    clock: earlier,
    ...like,
  });
  say(`served   ${countText(persons)} persons and ${countText(recordings)} recordings at ${sandbox.url} (${since()})`);
  return sandbox;
}

/** The settings of the demo, besides those that name its service. */
export function demoSettings({ playlists }: Sandbox): { path: string; value: unknown }[] {
  return [
    { path: 'playlists.shortIds', value: playlists },
    { path: 'log.level', value: 'warn' },
    { path: 'service.pathPrefix', value: '/api/projects' },
    { path: 'recordings.query', value: { date_from: '-90d' } },
    ...unhurried,
    // Too large to make any request wait: it is set so that the status page has a budget to show.
    { path: 'budget.windows', value: [{ requests: 100_000, perSeconds: 3600 }] },
  ];
}

/** Syncs, publishes and erases beside a sandbox, and returns the result. */
export async function runDemo(app: App, sandbox: Sandbox, commands: DemoCommands): Promise<DemoReport> {
  const { say, sync } = commands;
  const since = stopwatch();
  const { passes } = await sync(app, { datasets: ['persons', 'recordings', 'playlists'], mode: 'full', resume: true });
  say(`synced   ${passes.map(({ dataset, verdict }) => `${dataset} ${verdict}`).join(', ')} (${since()})`);
  const { snapshots } = await publishGenerations(app, sandbox, commands);
  say(
    `exported ${generations} times, at last ${snapshots.map(({ dataset, rows }) => `${countText(rows)} ${dataset}`).join(', ')} (${since()})`,
  );
  const passTime = (days: number): void => {
    const nowMs = sandbox.clock.now() + days * 86_400_000;
    sandbox.clock.moveTo(Math.min(nowMs, systemClock.now()));
  };
  const erasure = await eraseSome(app, sandbox, { ...commands, passTime });
  say(
    `erased   ${countText(erasure.people)} people from the service, the mirror and ${countText(erasure.filesRewritten)} published files (${since()})`,
  );
  return describeDemo(app, sandbox, erasure);
}

/** Publishes several generations, with changes at the service in between. */
async function publishGenerations(
  app: App,
  sandbox: Sandbox,
  { sync, publish }: DemoCommands,
): Promise<ExportJobResult> {
  for (let generation = 1; ; generation += 1) {
    const published = await publish(app);
    if (generation === generations) return published;
    const [first, second] = [...sandbox.living()].slice(generation * 10);
    if (first && second) sandbox.act({ do: 'merge', loser: first.uuid, survivor: second.uuid });
    // What a look at the head of the list sees: without it, there would be nothing new to publish.
    sandbox.act({ do: 'create', distinct_ids: [`newcomer_${generation}`] });
    await sync(app, { datasets: ['persons'], mode: 'head', resume: true });
  }
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
