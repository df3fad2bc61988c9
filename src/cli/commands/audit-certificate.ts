import { Option, type Command } from 'commander';
import { bundleText, writeForOthers, writtenText } from '../../audit/bundle.ts';
import { certificatePage, type IssuedCertificate } from '../../audit/certificate-page.ts';
import { letterLanguages, letterText, type LetterLanguage } from '../../audit/letter.ts';
import { findCertificate, refuseSuperseded, supersededHelp } from '../../audit/issued-certificates.ts';
import { writeRequestedFile } from '../../core/atomic-file.ts';
import { isoTime } from '../../core/clock.ts';
import { secondText } from '../../core/words.ts';
import { certificateWords } from '../../../docs/verifier/certificate-words.mjs';
import { readLedger } from '../../ledger/ledger.ts';
import { isLate } from '../../ledger/request-history.ts';
import { readTarget } from '../../ledger/target.ts';
import { evidenceOf } from '../../ledger/vocabulary.ts';
import { evidenceWords, targetText } from '../../ledger/vocabulary-words.ts';
import type { CommandAction } from '../command.ts';
import { formatTable } from '../table.ts';

type CertificateFlags = {
  format: 'html' | 'json' | 'letter';
  language: LetterLanguage;
  out?: string;
  superseded?: boolean;
};

/** Defines `audit certificate`: shows one certificate. */
export function define(command: Command): CommandAction {
  command
    .argument('<id>', "the request's id, or its first characters")
    .addOption(
      new Option('--format <format>', 'a page, the exact bytes of the certificate, or a letter to the person')
        .choices(['html', 'json', 'letter'])
        .default('html'),
    )
    .addOption(new Option('--language <code>', 'of the letter').choices(letterLanguages).default('en'))
    .option('--out <file>', 'the file to write; without it a page goes to reports/, all else to standard output')
    .option('--superseded', supersededHelp);
  return {
    help: `
A letter names nobody: fill in what stands in [brackets]. There is no letter of a superseded certificate.

Examples:
  analytics-mirror audit certificate 3f2a
  analytics-mirror audit certificate 3f2a --format letter --language de --out letter.txt
  analytics-mirror audit certificate 3f2a --format json --out certificate.json`,
    run: ({ settings, clock }, id: string, { format, language, out, superseded }: CertificateFlags) => {
      const { dataDir } = settings;
      const ledger = readLedger(dataDir);
      const found = findCertificate(settings, ledger, id);
      refuseSuperseded(dataDir, found, superseded === true && format !== 'letter');
      const { certificate, sha256, entry, later } = found;
      const json = { certificate, sha256, entry, later };
      if (format === 'html') {
        const name = `certificate-${certificate.request}-g${certificate.generation}.html`;
        const page = (): string => certificatePage(found, bundleText(dataDir, ledger, found));
        const written = writeForOthers({ dataDir, out, name }, page);
        return { json: { ...json, ...written }, text: `${summary(found)}${writtenText(written)}` };
      }
      const text = format === 'letter' ? letterText(found, { language, now: isoTime(clock.now()) }) : found.text;
      if (out !== undefined) writeRequestedFile(out, text);
      return {
        json: { ...json, file: out ?? null },
        text: out === undefined ? text : `${summary(found)}written to ${out}\n`,
      };
    },
  };
}

function summary({ certificate, history }: IssuedCertificate): string {
  const { request, generation, days } = certificate;
  const words = certificateWords(certificate);
  const facts = formatTable(
    ['request', `${request}, generation ${generation}`],
    [
      ['received', secondText(certificate.received_at)],
      ['ended', `${secondText(certificate.ended_at)}, day ${days}${isLate(history) ? ', LATE' : ''}`],
      ...certificate.targets.map((target) => [
        targetText(readTarget(target.target)),
        evidenceWords[evidenceOf(target)].name.toLowerCase(),
      ]),
      ['not proven', `${words.notProven.length} things: the page of the certificate says which`],
    ],
  );
  return `${words.summary}\n${facts}`;
}
