import { publishedDatasets } from '../../contract/datasets.ts';
import { posix } from 'node:path';
import { keyCheck, macCipher, readKey } from '../../core/secret-key.ts';
import { readLedger, type LedgerReader } from '../../ledger/ledger.ts';
import type { LedgerRecord } from '../../ledger/record.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import { spellTarget } from '../../ledger/target.ts';
import { stateText } from '../../ledger/vocabulary-words.ts';
import type { BoundKey, BoundPart } from '../../ledger/vocabulary.ts';
import type { Database } from '../../mirror/database.ts';
import { finalStates, listRequests } from '../../mirror/erasure-requests.ts';
import { hasBox, hasBoxes } from '../../mirror/request-box.ts';
import { listTargets } from '../../mirror/erasure-targets.ts';
import { boxKeyName, fenceDigests, fenceKeyName, readEpoch } from '../../mirror/fence.ts';
import { restoreKeyName } from '../../mirror/restore-key.ts';
import { manifestName, type SnapshotName } from '../../snapshot/file-names.ts';
import { placeOf, publishedFilesIn, type PublishedFiles } from '../../snapshot/published-files.ts';
import { problemSentence, verifySnapshot } from '../../snapshot/verify.ts';
import { historiesTaken, isAsRecorded, isUnrecorded, type Source } from '../projection.ts';

/**
 * A thing on disk or in the mirror that is not as the ledger says, in one sentence. `id`: the request or the snapshot.
 * `isDamaged`: a snapshot that is not whole by its own manifest either; `isMissing`: one without it. `remedy`: where `reconcile` cannot mend it.
 */
export type Difference = {
  part: BoundPart;
  id: string;
  sentence: string;
  isDamaged?: boolean;
  isMissing?: boolean;
  remedy?: string;
};

/** What is held against the ledger; `db` is null where there is no mirror. `onRead`: of each snapshot that was read, and whole. */
type BoundParts = {
  db: Database | null;
  published: PublishedFiles;
  dataDir: string;
  ledger: LedgerReader;
  onRead?: (snapshot: SnapshotName) => void;
};

/**
 * Holds keys, suppression list, requests and published snapshots against the ledger. Of a snapshot whose manifest is as the
 * ledger says, it reads only the parts that were touched since they were published. Changes nothing.
 */
export async function findDifferences(
  parts: BoundParts,
  ofRequests = parts.db ? requestDifferences(parts.db, parts.ledger) : [],
): Promise<Difference[]> {
  const { db, ledger, dataDir } = parts;
  return [
    ...keyDifferences(parts),
    ...(db ? await fenceDifferences(db, ledger, dataDir) : []),
    ...ofRequests,
    ...(await snapshotDifferences(parts)),
  ];
}

/**
 * The same for a data folder into which a run may be writing, and requests that are lost: what differs is looked at once more. A run
 * writes the ledger first, so the second look takes the mirror of one moment, and a ledger of after it.
 */
export async function findDifferencesIn(
  dataDir: string,
  db: Database | null,
  ledger = readLedger(dataDir),
): Promise<Difference[]> {
  const parts = { db, published: publishedFilesIn(dataDir), dataDir };
  const ofRequests = (own: LedgerReader): Difference[] =>
    db ? [...requestDifferences(db, own), ...lostDifferences(db, own)] : [];
  const found = [...(await findDifferences({ ...parts, ledger }, [])), ...ofRequests(ledger)];
  if (found.length === 0) return found;
  const ofOneMoment = (): { later: LedgerReader; again: Difference[] } => {
    if (db) readEpoch(db);
    const later = readLedger(dataDir);
    return { later, again: ofRequests(later) };
  };
  const { later, again } = db ? db.transaction(ofOneMoment)() : ofOneMoment();
  return [...(await findDifferences({ ...parts, ledger: later }, [])), ...again];
}

/**
 * The requests of the ledger that were never fenced, and whose identifiers are lost: an older mirror was put back, or a kill came before
 * they were kept. The mirror may not have taken them up yet.
 */
export function lostRequests(db: Database, { histories }: Pick<Source, 'histories'>): RequestHistory[] {
  return [...histories.all()].filter(
    ({ request, state, fence, isReadmitted }) =>
      fence === null && !isReadmitted && !finalStates.includes(state) && !hasBox(db, request),
  );
}

function lostDifferences(db: Database, ledger: Source): Difference[] {
  return lostRequests(db, ledger)
    .filter(({ origin }) => origin !== 'upstream')
    .map(({ request }) => ({
      part: 'requests',
      id: request,
      sentence: `request ${request} is on the ledger, and mirror.db does not say whom it means`,
      remedy: 'add it again, unless it was since; `analytics-mirror reconcile` ends this one',
    }));
}

/** The manifests on disk, as the ledger records them. */
export function listStandingManifests(
  published: PublishedFiles,
): Extract<LedgerRecord, { type: 'published' }>['snapshots'] {
  return publishedDatasets.flatMap((dataset) =>
    published.listSnapshots(dataset).flatMap(({ id: snapshotId, hasManifest }) => {
      const manifest = hasManifest ? published.digestOfManifest({ dataset, snapshotId }) : null;
      return manifest === null ? [] : [{ dataset, snapshot_id: snapshotId, manifest }];
    }),
  );
}

/** The name of the file of each key, in `keys/`. */
export const boundKeyNames: Readonly<Record<BoundKey, string>> = {
  fence: fenceKeyName,
  box: boxKeyName,
  restore: restoreKeyName,
};

function keyDifferences({ db, dataDir, ledger }: BoundParts): Difference[] {
  const { keys, fences } = ledger.bound;
  // An older copy is searched for those who were let in again, too.
  const isSearched = fences.size > 0 || (db !== null && readEpoch(db) < ledger.epoch());
  return [...keys].flatMap(([key, recorded]): Difference[] => {
    const isNeeded = key === 'box' ? db === null || hasBoxes(db) : isSearched;
    const check = isNeeded ? keyCheck(dataDir, boundKeyNames[key]) : recorded;
    if (check === recorded) return [];
    const place = posix.join('keys', boundKeyNames[key]);
    const what = check === undefined ? 'is missing' : 'is another key than the one of this ledger';
    const remedy =
      key === 'restore'
        ? 'remove restore.key if it is there, and run `analytics-mirror reconcile`: it is written again from mirror.db. If mirror.db was lost too, restore either from a backup'
        : 'restore keys/ from the backup that belongs to this ledger; nothing is mirrored or published until then';
    return [{ part: `${key}_key`, id: key, sentence: `${place} ${what}`, remedy }];
  });
}

async function fenceDifferences(db: Database, ledger: LedgerReader, dataDir: string): Promise<Difference[]> {
  return (await differingFences(db, ledger, dataDir)).map((id) => ({
    part: 'fence',
    id,
    sentence: `mirror.db, table fence: its entries of request ${id} are not those that the ledger has`,
  }));
}

/** The requests whose entries in the suppression list are not those of the ledger. What was begun there may stand already. */
export async function differingFences(
  db: Database,
  { bound: { fences, begunFences } }: LedgerReader,
  dataDir: string,
): Promise<string[]> {
  const key = readKey(dataDir, restoreKeyName);
  const standing = await fenceDigests(db, key && macCipher(key, 'encrypt'));
  // Without the key, the entries cannot be compared. The missing key is a difference of its own.
  const standsAs = (id: string, recorded: string | undefined): boolean =>
    recorded !== undefined && (!key || standing.get(id) === recorded);
  return [...new Set([...fences.keys(), ...standing.keys()])].filter(
    (id) => !standsAs(id, fences.get(id)) && !standsAs(id, begunFences.get(id)),
  );
}

/** What the mirror says of requests otherwise than the ledger did when the mirror took up its entries. Reads no other file. */
export function requestDifferences(db: Database, ledger: Source): Difference[] {
  const histories = historiesTaken(db, ledger);
  const requests = [...listRequests(db, 'all'), ...listRequests(db, 'all', 'access')];
  const known = new Set(requests.map(({ id }) => id));
  const differs = (id: string, what: string): Difference => ({
    part: 'requests',
    id,
    sentence: `mirror.db, table erasure_requests: request ${id} ${what}`,
  });
  return [
    ...requests.flatMap((request): Difference[] => {
      const { id, state, sealedAt } = request;
      const history = histories.of(id);
      if (!history) {
        const remedy = 'restore ledger/ from the same backup as mirror.db, or from a newer one';
        return [{ ...differs(id, `is ${stateText(state)}; the ledger does not have it`), remedy }];
      }
      const unrecorded = sealedAt === null ? listTargets(db, id).filter((target) => isUnrecorded(target, history)) : [];
      if (unrecorded.length > 0) {
        const names = unrecorded.map(({ target }) => spellTarget(target)).join(', ');
        return [differs(id, `has done something about ${names} that the ledger does not have`)];
      }
      if (isAsRecorded(db, request, history)) return [];
      const [here, recorded] = [stateText(state), stateText(history.state)];
      const what = `is ${here}; the ledger says ${recorded}`;
      return [differs(id, here === recorded ? 'has other times or terms than on the ledger' : what)];
    }),
    ...[...histories.all(), ...histories.access()].flatMap(({ request, state }) =>
      known.has(request) ? [] : [differs(request, `is missing; the ledger says ${stateText(state)}`)],
    ),
  ];
}

async function snapshotDifferences({ published, ledger: { bound }, onRead }: BoundParts): Promise<Difference[]> {
  const { publications } = bound;
  if (!publications.isBegun()) return [];
  const found = listStandingManifests(published).map(({ dataset, snapshot_id: id }) => `${dataset}/${id}`);
  const recorded = [...publications.all()].map(({ dataset, snapshotId }) => `${dataset}/${snapshotId}`);
  const differences: Difference[] = [];
  for (const id of new Set([...found, ...recorded])) {
    const [dataset = '', snapshotId = ''] = id.split('/');
    const snapshot = { dataset, snapshotId };
    const digest = published.digestOfManifest(snapshot);
    const { stands = null, intended } = publications.of(dataset, snapshotId) ?? {};
    const isRecorded = digest === stands || digest === intended;
    if (digest === null && isRecorded) continue;
    const touched: string[] = [];
    const { problems } = await verifySnapshot(published, snapshot, (name) => {
      if (!isRecorded) return 'rows';
      if (!published.isTouched(snapshot, name)) return 'size';
      touched.push(name);
      return 'bytes';
    });
    const [problem] = problems;
    if (isRecorded && !problem) {
      if (touched.length > 0) onRead?.(snapshot);
      continue;
    }
    const what =
      digest === null
        ? 'is missing'
        : stands === null
          ? 'is not on the ledger: it was retired, or comes from another folder'
          : 'is another one than the ledger has: an older copy was put back, or it was changed';
    const isOther = `${placeOf({ ...snapshot, name: manifestName })} ${what}`;
    differences.push({
      part: 'snapshots',
      id,
      sentence: isRecorded && problem ? problemSentence(problem) : isOther,
      isDamaged: problem !== undefined,
      isMissing: digest === null,
    });
  }
  return differences;
}
