import { hostname } from 'node:os';
import type { Destination } from '../bucket/bucket.ts';
import type { Settings } from '../config/settings.ts';
import { sha256 } from '../core/digest.ts';
import type { SharedProject } from './holding-rows.ts';

/** The name of this machine where the settings give none: that of its host, as far as a machine may be named so. */
export function machineName(): string {
  const name = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 63);
  return name === '' ? 'machine' : name;
}

/** A project as all machines name it, whatever their configuration calls it. */
export function sharedProject(
  name: string,
  { baseUrl, projectId }: Pick<Settings['service'], 'baseUrl' | 'projectId'>,
): SharedProject {
  const service = baseUrl === null ? null : new URL(baseUrl).origin;
  return { id: sha256(JSON.stringify(projectId === null ? [name] : [service, projectId])).slice(0, 32), name };
}

/**
 * Where the state of a project stands in the bucket of a cluster; null where the settings name none. Published files are followed
 * there too, unless the settings name another place for them.
 */
export function placeOf(
  settings: Settings,
  { id }: Pick<SharedProject, 'id'>,
): { settings: Settings; place: Destination | null } {
  const { storage, s3 } = settings.cluster;
  if (storage === null) return { settings, place: null };
  const location = `${storage}/${id}`;
  const own = { ...settings.export, destination: `${location}/published`, s3 };
  return {
    settings: settings.export.destination === null ? { ...settings, export: own } : settings,
    place: { location, ...s3 },
  };
}
