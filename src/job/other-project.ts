import { mirroredProject } from '../client/configured-service.ts';
import type { Settings } from '../config/settings.ts';
import type { Database } from '../mirror/database.ts';
import { refuseOtherProject } from '../mirror/runs.ts';

/** Refuses the mirror of another project than the settings name, where they name one; with any key. Throws as `refuseOtherProject`. */
export function refuseOthersMirror(db: Database, settings: Settings): void {
  const { baseUrl, projectId, movedFrom } = settings.service;
  if (baseUrl !== null && projectId !== null) refuseOtherProject(db, mirroredProject(settings, ''), movedFrom);
}
