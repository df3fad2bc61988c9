import type { Command } from 'commander';
import { planBucket } from '../../bucket/keep.ts';
import { AppError } from '../../core/errors.ts';
import { bytesText, codeText, countedText, countText } from '../../core/words.ts';
import { heldBecauseOf } from '../../erasure/request/box.ts';
import { findDifferencesIn } from '../../erasure/bound/differences.ts';
import type { ErasurePlan } from '../../erasure/plan.ts';
import type { ErasureResult } from '../../erasure/reconcile.ts';
import { clockFix } from '../../config/alert-kinds.ts';
import type { Settings } from '../../config/settings.ts';
import { readTarget, type FixedTarget } from '../../ledger/target.ts';
import { targetText } from '../../ledger/vocabulary-words.ts';
import { listRequests } from '../../mirror/erasure-requests.ts';
import type { KnownAs } from '../../mirror/read-rows.ts';
import { listHeldPlans, listHeldRows, type HeldPlan } from '../../mirror/suspects.ts';
import { publishedFilesIn } from '../../snapshot/published-files.ts';
import { listedAgainTexts } from '../../status/listed-again.ts';
import {
  planReconcile,
  runReconcileJob,
  type ReconcileJobResult,
  type ReconcilePlan,
} from '../../worker/reconcile-job.ts';
import { absenceText, heldPlanText } from '../sync-text.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { bucketJson, bucketPlanText, bucketText, catalogJson, catalogText } from '../bucket-text.ts';
import { presentError } from '../errors.ts';
import { heldText, rowsText } from '../held-text.ts';
import { formatTable } from '../table.ts';

type ReconcileFlags = { dryRun?: boolean; approve?: string };

/** Defines `reconcile`: advances every erasure request and every pending deletion as far as it can go now. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .option('--dry-run', 'show the plan, and change nothing')
    .option('--approve <plan>', 'let a held plan of deletions go on, for its rows only');
  return {
    help: `
Erasing: the fence keeps each person out, the mirror and every published file lose their rows, and a scan proves that
nothing is left; then the service is asked to delete the persons. The steps here do not wait for the service. The next run
continues a killed run.
Deletions: a row leaves the mirror only after the service has answered 404 for it often enough (deletions.confirmations),
far enough apart (deletions.confirmAfterSeconds). It is then erased from the published files too, together with others
(deletions.collectHours).
A bucket (export.destination) is made equal to the published files, old versions and unfinished uploads included.
Exit codes: 0 done, 4 something needs you (see \`erase list\`, or a held plan).

Examples:
  analytics-mirror reconcile --dry-run
  analytics-mirror reconcile
  analytics-mirror reconcile --approve 3f2a9c0d1b4e5f60`,
    run: async (app, { dryRun, approve }: ReconcileFlags) => {
      if (dryRun) {
        const db = app.databaseReadOnly();
        const service = app.hasService ? app.service() : null;
        const { settings, clock } = app;
        const published = publishedFilesIn(settings.dataDir);
        const { signal } = context;
        const { plan } = await planReconcile({ db, published, settings, clock, service, signal });
        const held = listHeldPlans(db).map((plan) => Object.assign(plan, { held: listHeldRows(db, plan, plan.rows) }));
        const differs = (await findDifferencesIn(settings.dataDir, db)).map(({ sentence }) => sentence);
        const toBeMended = differs.map((sentence) => `to be mended: ${sentence}\n`).join('');
        const rewritten = plan.erasure.files.map(({ file }) => file.replace('snapshot:', ''));
        const bucket = await planBucket({ published, settings, clock, signal }, rewritten).catch(asAppError);
        return {
          json: { plan, held, differs, bucket: bucket instanceof AppError ? { error: presentError(bucket) } : bucket },
          text: `${toBeMended}${planText(plan, held)}${bucketPlanText(bucket)}`,
        };
      }
      const result = await runReconcileJob(app.jobContext(context.signal), approve);
      const { outcome, plan, replayed, mended, lost, lostDeletions, erasure, absence, listedAgain, clock } = result;
      const db = app.databaseReadOnly();
      const holders = listRequests(db, 'open').map((request) =>
        heldText(
          `request ${request.id} needs attention: it`,
          heldBecauseOf({ db, settings: app.settings }, request),
          db,
        ),
      );
      const places = { bucket: bucketJson(result.bucket), catalog: catalogJson(result.catalog) };
      return {
        ended: outcome === 'held' ? 'incomplete' : 'done',
        json: { outcome, plan, replayed, mended, lost, lostDeletions, erasure, absence, listedAgain, ...places, clock },
        text: `${resultText(result, app.settings)}${holders.join('')}`,
      };
    },
  };
}

/** What is wrong with a bucket is a part of the plan. */
function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

/** `held`: with the rows that each plan holds. */
function planText({ absence, erasure }: ReconcilePlan, held: readonly (HeldPlan & { held: KnownAs[] })[]): string {
  const table = formatTable(
    ['no longer listed', 'to be asked for', 'too early', 'held', 'plan'],
    absence.map(({ dataset, ask, wait, hold }) => [dataset, ask, wait, hold?.rows ?? 0, hold?.plan ?? '']),
  );
  return `${erasurePlanText(erasure)}${table}${held.map((plan) => `${heldPlanText(plan)}${rowsText(plan.held, plan.rows)}`).join('')}`;
}

function erasurePlanText({ requests, files, searched, upstream, collected, feedExpires }: ErasurePlan): string {
  const lines = [
    requests.length === 0
      ? 'no open request\n'
      : formatTable(
          ['request', 'next', 'persons', 'distinct ids', 'recordings', 'quarantined', 'files'],
          requests.map((request) => [
            request.id,
            `${request.decision}${request.reason === null ? '' : ` (${codeText(request.reason)})`}`,
            request.persons,
            request.distinctIds,
            request.recordings,
            request.quarantined,
            request.files,
          ]),
        ),
    ...(files.length === 0
      ? []
      : [
          `\nto be rewritten: ${countText(files.length)} files; searched ${countText(searched.files)} files, ${countText(searched.rows)} rows, ${bytesText(searched.bytes)} read\n`,
          formatTable(
            ['file', 'rows concerned'],
            files.map(({ file, rows }) => [targetText(readTarget(file)), rows]),
          ),
        ]),
    ...Object.entries(upstream).map(
      ([target, count]) => `${targetText(target as FixedTarget)}: ${countText(count)} open\n`,
    ),
    ...(collected === 0 ? [] : [`deleted at the service, to be erased together later: ${countText(collected)}\n`]),
    ...(feedExpires === 0 ? [] : [`leaving the feed of deletions: ${countText(feedExpires)}\n`]),
  ];
  return `${lines.join('')}\n`;
}

function resultText(result: ReconcileJobResult, settings: Settings): string {
  const { replayed, mended, lost, lostDeletions, erasure, absence, listedAgain, bucket, catalog, clock } = result;
  const texts = [
    ...mended.map((sentence) => `mended: ${sentence}\n`),
    replayed === null
      ? ''
      : `something older was put back: ${countedText(replayed.rows, 'row')} of ${countedText(replayed.requests, 'request')} erased again\nwhoever keeps copies of the published files loads them anew: what was erased since may be named nowhere\n`,
    lost.length === 0
      ? ''
      : `LOST: only mirror.db says whom a request means, and this one does not say it for these: it is older, or was not written when they were received. Add them again, unless you have since:\n${lost.map((id) => `  ${id}\n`).join('')}`,
    lostDeletions === 0
      ? ''
      : `LOST: whom ${countedText(lostDeletions, 'request')} of deletions at the service meant. The next sync finds those whose rows mirror.db has; older published files keep the others: sync, then \`export --set export.keep=1\` removes them\n`,
    erasureText(erasure, settings),
    absenceText(absence),
    listedAgainText(listedAgain),
    bucketText(bucket),
    catalogText(catalog),
    clock.problem === null ? '' : `ATTENTION: ${clock.problem}; ${clockFix}\n`,
  ];
  return texts.join('') || 'nothing is pending\n';
}

/** What became of rows that were taken for deleted at the service, and that it shows again. */
function listedAgainText({ letIn, staysOut }: ReconcileJobResult['listedAgain']): string {
  const out = `${countedText(staysOut, 'row')} taken for deleted at the service, and listed again, cannot be had: \`status\` says why\n`;
  return `${listedAgainTexts({ letIn, out: [] })
    .map((text) => `${text}\n`)
    .join('')}${staysOut > 0 ? out : ''}`;
}

/** The steps that were done for erasure requests, as text. */
function erasureText(
  erasure: ErasureResult,
  { erasure: { maxRequestDays }, deletions: { collectHours } }: Settings,
): string {
  const lines: [count: number, what: string][] = [
    [erasure.fenced, 'fenced and taken out of the mirror'],
    [erasure.rowsErased, 'rows of persons and recordings erased'],
    [erasure.filesRewritten, `published files rewritten, without ${countedText(erasure.rowsRemoved, 'row')}`],
    [erasure.verified, 'proved gone from here by a scan'],
    [erasure.certified, 'reached everything'],
    [erasure.sealed, 'sealed: their identifiers are destroyed'],
    [
      erasure.cancelled,
      `cancelled: older than ${maxRequestDays} days, the persons are still here; add them again to go on`,
    ],
    [erasure.unreached, `ended: older than ${maxRequestDays} days, and not all was reached; \`erase show\` says what`],
    [erasure.refused, 'refused: such a person is unknown'],
    [erasure.held, 'held for your approval: `erase list` says why'],
    [erasure.residue, 'with something left: `erase scan` says where'],
    [erasure.attention, `${erasure.attention === 1 ? 'calls' : 'call'} for attention: \`erase list\` says why`],
    [
      erasure.waiting,
      `${erasure.waiting === 1 ? 'goes on by itself' : 'go on by themselves'}: \`erase show\` says when`,
    ],
    [
      erasure.collected,
      `deleted at the service: erased together, within ${countedText(collectHours, 'hour')} (deletions.collectHours)`,
    ],
  ];
  const done = lines.filter(([count]) => count > 0);
  return done.length === 0 ? '' : formatTable(['erasure', ''], done);
}
