import type { Command } from 'commander';
import { usageError } from '../../core/errors.ts';
import { bytesText, countedText, countText } from '../../core/words.ts';
import { backUp } from '../../job/backup.ts';
import type { CommandAction } from '../command.ts';

/** Defines `backup`: copies mirror, ledger, keys and reports. */
export function define(command: Command): CommandAction {
  command
    .requiredOption('--to <folder>', 'where the copy goes, into a folder that is named after the time')
    .option('--keep <count>', 'so many copies stay there; older ones are removed', '7');
  return {
    help: `
Jobs may go on meanwhile. Published files are left out: \`export\` writes new ones.
A copy holds everybody who was in the mirror, and no erasure reaches it: keep few.

Examples:
  analytics-mirror backup --to /srv/backup
  analytics-mirror backup --to /srv/backup --keep 3 --json`,
    run: (app, { to, keep }: { to: string; keep: string }) => {
      const { settings, clock } = app;
      const count = Number(keep);
      if (!Number.isInteger(count) || count < 1)
        throw usageError('--keep takes a whole number, 1 or more', 'as --keep 7');
      const backup = backUp(app.databaseReadOnly(), { dataDir: settings.dataDir, to, keep: count, clock });
      const { folder, bytes, entries, removed } = backup;
      const gone = removed > 0 ? `, and ${countedText(removed, 'older copy', 'older copies')} removed` : '';
      return { json: backup, text: `${folder}: ${bytesText(bytes)}, ledger of ${countText(entries)} entries${gone}\n` };
    },
  };
}
