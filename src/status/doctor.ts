import { accessSync, constants, existsSync, statSync } from 'node:fs';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { explainStorageError } from '../core/storage-error.ts';
import { nearestPath, refuseUnwritable } from '../core/folder.ts';
import { bytesText, countedText, countText } from '../core/words.ts';
import { refuseLostLedger } from '../job/lost-ledger.ts';
import { refuseOthersMirror } from '../mirror/runs.ts';
import { alertTable } from '../config/alert-kinds.ts';
import type { Settings } from '../config/settings.ts';
import { learntText, pauseText, type BudgetStanding } from '../client/budget-standing.ts';
import { findDifferencesIn } from '../erasure/bound/differences.ts';
import { differenceError } from '../erasure/bound/compare.ts';
import { refuseRestored } from '../erasure/fence/restore-guard.ts';
import { findMissingAnchors } from '../anchor/missing-anchors.ts';
import { refusePromotion } from '../export/export-mirror.ts';
import { warehousePlace } from '../load/address.ts';
import { ledgerFolder } from '../ledger/entry-file.ts';
import { readLedger, type LedgerReader } from '../ledger/ledger.ts';
import type { OutsideSigner } from '../ledger/outside-signer.ts';
import { refuseOtherKey } from '../ledger/signing-key.ts';
import { verifyLedger } from '../ledger/verify.ts';
import { listRequests } from '../mirror/erasure-requests.ts';
import { findFencedIdentifiers, readEpoch, refuseLostFenceKey } from '../mirror/fence.ts';
import { databasePath, lostMirrorHint, type Database } from '../mirror/database.ts';
import { countTable } from '../mirror/read-rows.ts';
import { checkStructure } from '../mirror/run-query.ts';
import { keptLogText, readLogBytes } from '../mirror/log-size.ts';
import { checkBuckets } from './bucket-check.ts';
import type { Attempt, Check, Found } from './check.ts';
import {
  checkClock,
  checkDisk,
  checkMaskKey,
  checkPasses,
  checkProperties,
  recordingsWindow,
  refuseLostFiles,
} from './folder-checks.ts';
import { examineService, type ServiceParts } from './service-checks.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { problemSentence, verifySnapshotsTwice } from '../snapshot/verify.ts';

/** What the checks work with. Each function throws an `AppError` when it fails. */
export type DoctorParts = Omit<ServiceParts, 'isErasing'> & {
  openReader: () => Database;
  /** Who holds the project, where that is another machine of a cluster: what is here says nothing of it then. */
  heldElsewhere?: string | null;
  /** Folders with a mirror or a ledger beside the project's that no project uses. */
  unused?: () => string[];
  /** The keys that sign the ledger from outside of the data folder. */
  signers: () => readonly OutsideSigner[];
  clock: Clock;
};

/**
 * Checks configuration, key, scopes, disk, database and published files. Changes nothing and reports every result. A check
 * that would have to wait for the budget is skipped.
 */
export async function examine(parts: DoctorParts): Promise<Check[]> {
  const { settings, openReader, heldElsewhere = null } = parts;
  const { dataDir } = settings;
  const attempt: Attempt = (check, run) => attemptIn(dataDir, check, run);
  const hasMirror = heldElsewhere === null && existsSync(databasePath(dataDir));
  const notHere: Check = {
    check: 'project',
    state: 'skipped',
    detail: `${heldElsewhere}; doctor looks at folder and bucket on the machine that holds it`,
  };
  const ofFolder = heldElsewhere === null ? await examineFolder(attempt, parts, hasMirror) : [notHere];
  const ofBudget = await attempt('budget', async () => budgetFound(await parts.budget.standing(), settings.budget));
  const isErasing = (): boolean => hasMirror && listRequests(openReader(), 'open').length > 0;
  const ofService = await examineService(attempt, { ...parts, isErasing });
  const isAnswering = ofService.some(({ state }) => state === 'ok');
  return [
    await attempt('configuration', () => configurationFound(settings)),
    ...ofFolder,
    ...(parts.unused?.() ?? []).map(unusedFolder),
    ofBudget,
    ...ofService,
    await attempt('clock', () => checkClock({ ...parts, isAnswering, db: hasMirror ? openReader() : null })),
    ...('date_from' in settings.recordings.query
      ? []
      : [await attempt('recordings', () => recordingsWindow(hasMirror ? openReader() : null))]),
    ...(hasMirror ? [await attempt('passes', () => checkPasses(openReader()))] : []),
  ];
}

/** A project that left the configuration, for example: no worker and no other command names it. */
function unusedFolder(folder: string): Check {
  const detail = `${folder} has a mirror or a ledger, and no project of the configuration uses it: nobody is erased there any more`;
  const fix = 'name its project in the configuration; once its requests have ended and it is not wanted, move it away';
  return { check: 'other folder', state: 'warning', detail, fix };
}

/** Checks the data folder, and the buckets that follow it. */
async function examineFolder(attempt: Attempt, parts: DoctorParts, hasMirror: boolean): Promise<Check[]> {
  const { settings, openReader, signal } = parts;
  const { dataDir } = settings;
  let known: LedgerReader | undefined;
  const ledger = (): LedgerReader => (known ??= readLedger(dataDir));
  return [
    await attempt('data folder', () => folderUse(dataDir)),
    await attempt('disk', () => checkDisk(settings)),
    await attempt('mirror', () => (hasMirror ? checkMirror(openReader(), settings, signal) : missingMirror(ledger()))),
    ...(hasMirror ? [await attempt('log', () => checkLog(dataDir))] : []),
    await attempt('ledger', () => checkLedger(dataDir, parts.signers())),
    ...(settings.audit.anchors.length > 0 ? [await attempt('anchors', () => checkAnchors(settings))] : []),
    ...(hasMirror ? [await attempt('erasures', () => checkErasures(openReader(), dataDir, ledger(), signal))] : []),
    await attempt('state', () => checkState(hasMirror ? openReader() : null, dataDir, ledger())),
    await attempt('snapshots', async () => {
      const { files, bytes, problems } = await verifySnapshotsTwice(publishedFilesIn(dataDir), signal);
      if (problems.length > 0)
        throw new AppError(problems.map(problemSentence).join(', '), {
          code: 'storage',
          hint: 'run `analytics-mirror reconcile`, then `analytics-mirror export` to publish whole files again',
        });
      if (files === 0 && hasMirror) refuseLostFiles(openReader());
      return `${countedText(files, 'published file')}, ${bytesText(bytes)}, ${files === 1 ? 'as its manifest says' : 'all match their manifests'}`;
    }),
    ...(settings.export.mask.some((mask) => typeof mask !== 'string')
      ? [await attempt('mask key', () => checkMaskKey(dataDir))]
      : []),
    ...(hasMirror ? [await attempt('properties', () => checkProperties(openReader(), settings.export))] : []),
    ...(await checkBuckets(attempt, settings, hasMirror ? openReader : null, signal)),
  ];
}

/**
 * A ledger grows beside a mirror only: that was lost, and with it whom open requests mean. No `sync` makes one where persons were erased
 * before: their fences have to stand in it first.
 */
function missingMirror(ledger: LedgerReader): Found {
  const entries = ledger.size();
  if (entries === 0) return { state: 'skipped', detail: 'there is no mirror yet; `sync` makes it' };
  throw new AppError(`mirror.db is missing, and the ledger has ${countedText(entries, 'entry', 'entries')}`, {
    code: 'storage',
    hint: lostMirrorHint,
  });
}

/** Checks whose mirror it is; reads the whole file and checks its structure. */
async function checkMirror(db: Database, settings: Settings, signal: AbortSignal): Promise<string> {
  refuseOthersMirror(db, settings);
  if ((await checkStructure(db, signal)) !== 'ok')
    throw new AppError('mirror.db is damaged', {
      code: 'storage',
      hint: 'restore it from a backup, or move it away and sync again',
    });
  return `mirror.db is sound and holds ${countedText(countTable(db, 'persons'), 'person')}`;
}

/** Says which settings the service cannot do without and nothing gives. Throws `usage` where no export or load could be made. */
function configurationFound({ service, export: exporting }: Settings): Found {
  refusePromotion(exporting);
  if (exporting.load.into !== null) warehousePlace(exporting.load.into, exporting.load.schema, null);
  const missing = (['baseUrl', 'projectId'] as const).filter((name) => service[name] === null);
  const detail = 'every setting is known and valid';
  if (missing.length === 0) return detail;
  const named = missing.map((name) => `service.${name}`).join(' and ');
  const fix = 'set it, or run `analytics-mirror init`';
  return { state: 'warning', detail: `${detail}, but ${named} ${missing.length === 1 ? 'is' : 'are'} not set`, fix };
}

/** Checks that no reader keeps the write-ahead log from being written back. */
function checkLog(dataDir: string): Found {
  const bytes = readLogBytes(dataDir);
  const problem = keptLogText(bytes);
  if (problem === null) return `mirror.db-wal has ${bytesText(bytes)}`;
  return { state: 'warning', detail: problem, fix: alertTable.log_held.todo };
}

/** Checks that every entry can be read, that every checkpoint matches the entries that it covers, and that the next can be signed. */
function checkLedger(dataDir: string, signers: readonly OutsideSigner[]): Found {
  const hasLedger = existsSync(ledgerFolder(dataDir));
  if (!hasLedger) refuseLostLedger(dataDir, { size: () => 0 });
  if (!hasLedger) return 'there is no ledger yet; the first erasure request makes it';
  const { ok, size, checkpoints, problems } = verifyLedger({ folder: ledgerFolder(dataDir) });
  refuseLostLedger(dataDir, { size: () => size });
  const isSignedHere = ok && refuseOtherKey(dataDir, readLedger(dataDir).rotations(), signers);
  if (isSignedHere && signers.length > 0)
    return {
      state: 'warning',
      detail: 'keys/ledger.key signs the ledger still, and not the signing key of the settings',
      fix: 'run `analytics-mirror audit rotate-key`, then delete keys/ledger.key, from backups too',
    };
  if (ok) return `${countedText(size, 'entry', 'entries')}, ${countedText(checkpoints, 'checkpoint')}, all correct`;
  const [first] = problems;
  const isUnsigned = problems.every(({ problem }) => problem === 'nothing_signed' || problem === 'unsigned_for_long');
  throw new AppError(
    `${countedText(problems.length, 'problem')} in the ledger; the first is at ${first?.where}: ${first?.sentence}`,
    {
      code: 'storage',
      hint: isUnsigned
        ? 'a run was ended before it signed; `analytics-mirror audit checkpoint` signs the ledger'
        : 'run `analytics-mirror audit verify` to see all problems; restore ledger/ from a backup, but where a newer version has written it: then update this one',
    },
  );
}

/** Checks that no entry of the ledger has waited too long for an anchor outside. */
async function checkAnchors(settings: Settings): Promise<string> {
  const missing = await findMissingAnchors(settings);
  if (missing.length === 0) return `${countedText(settings.audit.anchors.length, 'anchor')} outside, none is missing`;
  throw new AppError(missing.join(', '), {
    code: 'storage',
    hint: 'run `analytics-mirror audit anchor`, which says what each anchor answers',
  });
}

/** Checks that the mirror holds no erased person, and that the service lists none again. */
async function checkErasures(db: Database, dataDir: string, ledger: LedgerReader, signal: AbortSignal): Promise<Found> {
  refuseLostFenceKey(db, dataDir);
  refuseRestored(db, ledger);
  const fenced = await findFencedIdentifiers(db, signal);
  const found = new Set(fenced.map(({ kind, value }) => `${kind} ${value}`)).size;
  const again = listRequests(db, 'all').filter(({ listedAgainPass }) => listedAgainPass !== null);
  const listed = again.filter(({ origin }) => origin !== 'upstream').length;
  if (found === 0 && listed > 0) {
    const detail = `the service lists ${countedText(listed, 'erased person')} again, which speaks against their certificates`;
    return { state: 'warning', detail, fix: 'run `analytics-mirror reconcile`: it opens their requests again' };
  }
  if (found === 0 && again.length > 0) {
    const detail = `the service lists ${countedText(again.length, 'row')} again that were taken for deleted there`;
    return {
      state: 'warning',
      detail,
      fix: 'run `analytics-mirror reconcile`: it lets in what the service has; `status` says the rest',
    };
  }
  if (found === 0) return `epoch ${readEpoch(db)}; the mirror holds no erased person`;
  throw new AppError(`the mirror holds ${countedText(found, 'identifier')} of erased people`, {
    code: 'storage',
    hint: 'run `analytics-mirror reconcile`, then `erase scan`',
  });
}

/** Checks that keys, suppression list, requests and published snapshots are as the ledger says. */
async function checkState(db: Database | null, dataDir: string, ledger: LedgerReader): Promise<string> {
  const differences = await findDifferencesIn(dataDir, db, ledger);
  if (differences.length === 0) return 'keys, files and requests are as the ledger says';
  const { hint } = differenceError(differences);
  throw new AppError(differences.map(({ sentence }) => sentence).join(', '), { code: 'storage', hint });
}

/** Says what is allowed, from where that comes, and whether the service has asked for a pause. */
function budgetFound(standing: BudgetStanding, { windows }: Settings['budget']): Found {
  const allowed = windows.map(
    ({ requests, perSeconds }) => `${countText(requests)} requests in ${countText(perSeconds)} s`,
  );
  const configured = allowed.length === 0 ? 'no limit, as configured' : `${allowed.join(', ')}, as configured`;
  const detail = learntText(standing)[0] ?? configured;
  const [pause] = pauseText(standing);
  return pause === undefined
    ? detail
    : { state: 'warning', detail: `${pause}; ${detail}`, fix: 'wait: work goes on by itself' };
}

/** Checks that the data folder, or the folder in which it will be made, can be written. */
function folderUse(dataDir: string): string {
  const folder = nearestPath(dataDir);
  if (!statSync(folder).isDirectory())
    throw new AppError(`${folder} is a file`, {
      code: 'storage',
      hint: 'set dataDir (MIRROR_DATA_DIR) to a folder, or to a path where one can be made',
    });
  accessSync(folder, constants.W_OK | constants.X_OK);
  // A folder above it may belong to another user.
  if (folder === dataDir) refuseUnwritable(folder);
  return folder === dataDir ? `${dataDir} can be written` : `${dataDir} does not exist yet; \`sync\` makes it`;
}

async function attemptIn(dataDir: string, check: string, run: () => Found | Promise<Found>): Promise<Check> {
  try {
    const found = await run();
    return typeof found === 'string' ? { check, state: 'ok', detail: found } : { check, ...found };
  } catch (thrown) {
    const error = explainStorageError(thrown, dataDir) ?? thrown;
    if (!(error instanceof AppError) || error.code === 'interrupted') throw error;
    return { check, state: 'failed', detail: error.message, fix: error.hint };
  }
}
