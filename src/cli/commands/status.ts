import { setTimeout as delay } from 'node:timers/promises';
import type { Command } from 'commander';
import { learntText, pauseText } from '../../client/budget-standing.ts';
import { isoTime } from '../../core/clock.ts';
import { bytesText, countedText, countText, printableLines, secondText } from '../../core/words.ts';
import type { JobState } from '../../job/worker-state.ts';
import { stateCounts } from '../../ledger/vocabulary-words.ts';
import { keptLogText } from '../../mirror/log-size.ts';
import { listedAgainTexts } from '../../status/listed-again.ts';
import type { ErasureReport, ProjectContent, RunReport, SnapshotReport } from '../../status/overview.ts';
import { holderText, type ElsewhereReport } from '../../cluster/roster.ts';
import { judgeProject, type Verdict } from '../../status/verdict.ts';
import type { CommandAction, CommandContext, CommandResult } from '../command.ts';
import type { GlobalOptions } from '../global-options.ts';
import { attentionText, overviewHere, statusOfAll } from '../status-of-all.ts';
import { standingText } from '../bucket-text.ts';
import { heldPlanText, passTable } from '../sync-text.ts';
import { formatTable } from '../table.ts';
import { refuseUnfitFolder } from '../unfit-folder.ts';

const watchEveryMs = 2_000;
const clearedScreen = '\u001B[H\u001B[2J';
const runsShown = 5;

type StatusFlags = { watch?: boolean; check?: boolean };

/** Defines `status`: shows the state of the mirror, its snapshots and runs. */
export function define(command: Command, context: CommandContext): CommandAction {
  const { stdout, signal } = context;
  const judged = (check: boolean | undefined, isWell: boolean): 'done' | 'incomplete' =>
    check === true && !isWell ? 'incomplete' : 'done';
  /** Shows it again and again where that is asked for, until the signal. */
  const show = async (
    watch: boolean | undefined,
    look: () => Promise<CommandResult> | CommandResult,
  ): Promise<void> => {
    if (watch !== true || command.optsWithGlobals<GlobalOptions>().json === true) return;
    while (!signal.aborted) {
      stdout.write(`${clearedScreen}${printableLines((await look()).text)}`);
      await delay(watchEveryMs, undefined, { signal }).catch(() => undefined);
    }
  };
  command
    .option('--watch', 'show it again every two seconds, until Ctrl-C')
    .option('--check', 'end with 4 where something needs a person, for a monitor');
  return {
    help: '\nIts first line answers whether all is well. What needs a person comes next, with what to do about it.\nWhere several projects are configured and none is named, it\nshows all, the worst first.\nExit codes with --check: 0 all is well, 4 something needs a person.\n\nExamples:\n  analytics-mirror status\n  analytics-mirror status --watch\n  analytics-mirror status --check --json',
    runAll: async (apps, { watch, check }: StatusFlags) => {
      const look = async (): Promise<CommandResult> => {
        const { isWell, ...result } = await statusOfAll(apps);
        return { ...result, ended: judged(check, isWell) };
      };
      await show(watch, look);
      return look();
    },
    run: async (app, { watch, check }: StatusFlags) => {
      const { clock, shared } = app;
      const report = await shared?.elsewhere();
      if (report) {
        const ended = judged(check, report.said?.alerts.length === 0 && !report.isSilent);
        return { ended, json: report, text: elsewhereText(report) };
      }
      const db = app.databaseReadOnly();
      refuseUnfitFolder(db, app.settings);
      const look = (): CommandResult => {
        const at = isoTime(clock.now());
        const overview = overviewHere(app, db);
        const { dataDir, alerts, jobs, condition, content } = overview;
        const verdict = judgeProject(overview, at);
        return {
          ended: judged(check, verdict.reasons.length === 0),
          json: {
            dataDir,
            ...content,
            alerts,
            log: { bytes: condition.logBytes, isHeld: keptLogText(condition.logBytes) !== null },
            clock: condition.clock,
            schedule: jobs.map(({ job, cron, nextAt, lastAt, lastOutcome }) => ({
              job,
              cron,
              nextAt: nextAt < at ? at : nextAt,
              lastAt,
              lastOutcome,
            })),
          },
          text: contentText(dataDir, content, verdict) + scheduleText(jobs, at),
        };
      };
      await show(watch, look);
      return look();
    },
  };
}

/** What the holder of a project says of it, where this machine has no copy. */
function elsewhereText(report: ElsewhereReport): string {
  const { isPaused, isSilent, newer, said } = report;
  const lines = [`${holderText(report)}${isPaused ? '; it is paused' : ''}\n`];
  if (isSilent) lines.push('no machine has said anything of it for minutes: start a worker\n');
  if (newer !== null) lines.push(`this machine leaves it alone: ${newer}\n`);
  if (!said) return `${lines.join('')}no machine has said anything of it yet\n`;
  lines.push(`by what its holder said at ${secondText(said.at)}; all else is in its own status\n`);
  return `${[...lines, ...said.alerts.map(attentionText)].join('')}${scheduleText(said.jobs, said.at)}`;
}

function contentText(
  dataDir: string,
  { lists, rows, suspects, held, passes, snapshots, buckets, erasure, runs, lease, budget }: ProjectContent,
  { sentence, reasons }: Verdict,
): string {
  const awaited = Object.entries(suspects).filter(([, count]) => count > 0);
  const sections = [
    `${sentence}\nmirror in ${dataDir}\n`,
    ...(reasons.length === 0 ? [] : [reasons.map(attentionText).join('')]),
    freshnessTable(lists),
    formatTable(['table', 'rows'], Object.entries(rows)),
    passes.length === 0 ? 'no pass yet: run `analytics-mirror sync`\n' : passTable(passes),
    ...(awaited.length === 0
      ? []
      : [
          `no longer listed, to be asked for: ${awaited.map(([dataset, count]) => `${countText(count)} ${dataset}`).join(', ')}\n`,
        ]),
    ...held.map(heldPlanText),
    ...(snapshots === null ? [] : [snapshotText(snapshots)]),
    ...buckets.map(standingText),
    ...erasureText(erasure),
    runText(runs.slice(0, runsShown)),
    ...(lease
      ? [`held by ${lease.job}, process ${lease.pid} on ${lease.host}, since ${secondText(lease.takenAt)}\n`]
      : []),
    ...pauseText(budget).map((text) => `WAITING: ${text}\n`),
    ...learntText(budget).map((text) => `${text}\n`),
  ];
  return sections.join('\n');
}

/** How old the mirror is, list by list. */
function freshnessTable(lists: ProjectContent['lists']): string {
  return formatTable(
    ['list', 'is', 'complete as of', 'last looked at'],
    lists.map(({ dataset, state, completeAsOf, lookedAt }) => [
      dataset,
      state === 'never' ? 'not yet' : state === 'incomplete' ? 'never complete' : state,
      completeAsOf === null ? '' : secondText(completeAsOf),
      lookedAt === null ? '' : secondText(lookedAt),
    ]),
  );
}

/** The states of the erasure requests; nothing where there never was one. */
function erasureText(erasure: ErasureReport): string[] {
  const { states, nextDueAt, eventsExpectedBy, fence, access } = erasure;
  const counts = stateCounts(states);
  const forAccess =
    access.nextDueAt === null
      ? []
      : [
          `requests for access: ${countText(access.open)} open, next due ${secondText(access.nextDueAt)} (\`access list\`)\n`,
        ];
  if (counts.length === 0) return forAccess;
  const table = formatTable(['requests to erase', { right: 'count' }], counts);
  const notes = [
    ...(nextDueAt === null ? [] : [`next due ${secondText(nextDueAt)}`]),
    ...(eventsExpectedBy === null ? [] : [`the service's batch should have run by ${secondText(eventsExpectedBy)}`]),
    `the fence has kept rows out ${countText(fence.hits)} times, and the service has ${countedText(fence.recreated, 'fenced identifier')} again`,
    ...listedAgainTexts(erasure.listedAgain),
  ];
  return [`${table}${notes.map((text) => `${text}\n`).join('')}`, ...forAccess];
}

function snapshotText(snapshots: readonly SnapshotReport[]): string {
  if (snapshots.length === 0) return 'no snapshot yet: run `analytics-mirror export`\n';
  const isUnchanged = snapshots.some(({ unchangedAt }) => unchangedAt !== null);
  return formatTable(
    [
      'snapshot',
      'rows',
      'files',
      { right: 'size' },
      'from a pass that was',
      'published',
      'deltas',
      'newest',
      ...(isUnchanged ? ['unchanged'] : []),
    ],
    snapshots.map(({ dataset, rows, files, bytes, verdict, createdAt, deltas, updatedAt, unchangedAt }) => [
      dataset,
      rows,
      files,
      bytesText(bytes),
      verdict ?? 'never made',
      secondText(createdAt),
      deltas,
      secondText(updatedAt),
      ...(isUnchanged ? [unchangedAt === null ? '' : `at ${secondText(unchangedAt)}`] : []),
    ]),
  );
}

function runText(runs: readonly RunReport[]): string {
  return formatTable(
    ['run', 'job', 'outcome', 'requests', 'began'],
    runs.map(({ id, job, outcome, reason, requests, startedAt }) => [
      String(id),
      job,
      reason === null ? outcome : `${outcome} (${reason})`,
      requests,
      secondText(startedAt),
    ]),
  );
}

function scheduleText(schedule: readonly JobState[], now: string): string {
  if (schedule.length === 0) return '';
  const table = formatTable(
    ['run does', 'at (UTC)', 'last', 'outcome', 'next'],
    schedule.map(({ job, cron, nextAt, lastAt, lastOutcome }) => [
      job,
      cron,
      lastAt === null ? 'never' : secondText(lastAt),
      lastOutcome ?? '',
      nextAt <= now ? 'due' : secondText(nextAt),
    ]),
  );
  return `\n${table}`;
}
