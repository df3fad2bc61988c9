import type { Command } from 'commander';
import { join } from 'node:path';
import { ledgerFolder } from '../../ledger/entry-file.ts';
import { runCommand } from '../command.ts';
import type { CommandContext } from '../context.ts';

/** Adds `audit rotate-key`: another key for the checkpoints to come. */
export function addAuditRotateKeyCommand(audit: Command, context: CommandContext): void {
  audit
    .command('rotate-key')
    .description('sign with a new key from now on; the old one vouches for it on the ledger')
    .addHelpText(
      'after',
      `
What was signed before stays valid. Hand the new line of ledger/public-keys.txt to whoever keeps checkpoints.

Examples:
  analytics-mirror audit rotate-key`,
    )
    .action((_options: unknown, command: Command) =>
      runCommand(context, command, async (app) => {
        const { runEraseJob } = await import('../../worker/erase-job.ts');
        const { size } = await runEraseJob(app.jobContext(context.signal), ({ ledger }) => {
          ledger.rotateKey();
          return Promise.resolve({ outcome: 'done', counts: {}, ...ledger.checkpoint() } as const);
        });
        const file = join(ledgerFolder(app.settings.dataDir), 'public-keys.txt');
        return {
          json: { publicKeys: file, entries: size },
          text: `the new key stands last in ${file}; the ledger of ${size} entries is signed with it\n`,
        };
      }),
    );
}
