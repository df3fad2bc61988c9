import type { Command } from 'commander';
import { openReceipt, type OpenedReceipt } from '../../audit/open-receipt.ts';
import { secondText } from '../../core/words.ts';
import { readReceipt } from '../../erasure/request/receipt.ts';
import { laterText } from '../../ledger/later-words.ts';
import { readLedger } from '../../ledger/ledger.ts';
import { uncertifiedText } from '../../ledger/vocabulary-words.ts';
import type { CommandAction } from '../command.ts';
import { addGivenOptions, requireGiven, type GivenOptions } from '../given-identifiers.ts';

/** Defines `audit open`: shows whether an erasure request was about the holder of its receipt. */
export function define(command: Command): CommandAction {
  addGivenOptions(
    command
      .argument('<receipt>', 'the file receipt-<request>.json')
      .argument('[source]', '- reads kind,value lines from standard input'),
  );
  return {
    help: `
Give the identifier that the request was made with. Prefer --file or standard input: other users of this machine can see
a command line. Reads the folders ledger/ and reports/ only.
Exit codes: 0 the request is about this person, 4 it is not.

Examples:
  printf 'email,ann@example.com\\n' | analytics-mirror audit open receipt-0189f1c0-7e5e-4bd2-a3c1-52f0a4d1c001.json -
  analytics-mirror audit open receipt.json --file ann.csv`,
    run: async ({ settings: { dataDir } }, path: string, source: string | undefined, options: GivenOptions) => {
      const receipt = readReceipt(path);
      const given = await requireGiven(options, source);
      const opened = openReceipt(dataDir, readLedger(dataDir), receipt, given);
      const ended = opened.verdict === 'is_about' ? 'done' : 'incomplete';
      return { ended, json: opened, text: openedText(opened) };
    },
  };
}

const verdicts: Readonly<Record<OpenedReceipt['verdict'], string>> = {
  is_about: 'is about this person',
  is_not_about: 'is not about this person, or was made with another identifier',
  other_ledger: 'was received by another ledger than this one',
  not_proved: 'is about this person, but the receipt was changed: its entries do not show what it says',
  other_entries:
    'is about this person, but the ledger was changed since: the receipt proves entries that it no longer has',
  unknown_request: 'is not on this ledger: its entry was removed, or this is an older copy',
};

const files = {
  sound: 'its file is the one on the ledger',
  missing: 'its file is missing',
  changed: 'its file is not the one on the ledger',
};

function openedText({ request, verdict, received, state, isAccess, certificates }: OpenedReceipt): string {
  const without = isAccess ? 'it is for access: it has no certificate' : state && uncertifiedText(state);
  return [
    `request ${request} ${verdicts[verdict]}\n`,
    ...(received === null ? [] : [`received ${secondText(received.at)}, entry ${received.entry}\n`]),
    ...(received !== null && certificates.length === 0 ? [`${without ?? 'no certificate yet'}\n`] : []),
    ...certificates.map(
      ({ generation, entry, sha256, file, later }) =>
        `certificate of generation ${generation}: entry ${entry}, SHA-256 ${sha256}; ${files[file]}\n` +
        (later.length === 0 ? '' : `superseded: ${laterText(later)}\n`),
    ),
  ].join('');
}
