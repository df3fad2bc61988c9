import { loadSettings } from '../../src/config/load-settings.ts';
import type { Settings } from '../../src/config/settings.ts';

/** The settings with these values by their paths, such as `persons.pageSize`; all others have their defaults. */
export function settingsWith(values: Readonly<Record<string, unknown>>): Settings {
  return loadSettings({}, { set: Object.entries(values).map(([path, value]) => ({ path, value })) }).settings;
}
