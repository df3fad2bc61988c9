import type { Command } from 'commander';
import { bundleText, writeForOthers, writtenText } from '../../audit/bundle.ts';
import { findCertificate, refuseSuperseded, supersededHelp } from '../../audit/issued-certificates.ts';
import { readLedger } from '../../ledger/ledger.ts';
import type { CommandAction } from '../command.ts';

/** Defines `audit bundle`: writes a certificate with all that proves it into one file. */
export function define(command: Command): CommandAction {
  command
    .argument('<id>', "the request's id, or its first characters")
    .option('--out <file>', 'the file to write; without it the bundle goes to reports/')
    .option('--superseded', supersededHelp);
  return {
    help: `
A bundle holds the certificate, the ledger's entries that it follows from, the proof that each is in the ledger, and the
public keys. docs/verifier/verify.html checks it in a browser, and verify.mjs beside that with Node.js, without the ledger.

Examples:
  analytics-mirror audit bundle 3f2a --out bundle.json
  node verify.mjs bundle.json --public-key kept-public-keys.txt`,
    run: ({ settings }, id: string, { out, superseded }: { out?: string; superseded?: boolean }) => {
      const { dataDir } = settings;
      const ledger = readLedger(dataDir);
      const found = findCertificate(settings, ledger, id);
      refuseSuperseded(dataDir, found, superseded);
      const { request, generation } = found.certificate;
      const name = `bundle-${request}-g${generation}.json`;
      const written = writeForOthers({ dataDir, out, name }, () => bundleText(dataDir, ledger, found));
      return { json: { request, generation, ...written }, text: writtenText(written) };
    },
  };
}
