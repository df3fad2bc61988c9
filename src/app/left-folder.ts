import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { LoadedSettings } from '../config/load-settings.ts';
import { AppError, usageError } from '../core/errors.ts';
import { realPath } from '../core/folder.ts';
import { entriesPath, ledgerFolder } from '../ledger/entry-file.ts';
import { databasePath, openDatabaseReadOnly } from '../mirror/database.ts';
import { refuseOthersMirror } from '../mirror/runs.ts';

/**
 * Throws `usage` where a project has no mirror yet, and the configuration's `dataDir`, or a folder in it, has one of it that no project
 * uses: it was renamed, or became one of several projects, or the only one. A new mirror would know of no erasure, and no erasure would
 * reach that folder. Other folders are not looked at.
 */
export function refuseLeftFolder({ name, settings, folders }: LoadedSettings): void {
  if (settings.cluster.storage !== null || existsSync(databasePath(settings.dataDir))) return;
  const left = unusedFolders(folders).find((folder) => mayHold(folder, settings));
  if (left === undefined) return;
  throw usageError(
    `${resolve(left)} has this project already, or one that cannot be read, with its erasures; ${name} would begin again in ${resolve(settings.dataDir)}`,
    'set dataDir of the project to that folder, or move what is in it; if it is a copy, or not wanted any more, move it out of there',
  );
}

/**
 * Those of the configuration's `dataDir` and the folders in it that have a mirror or a ledger, and that no project uses, by whatever
 * links. `folders`: that `dataDir`, then that of each project.
 */
export function unusedFolders([base = '', ...projects]: LoadedSettings['folders']): string[] {
  const used = new Set(projects.map(realPath));
  const hasProject = (folder: string): boolean =>
    [databasePath(folder), entriesPath(ledgerFolder(folder))].some((path) => existsSync(path));
  return [base, ...foldersIn(base)].filter((folder) => hasProject(folder) && !used.has(realPath(folder)));
}

/** Whether a folder has a mirror that is not known to be another project's, or the ledger of one that is lost. */
function mayHold(folder: string, settings: LoadedSettings['settings']): boolean {
  const { baseUrl, projectId } = settings.service;
  if (baseUrl === null || projectId === null) return false;
  if (!existsSync(databasePath(folder))) return true;
  using db = unlessAppError(() => openDatabaseReadOnly(folder));
  return !db || unlessAppError(() => refuseOthersMirror(db, settings)) === true;
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
