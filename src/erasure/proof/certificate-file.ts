import packageJson from '../../../package.json' with { type: 'json' };
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { replaceFile } from '../../core/atomic-file.ts';
import { isoTime } from '../../core/clock.ts';
import { sha256 } from '../../core/digest.ts';
import {
  isDraft,
  certificatesFolder,
  isRegularFile,
  makeFolder,
  namesIn,
  readRegularFile,
  readWholeFile,
  reportsFolder,
} from '../../core/folder.ts';
import { explainStorageError } from '../../core/storage-error.ts';
import type { JobContext } from '../../job/job-context.ts';
import { ledgerOrigin } from '../../ledger/checkpoint.ts';
import type { RequestHistory } from '../../ledger/request-history.ts';
import { isVerifierPage, verifierPage, verifierPageName } from '../../ledger/verify.ts';
import type { Settings } from '../../config/settings.ts';
import type { RequestRef } from '../request/target-journal.ts';
import { certificateText } from './certificate.ts';
import { deriveCertificate } from './derive-certificate.ts';

/** How the file of a request's certificate is named, of one generation. */
export function certificateName({ request, generation }: { request: string; generation: number }): string {
  return `${request}-g${generation}.json`;
}

/** The file of a request's certificate, of one generation. */
export function certificatePath(dataDir: string, request: string, generation: number): string {
  return join(certificatesFolder(dataDir), certificateName({ request, generation }));
}

/** The text of every file among the certificates, by name; undefined for what is no file that can be read. Drafts are left out. */
export function readCertificateFiles(dataDir: string): ReadonlyMap<string, string | undefined> {
  const folder = certificatesFolder(dataDir);
  const names = namesIn(folder).filter((name) => !isDraft(name));
  return new Map(names.map((name) => [name, readRegularFile(join(folder, name))]));
}

/** The text of a certificate's file; undefined where there is none. */
export function readCertificateFile(dataDir: string, request: string, generation: number): string | undefined {
  return readRegularFile(certificatePath(dataDir, request, generation));
}

/** The settings that a certificate depends on. */
export type IssuingSettings = Pick<Settings, 'dataDir' | 'service' | 'audit'> & {
  erasure: Pick<Settings['erasure'], 'feedRetentionDays'>;
};

/** The text of a request's certificate, by its history and what the settings state; undefined for a history that is not whole. */
export function derivedText(
  { service, audit, erasure }: IssuingSettings,
  history: RequestHistory,
  origin: string,
): string | undefined {
  const { fence, verified } = history;
  if (!fence) return undefined;
  const { baseUrl: url, projectId: project } = service;
  const { name, contact } = audit.controller;
  const stated = {
    ...(audit.backupDays === null ? {} : { backups_until: daysAfter((verified ?? fence).at, audit.backupDays) }),
    controller: name === null ? null : { name, contact },
    deletions_list_until: listedUntil(erasure, fence),
    program: packageJson.version,
    service: url === null || project === null ? null : { url, project },
  };
  const certificate = deriveCertificate(history, { ledgerOrigin: origin, stated });
  return certificate && certificateText(certificate);
}

/** Until when a certificate says that the feed of deletions names the rows of a request (ISO 8601). */
export function listedUntil({ feedRetentionDays }: IssuingSettings['erasure'], fence: { at: string }): string {
  return daysAfter(fence.at, feedRetentionDays);
}

function daysAfter(at: string, days: number): string {
  return isoTime(Date.parse(at) + days * 86_400_000);
}

/** The text of a certificate as it was issued (`derivedText`); undefined without an origin, or where no version gives these bytes. */
export function issuedText(
  settings: IssuingSettings,
  history: RequestHistory,
  { origin, digest }: { origin: string | undefined; digest: string },
): string | undefined {
  const text = origin === undefined ? undefined : derivedText(settings, history, origin);
  return text !== undefined && sha256(text) === digest ? text : undefined;
}

/**
 * Issues the certificate of a request that has reached everything: writes it into the data folder, and returns the SHA-256
 * of its bytes; null where the ledger does not hold the whole history of the request. Issued again, it is the same.
 */
export function issueCertificate(
  { ledger, settings }: Pick<JobContext, 'ledger' | 'settings'>,
  { id, generation }: RequestRef,
): string | null {
  const { dataDir } = settings;
  const history = ledger().histories.of(id);
  if (history?.generation !== generation) return null;
  const text = derivedText(settings, history, ledgerOrigin(dataDir, ledger()));
  if (text === undefined) return null;
  const isIssued = (digest: string): boolean =>
    history.certified.some((each) => each.generation === generation && each.sha256 === digest);
  return writeCertificateFile(dataDir, { request: id, generation }, text, isIssued);
}

/**
 * Writes the certificates that the ledger has and whose files are missing: a machine can die after it has issued one, and
 * before its state is where other machines find it. Only the bytes that were issued are written: what gives others stays missing. Throws `storage`.
 */
export function restoreCertificates({ ledger, settings }: Pick<JobContext, 'ledger' | 'settings'>): void {
  const { dataDir } = settings;
  const present = new Set(namesIn(certificatesFolder(dataDir)));
  const read = ledger();
  for (const history of read.histories.all()) {
    const about = { request: history.request, generation: history.generation };
    const issued = history.certified.find(({ generation }) => generation === about.generation)?.sha256 ?? null;
    if (issued === null || present.has(certificateName(about))) continue;
    const text = issuedText(settings, history, { origin: ledgerOrigin(dataDir, read), digest: issued });
    if (text !== undefined) writeCertificateFile(dataDir, about, text, () => false);
  }
}

/**
 * Removes files of generations that the ledger has left without a certificate: a kill came before it was recorded, and the request
 * was opened again since. Throws the system's error.
 */
export function removeUnrecorded({ ledger, settings }: Pick<JobContext, 'ledger' | 'settings'>): void {
  for (const { request, generation, certified } of ledger().histories.all())
    for (let earlier = 1; earlier < generation; earlier += 1)
      if (!certified.some((each) => each.generation === earlier))
        rmSync(certificatePath(settings.dataDir, request, earlier), { force: true });
}

/**
 * Replaces the verifier's page in `reports/` where it is another than this version's: the scan knows the words of this one only, and
 * would take words of another for those of a person. Throws `storage`.
 */
export function renewVerifierPage({ settings: { dataDir } }: Pick<JobContext, 'settings'>): void {
  const path = join(reportsFolder(dataDir), verifierPageName);
  if (isRegularFile(path) && !isVerifierPage(readWholeFile(path))) replaceFile(path, readWholeFile(verifierPage));
}

/**
 * Writes a certificate, on disk for good when this returns, and returns the SHA-256 of what its file holds. A file whose
 * SHA-256 is on the ledger stays as it is; any other is what a kill has left, and is replaced. Throws `storage`.
 */
export function writeCertificateFile(
  dataDir: string,
  about: { request: string; generation: number },
  text: string,
  isOnLedger: (digest: string) => boolean,
): string {
  const path = certificatePath(dataDir, about.request, about.generation);
  try {
    const present = readCertificateFile(dataDir, about.request, about.generation);
    if (present !== undefined && (present === text || isOnLedger(sha256(present)))) return sha256(present);
    makeFolder(dirname(path));
    replaceFile(path, text);
    return sha256(text);
  } catch (error) {
    throw explainStorageError(error, path) ?? error;
  }
}
