import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { mirroredProject } from '../client/configured-service.ts';
import type { LoadedSettings } from '../config/load-settings.ts';
import { AppError, usageError } from '../core/errors.ts';
import { databasePath, openDatabaseReadOnly } from '../mirror/database.ts';
import { refuseOtherProject } from '../mirror/runs.ts';

/**
 * Throws `usage` where a project has no mirror yet, and a folder that an earlier configuration gave it has one: it was renamed, or became
 * one of several projects, or the only one. A new mirror would know of no erasure, and no erasure would reach that folder.
 */
export function refuseLeftFolder({ name, settings, folders }: LoadedSettings): void {
  const [base = settings.dataDir] = folders;
  if (settings.cluster.storage !== null || existsSync(databasePath(settings.dataDir))) return;
  const used = new Set(folders.slice(1).map((folder) => resolve(folder)));
  const left = [base, ...foldersIn(base)].find((folder) => !used.has(resolve(folder)) && holds(folder, settings));
  if (left === undefined) return;
  throw usageError(
    `${resolve(left)} has this project already, with its erasures, and ${name} would begin again in ${resolve(settings.dataDir)}`,
    'set dataDir of the project to that folder, or move what is in it; if it is not wanted any more, delete it',
  );
}

/** Whether a folder has a mirror of the project that the settings name. */
function holds(folder: string, settings: LoadedSettings['settings']): boolean {
  if (!existsSync(databasePath(folder))) return false;
  try {
    using db = openDatabaseReadOnly(folder);
    return refuseOtherProject(db, mirroredProject(settings, ''), settings.service.movedFrom);
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

function foldersIn(folder: string): string[] {
  try {
    const found = readdirSync(folder, { withFileTypes: true });
    return found.flatMap((each) => (each.isDirectory() ? [join(folder, each.name)] : []));
  } catch {
    // There is none yet, or nobody may list it.
    return [];
  }
}
