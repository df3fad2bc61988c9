import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { mirroredProject } from '../client/configured-service.ts';
import type { LoadedSettings } from '../config/load-settings.ts';
import { AppError, usageError } from '../core/errors.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import { databasePath, openDatabaseReadOnly } from '../mirror/database.ts';
import { refuseOtherProject } from '../mirror/runs.ts';

/**
 * Throws `usage` where a project has no mirror yet, and the configuration's `dataDir`, or a folder in it, has one of it that no project
 * uses: it was renamed, or became one of several projects, or the only one. A new mirror would know of no erasure, and no erasure would
 * reach that folder. Other folders are not looked at.
 */
export function refuseLeftFolder({ name, settings, folders }: LoadedSettings): void {
  const [base = settings.dataDir] = folders;
  if (settings.cluster.storage !== null || existsSync(databasePath(settings.dataDir))) return;
  const used = new Set(folders.slice(1).map((folder) => resolve(folder)));
  const left = [base, ...foldersIn(base)].find((folder) => !used.has(resolve(folder)) && mayHold(folder, settings));
  if (left === undefined) return;
  throw usageError(
    `${resolve(left)} has this project already, or one that cannot be read, with its erasures; ${name} would begin again in ${resolve(settings.dataDir)}`,
    'set dataDir of the project to that folder, or move what is in it; if it is a copy, or not wanted any more, move it out of there',
  );
}

/** Whether a folder has a mirror that is not known to be another project's, or the ledger of one that is lost. */
function mayHold(folder: string, settings: LoadedSettings['settings']): boolean {
  const { baseUrl, projectId, movedFrom } = settings.service;
  if (baseUrl === null || projectId === null) return false;
  if (!existsSync(databasePath(folder))) return existsSync(entriesPath(ledgerFolder(folder)));
  using db = unlessAppError(() => openDatabaseReadOnly(folder));
  return !db || unlessAppError(() => refuseOtherProject(db, mirroredProject(settings, ''), movedFrom)) === true;
}

function unlessAppError<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // There is none yet, or nobody may list it.
    return [];
  }
}
