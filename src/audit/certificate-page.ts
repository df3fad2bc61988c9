import { html } from 'hono/html';
import { isFile, readTarget } from '../ledger/target.ts';
import type { Certificate } from '../erasure/proof/certificate.ts';
import type { Markup } from '../markup/markup.ts';
import { factList, pageTable, renderPage } from './audit-page.ts';
import { bytesText, codeText, countText, countedText, minuteText } from '../core/words.ts';
import {
  assuranceWords,
  basisText,
  kindOfTarget,
  originText,
  resultText,
  targetKindText,
} from '../ledger/vocabulary-words.ts';

/** A certificate that the ledger vouches for: SHA-256 of its bytes, and the entry that has it. */
export type IssuedCertificate = { certificate: Certificate; sha256: string; entry: number };

/** A certificate as a page to read, and to print on one or two sheets of A4. What it does not prove comes first. */
export function certificatePage({ certificate, sha256, entry }: IssuedCertificate): string {
  const { request, generation, ledger, days, is_late: isLate, due_at: dueAt } = certificate;
  const weakest = assuranceWords[certificate.weakest_assurance];
  return renderPage({
    kind: 'Certificate of erasure',
    title: `Request ${request}`,
    lead: html`<p>
      Received ${minuteText(certificate.received_at)}, everything reached
      ${minuteText(certificate.certified_at)}:
      ${
        isLate
          ? html`<span class="late"
              >on day ${days}, after it was due (<span class="when">${minuteText(dueAt)}</span>)</span
            >`
          : html`<span class="good"
              >on day ${days}, in time (due <span class="when">${dueAt.slice(0, 10)}</span>)</span
            >`
      }.
    </p>`,
    content: html`<section class="panel weak" aria-labelledby="weakest">
        <h2 id="weakest">Weakest assurance: ${weakest.name.toLowerCase()}</h2>
        <p>${weakest.means}</p>
        <p>This holds for: ${weakestTargets(certificate)}.</p>
      </section>
      ${notProvenPanel(certificate)}
      <section aria-labelledby="targets">
        <h2 id="targets">What was reached, weakest first</h2>
        ${targetTable(certificate)}
        <p class="soft">
          ${(['verified', 'observed', 'asserted_by_upstream', 'not_verifiable'] as const)
            .filter((assurance) => certificate.targets.some((target) => target.assurance === assurance))
            .map(
              (assurance) =>
                html`<b>${assuranceWords[assurance].name}:</b> ${assuranceWords[assurance].means} `,
            )}
        </p>
      </section>
      <section aria-labelledby="proof">
        <h2 id="proof">How it was proved here</h2>
        ${scanTable(certificate)}
        <p>
          ${countedText(certificate.fence.entries, 'identifier')} of the person
          ${certificate.fence.entries === 1 ? 'is' : 'are'} fenced since ${minuteText(certificate.fenced_at)}
          (round ${certificate.fence.epoch}): known only by keyed hashes, and kept out whenever the service
          sends them again.
        </p>
      </section>
      <section aria-labelledby="facts">
        <h2 id="facts">The request</h2>
        ${factList([
          ['Ground', basisText(certificate.basis)],
          ['Origin', originText(certificate.origin)],
          ['Received', minuteText(certificate.received_at)],
          ['Due', minuteText(dueAt)],
          ['Fenced: no way back', minuteText(certificate.fenced_at)],
          ['Proved gone from here', minuteText(certificate.locally_verified_at)],
          ...(certificate.events_expected_by === null
            ? []
            : [['Service’s weekly batch by', minuteText(certificate.events_expected_by)] as const]),
          ['Everything reached', minuteText(certificate.certified_at)],
          ['Generation', generation === 1 ? '1' : `${generation}: the request was opened again before`],
        ])}
      </section>
      <section aria-labelledby="check">
        <h2 id="check">How to check it</h2>
        ${factList([
          ['Ledger', html`<code>${ledger.origin}</code>`],
          [
            'Entries',
            `received ${ledger.entries.received}, fenced ${ledger.entries.fenced}, proved gone ${ledger.entries.locally_verified}, certified ${entry}`,
          ],
          ['Certificate’s SHA-256', html`<code>${sha256}</code>`],
          ['Subject', html`<code>${certificate.subject}</code>`],
        ])}
        <p>
          The certificate itself is the file
          <code>reports/certificates/${request}-g${generation}.json</code>; this page only shows it. Its
          SHA-256 stands in the ledger’s entry ${entry}, and <code>analytics-mirror audit verify</code> makes
          every certificate anew from the ledger and compares. The subject is a keyed hash: whoever has the
          receipt of this request can show with <code>analytics-mirror audit open</code> that it is about
          them, and nobody else can tell whom it is about.
        </p>
      </section>`,
    footer:
      'This page holds no personal data. It was made by analytics-mirror from the certificate and the ledger.',
  });
}

function weakestTargets({ targets, weakest_assurance: weakest }: Certificate): string {
  const ends = targets
    .filter(({ assurance }) => assurance === weakest)
    .map(({ target, result }) => `${nameOf(target)} (${resultText(result)})`);
  return [...new Set(ends)].join('; ');
}

function notProvenPanel({ not_proven: notProven }: Certificate): Markup {
  const general = notProven.filter((item) => !('target' in item));
  const below = Map.groupBy(
    notProven.filter((item) => 'target' in item),
    ({ says }) => says,
  );
  return html`<section class="panel weak" aria-labelledby="not-proven">
    <h2 id="not-proven">Not proven</h2>
    <ul>
      ${[...below].map(
        ([says, items]) =>
          html`<li>
            <b>${[...new Set(items.map(({ target }) => nameOf(target)))].join('; ')}.</b> ${says}
          </li>`,
      )}
      ${general.map(
        (item) =>
          html`<li>${item.says}${'until' in item ? html` <b>Until ${minuteText(item.until)}.</b>` : ''}</li>`,
      )}
    </ul>
  </section>`;
}

/** Files are told together by dataset and end: the certificate has each. */
function targetTable({ targets }: Certificate): Markup {
  const groups = Map.groupBy(
    targets,
    ({ target, result, assurance }) => `${nameOf(target)} ${result} ${assurance}`,
  );
  const rows = [...groups.values()].flatMap((ends) => {
    const [end] = ends;
    if (!end) return [];
    const isPublished = isFile(readTarget(end.target));
    const removed = ends.map((each) => each.rows_removed).filter((count) => count !== null);
    const last =
      ends
        .map((each) => each.ended_at)
        .toSorted()
        .at(-1) ?? end.ended_at;
    return [
      [
        `${nameOf(end.target)}${isPublished ? ` (${countedText(ends.length, 'file')})` : ''}`,
        resultText(end.result),
        assuranceWords[end.assurance].name,
        removed.length === 0 ? '–' : countText(removed.reduce((sum, count) => sum + count, 0)),
        minuteText(last),
      ],
    ];
  });
  return pageTable(
    'Each target, how it ended, and how far that can be believed',
    [
      { heading: 'Target' },
      { heading: 'End' },
      { heading: 'Assurance' },
      { heading: 'Rows taken out', is: 'number' },
      { heading: 'When', is: 'when' },
    ],
    rows,
  );
}

function nameOf(target: string): string {
  const read = readTarget(target);
  const kind = targetKindText(kindOfTarget(read));
  return isFile(read) ? `${kind} of ${codeText(read.dataset)}` : kind;
}

function scanTable({ scan: { control, verify } }: Certificate): Markup {
  const rowOf = (name: string, scan: Certificate['scan']['verify']): string[] => [
    name,
    countText(scan.files),
    countText(scan.passed_over),
    bytesText(scan.bytes),
    countText(scan.needles),
    countText(scan.hits),
  ];
  return html`${pageTable(
    'The search of everything that this program has written, byte by byte and decoded',
    [
      { heading: 'Search' },
      { heading: 'Files read', is: 'number' },
      { heading: 'Passed over', is: 'number' },
      { heading: 'Bytes', is: 'number' },
      { heading: 'Texts searched for', is: 'number' },
      { heading: 'Found', is: 'number' },
    ],
    [...(control ? [rowOf('Before, as a control', control)] : []), rowOf('After', verify)],
  )}
  ${
    verify.passed_over === 0
      ? ''
      : html`<p class="soft">
          Passed over: published files that nothing was written to, and of which a search of all their rows
          had just found that they do not hold the person.
        </p>`
  }
  ${
    verify.left_out === undefined
      ? ''
      : html`<p class="late">
          Not searched for: up to ${countText(verify.left_out)} of the person’s texts, for which there was no
          room. Of them, that nothing is found proves nothing.
        </p>`
  }
  ${
    control && control.hits > 0
      ? ''
      : html`<p class="late">
          No search before the erasure had found the person, so that none is found afterwards says less than
          it should.
        </p>`
  }`;
}
