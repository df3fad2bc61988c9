import type { Command } from 'commander';
import { publicKeysPath } from '../../ledger/checkpoint.ts';
import { ledgerFolder } from '../../ledger/entry-file.ts';
import { eraseJob } from '../erase-job.ts';
import type { CommandAction, CommandContext } from '../command.ts';

/** Defines `audit rotate-key`: makes the signing key of later checkpoints. */
export function define(_command: Command, context: CommandContext): CommandAction {
  return {
    help: `
Earlier signatures stay valid. Give the new line of ledger/public-keys.txt to every person who keeps checkpoints, and to each
witness. Without a signing key in the settings, the new key is made in keys/. Otherwise it is the one that the settings give and
the ledger has not had (docs/operations/signing-key.md).

Examples:
  analytics-mirror audit rotate-key`,
    run: async (app) => {
      const { size } = await eraseJob(app, context, ({ ledger }) => {
        ledger().rotateKey();
        return { counts: {}, ...ledger().checkpoint() };
      });
      const file = publicKeysPath(ledgerFolder(app.settings.dataDir));
      return {
        json: { publicKeys: file, entries: size },
        text: `the new key stands last in ${file}; the ledger of ${size} entries is signed with it\n`,
      };
    },
  };
}
