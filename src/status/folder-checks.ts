import { statfsSync } from 'node:fs';
import type { Service } from '../client/service.ts';
import { clockFix } from '../config/alert-kinds.ts';
import { propertyOf, type Settings } from '../config/settings.ts';
import { pagedDatasets, publishedDatasets } from '../contract/datasets.ts';
import type { Clock } from '../core/clock.ts';
import { listedDistinctIdsMax } from '../contract/identity.ts';
import { AppError } from '../core/errors.ts';
import { freeBytesAt, nearestPath } from '../core/folder.ts';
import { presentOf } from '../core/present.ts';
import { bytesText, countedText, countText, printable } from '../core/words.ts';
import { maskKeyCheck } from '../export/masks.ts';
import { apartText, readClockStanding } from '../job/clock-standing.ts';
import { refuseLowDisk } from '../job/disk-floor.ts';
import type { Database } from '../mirror/database.ts';
import { lastJudgedPass } from '../mirror/passes.ts';
import { listProperties, type Look } from '../mirror/properties.ts';
import { hasPublished } from '../mirror/runs.ts';
import { currentIds } from '../snapshot/manifest.ts';
import { publishedFilesIn } from '../snapshot/published-files.ts';
import { defaultWindow, largeMomentOf, momentWords } from '../sync/pass-report.ts';
import type { Found } from './check.ts';

/** Magic numbers of file systems that machines share (statfs(2)): NFS, SMB, CephFS, 9P, AFS. */
const sharedFileSystems = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400, 0x01021997, 0x5346414f];

/** How much room the disk of the data folder has. Throws as `refuseLowDisk`. `type`: of its file system, which only Linux tells. */
export function checkDisk(settings: Settings, type = statfsSync(nearestPath(settings.dataDir)).type): Found {
  refuseLowDisk(settings);
  const detail = `${bytesText(freeBytesAt(settings.dataDir))} free`;
  if (process.platform !== 'linux' || !sharedFileSystems.includes(type)) return detail;
  const fix = 'move the data folder to a local disk: elsewhere two runs can write at once, and damage mirror.db';
  return { state: 'warning', detail: `${detail}, on a network file system`, fix };
}

/** Checks that the hashes which readers load now were made under the key that the next export will use. */
export function checkMaskKey(dataDir: string): string {
  const own = maskKeyCheck(dataDir);
  const published = publishedFilesIn(dataDir);
  const current = published.readCurrent();
  const used = publishedDatasets
    .flatMap((dataset) => currentIds(current, dataset).map((snapshotId) => ({ dataset, snapshotId })))
    .flatMap((snapshot) => published.readManifest(snapshot).publication.mask)
    .flatMap((mask) => (typeof mask === 'string' ? [] : [mask.key]));
  if (used.length === 0) return 'no hash is published yet';
  if (used.every((key) => key === own)) return 'the published hashes are those of keys/mask.key';
  throw new AppError(
    own === undefined
      ? 'keys/mask.key is missing, under which the published hashes were made'
      : 'keys/mask.key is another key than the one under which the published hashes were made',
    {
      code: 'storage',
      hint: 'restore keys/mask.key from a backup; the next export would publish everything again, with other hashes',
    },
  );
}

/** For a folder without published files: throws `storage` where a run has published some. */
export function refuseLostFiles(db: Database): void {
  if (!hasPublished(db)) return;
  throw new AppError('no published file is there, and an export has published some', {
    code: 'storage',
    hint: 'where the published files have a disk of their own, mount it; otherwise run `analytics-mirror export`',
  });
}

/** Whether the list of recordings may be limited to the service's own default of days, as far as the last pass shows. */
export function recordingsWindow(db: Database | null): Found {
  const isLimited = (db && lastJudgedPass(db, 'recordings'))?.isDefaultWindow ?? true;
  return isLimited
    ? { state: 'warning', ...defaultWindow }
    : 'the last full pass saw recordings of more than 30 days ago';
}

/**
 * Whether the last full passes had to trust the service with the order of rows of one moment, met rows that cannot be read, or persons with
 * more distinct ids than a list shows.
 */
export function checkPasses(db: Database): Found {
  const passes = pagedDatasets.flatMap((dataset) => lastJudgedPass(db, dataset) ?? []);
  for (const pass of passes) {
    const moment = largeMomentOf(pass);
    if (moment !== null) return { state: 'warning', ...momentWords(pass, moment) };
  }
  for (const { dataset, rowsQuarantined } of passes) {
    if (rowsQuarantined === 0) continue;
    const detail = `the last full pass of ${dataset} could not read ${countedText(rowsQuarantined, 'row')}: as before, or missing`;
    const fix = 'see why: `analytics-mirror query "SELECT reason, count(*) FROM quarantine GROUP BY 1"`';
    return { state: 'warning', detail, fix };
  }
  const sql = /*sql*/ `SELECT count(*) FROM persons WHERE json_array_length(distinct_ids) = ?`;
  const cut = db.prepare<[number], number>(sql).pluck().get(listedDistinctIdsMax) ?? 0;
  if (cut > 0) {
    const detail = `${countedText(cut, 'person is', 'persons are')} listed with ${countText(listedDistinctIdsMax)} distinct ids: more are not shown, and not mirrored`;
    return { state: 'warning', detail, fix: 'ask the service for such a person by id; an erasure does so by itself' };
  }
  return passes.length === 0
    ? 'no full pass has ended yet; `sync` makes one'
    : 'the last full passes showed persons whole, and the rows of each moment on one page';
}

const lookWords: Readonly<Record<Look, string>> = {
  address: 'an address',
  phone: 'a phone number',
  card: 'a payment card',
};

/** So many properties are named. */
const namedMax = 20;

/** Names the properties that are published as they are, and look by their values or names like an address, a phone number or a card. */
export function checkProperties(db: Database, { properties, promote, mask }: Settings['export']): Found {
  const known = listProperties(db);
  const masked = new Set(mask.map(propertyOf));
  const listed = new Set(promote.map(propertyOf));
  // Of a listed path, the property at its beginning is published in part.
  const isListed = (name: string): boolean =>
    listed.has(name) || promote.some((one) => propertyOf(one).startsWith(`${name}.`));
  const shown = known.filter(({ name }) => !masked.has(name) && (properties === 'all' || isListed(name)));
  const alike = shown.filter(({ looksLike }) => looksLike !== null);
  const told = `${countedText(shown.length, 'property', 'properties')} of ${countText(known.length)} may be published`;
  const named = alike.slice(0, namedMax).map(({ name, looksLike }) => `${name} (${looksLike && lookWords[looksLike]})`);
  const more = alike.length > namedMax ? [`${countText(alike.length - namedMax)} others`] : [];
  const detail = alike.length === 0 ? told : `${told}; look at ${printable([...named, ...more].join(', '))}`;
  if (alike.every(({ looksLike }) => looksLike !== 'card')) return detail;
  return { state: 'warning', detail, fix: 'name in `export.mask` what readers do not need' };
}

type ClockCheck = {
  settings: { dataDir: string };
  openService: () => Service;
  clock: Clock;
  /** Whether the service has answered another check. */
  isAnswering: boolean;
  db: Database | null;
};

/** Compares this machine's clock with the service's, as other checks have heard it, or else with the times recorded here. */
export function checkClock({ settings, openService, clock, isAnswering, db }: ClockCheck): Found {
  const { aheadMs } = presentOf({ clock, service: isAnswering ? openService() : null });
  const problem =
    aheadMs === null ? db && readClockStanding(db, settings.dataDir, clock.now()).problem : apartText(aheadMs);
  if (problem !== null) return { state: 'warning', detail: problem, fix: clockFix };
  if (aheadMs !== null) return "this machine's clock and the service's agree";
  return {
    state: 'skipped',
    detail: 'no answer of the service has told its time: until one does, no request ends by its age',
  };
}
