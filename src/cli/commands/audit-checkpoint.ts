import type { Command } from 'commander';
import { replaceFile } from '../../core/atomic-file.ts';
import { runEraseJob } from '../../worker/erase-job.ts';
import { runCommand, type CommandContext } from '../command.ts';

/** Defines `audit checkpoint`: what an outsider keeps. */
export function define(command: Command, context: CommandContext): void {
  command
    .option('--out <file>', 'write it to a file too')
    .addHelpText(
      'after',
      `
Prints three lines, the name of the ledger, how many entries it has and what they hash to, and under them the signature.
Hand all of it to somebody who is not you, with the file ledger/public-keys.txt: nothing else detects a ledger that is
cut short or written anew later.

Examples:
  analytics-mirror audit checkpoint
  analytics-mirror audit checkpoint --out checkpoint.txt`,
    )
    .action(() =>
      runCommand(context, command, async (app) => {
        const { out } = command.opts<{ out?: string }>();
        const { size, rootHash, text } = await runEraseJob(app.jobContext(context.signal), ({ ledger }) =>
          Promise.resolve({ outcome: 'done', counts: {}, ...ledger().checkpoint() } as const),
        );
        if (out !== undefined) replaceFile(out, text);
        return { json: { size, rootHash, checkpoint: text, file: out ?? null }, text };
      }),
    );
}
