import { resolve } from 'node:path';
import type { Command } from 'commander';
import { findMissingAnchors } from '../../anchor/missing-anchors.ts';
import { verifyDataFolder, type FolderVerdict } from '../../audit/verify-data-folder.ts';
import { AppError, systemCode, usageError } from '../../core/errors.ts';
import { bytesText, countedText } from '../../core/words.ts';
import type { CommandAction, CommandContext } from '../command.ts';
import { readWholeFile } from '../../core/folder.ts';

/** Defines `audit verify`: checks the ledger, the certificates and the published files. */
export function define(command: Command, context: CommandContext): CommandAction {
  command
    .option('--checkpoint <file>', 'a checkpoint of this ledger that was kept outside')
    .option('--public-key <file>', "the ledger's public keys, as they were kept outside")
    .option('--policy <file>', 'which authorities and witnesses outside have to have anchored the ledger');
  return {
    help: `
Reads the data folder only, and changes nothing. Checks six things: the order of the ledger's entries; the signature of
each checkpoint, and that it fits these entries; that the ledger has the hash of each certificate and proves its content;
that drills, bundles and the pages of certificates in reports/ are those of the ledger, and that no draft was left there;
that each published file fits its manifest; that keys, suppression list, requests and published snapshots are as the
ledger says. Only a checkpoint that was kept outside shows that the newest entries and checkpoints were removed together. A policy
(docs/verifier/ANCHORS.md) also shows dates that were set back, and a ledger that was written again with the right key.
Exit codes: 0 everything fits, 1 something does not.

Examples:
  analytics-mirror audit verify
  analytics-mirror audit verify --checkpoint checkpoint.txt --public-key public-keys.txt`,
    run: async (
      app,
      { checkpoint, publicKey, policy }: { checkpoint?: string; publicKey?: string; policy?: string },
    ) => {
      const kept = { checkpoint: readKept(checkpoint), publicKey: readKept(publicKey), policy: readKept(policy) };
      const missing = await findMissingAnchors(app.settings);
      const verdict = await verifyDataFolder(
        app.settings.dataDir,
        { ...kept, missing, signers: app.signers() },
        context.signal,
      );
      return { ended: verdict.ok ? 'done' : 'failed', json: verdict, text: verdictText(verdict) };
    },
  };
}

function readKept(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readWholeFile(file).toString();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw usageError(`cannot read ${resolve(file)} (${systemCode(error) ?? 'unknown'})`, 'name the file that was kept');
  }
}

function verdictText({ ok, ledger, certificates, files, hasReadMirror, problems, notes }: FolderVerdict): string {
  const well = hasReadMirror
    ? 'all is as it should be'
    : 'all that was checked is as it should be; the tables of mirror.db were not';
  return [
    `checked ${countedText(ledger.size, 'entry', 'entries')}, ${countedText(ledger.checkpoints, 'checkpoint')}, ${countedText(certificates, 'certificate')}, and ${countedText(files.files, 'published file')} (${bytesText(files.bytes)})\n`,
    ...problems.map((problem) => `WRONG  ${problem}\n`),
    ...notes.map((note) => `note   ${note}\n`),
    `${ok ? well : countedText(problems.length, 'problem')}\n`,
  ].join('');
}
