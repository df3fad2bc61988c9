import { html, raw } from 'hono/html';
import type { LaterWord } from '../ledger/later-words.ts';
import { certificateWords, type NotProven } from '../../docs/verifier/certificate-words.mjs';
import type { Certificate } from '../erasure/proof/certificate.ts';
import { isLate, type RequestHistory } from '../ledger/request-history.ts';
import { evidenceOf, evidences, type Evidence } from '../ledger/vocabulary.ts';
import { table, type Markup } from '../markup/markup.ts';
import { factList, renderPage } from './audit-page.ts';
import { nameOf, scanTable, targetTable } from './certificate-tables.ts';
import { codeText, countedText, minuteText } from '../core/words.ts';
import { evidenceWords, basisText, originText, resultText } from '../ledger/vocabulary-words.ts';

/**
 * A certificate with the SHA-256 of its bytes, the number of the ledger entry that holds that SHA-256, the later words that
 * speak against it, and the history of its request by now.
 */
export type IssuedCertificate = {
  certificate: Certificate;
  sha256: string;
  entry: number;
  later: readonly LaterWord[];
  history: RequestHistory;
};

/**
 * A certificate as a page to read and to print on one or two sheets of A4: what was done, what was not reached, how sure that is, and
 * what no certificate proves. The page carries its `bundle`, so that the file that a person reads is the file that a machine checks.
 */
export function certificatePage(
  { certificate, sha256, entry, later, history }: IssuedCertificate,
  bundle: string,
): string {
  const { request, days, due_at: dueAt } = certificate;
  const words = certificateWords(certificate);
  const isOf = (evidence: Evidence): boolean => certificate.targets.some((target) => evidenceOf(target) === evidence);
  const weakest = evidences.find(isOf) ?? 'not_reached';
  const isNotReached = ({ target }: NotProven): boolean =>
    certificate.targets.some((end) => end.target === target && evidenceOf(end) === 'not_reached');
  const [notReached, limits] = [
    words.notProven.filter(isNotReached),
    words.notProven.filter((one) => !isNotReached(one)),
  ];
  return renderPage({
    kind: 'Certificate of erasure',
    title: `Request ${request}`,
    lead: html`${supersededPanel(later)}
      <p class="summary">${words.summary}</p>
      <p>
        The request was received ${minuteText(certificate.received_at)}. It came to its end
        ${minuteText(certificate.ended_at)}:
        ${
          isLate(history)
            ? html`<span class="late"
                >on day ${days}, after it was due (<span class="when">${minuteText(dueAt)}</span>)</span
              >`
            : html`<span class="good"
                >on day ${days}, ${certificate.is_late ? 'opened again after it had ended ' : ''}in time (due
                <span class="when">${dueAt.slice(0, 10)}</span>)</span
              >`
        }.
      </p>`,
    content: html`<section aria-labelledby="targets">
        <h2 id="targets">What was done, target by target</h2>
        ${targetTable(certificate)}
      </section>
      ${notReachedPanel(notReached)}
      <section aria-labelledby="sure">
        <h2 id="sure">How sure this is</h2>
        <p>
          Weakest evidence: <b>${evidenceWords[weakest].name.toLowerCase()}</b>. This holds for:
          ${weakestTargets(certificate, weakest)}.
        </p>
        ${factList(evidences.filter(isOf).map((evidence) => [evidenceWords[evidence].name, evidenceWords[evidence].means]))}
      </section>
      <section aria-labelledby="proof">
        <h2 id="proof">How the erasure in our copy was proved</h2>
        ${scanTable(certificate)}
        <p>
          ${countedText(certificate.fence.entries, 'identifier')} of the person
          ${certificate.fence.entries === 1 ? 'is' : 'are'} on the fence since ${minuteText(certificate.fenced_at)}
          (epoch ${certificate.fence.epoch}). The fence holds keyed hashes of them only, and it keeps the person out
          when the service sends the person again under one of them.
        </p>
      </section>
      ${limitsPanel(limits)} ${factsSection(certificate, history)} ${statements(certificate, words.statements)}
      ${consumers(certificate)} ${checkSection({ certificate, sha256, entry })} ${dataBlock(bundle)}`,
    footer:
      'This page names no person; whoever has the receipt of the request can tell whose it is. It was made by analytics-mirror from the certificate and the ledger.',
  });
}

function factsSection(certificate: Certificate, { isSharedLeft }: RequestHistory): Markup {
  const { generation } = certificate;
  return html`<section aria-labelledby="facts">
    <h2 id="facts">The request</h2>
    ${factList(
      [
        ['Basis', basisText(certificate.basis)],
        ['Origin', originText(certificate.origin)],
        ['Received', minuteText(certificate.received_at)],
        ['Due', minuteText(certificate.due_at)],
        ...(isSharedLeft
          ? [
              [
                'Left to another person',
                'what is, or may be, a living person’s too: an operator approved that',
              ] as const,
            ]
          : []),
        ['Fenced: final from then on', minuteText(certificate.fenced_at)],
        ['Proved gone from our copy', minuteText(certificate.locally_verified_at)],
        ...(certificate.events_expected_by === null
          ? []
          : [['Weekly batch of the service by', minuteText(certificate.events_expected_by)] as const]),
        ['Ended', minuteText(certificate.ended_at)],
        [
          'Generation',
          generation === 1
            ? '1'
            : `${generation}: the request had been certified or ended before, and was opened again`,
        ],
      ],
      'pairs',
    )}
  </section>`;
}

function checkSection({
  certificate,
  sha256,
  entry,
}: Pick<IssuedCertificate, 'certificate' | 'sha256' | 'entry'>): Markup {
  const { ledger, subject } = certificate;
  return html`<section aria-labelledby="check">
    <h2 id="check">How to check it</h2>
    ${factList([
      ['Ledger', html`<code>${ledger.origin}</code>`],
      [
        'Entries',
        `received ${ledger.entries.received}, fenced ${ledger.entries.fenced}, proved gone ${ledger.entries.locally_verified}, certified ${entry}`,
      ],
      ['Certificate’s hash (SHA-256)', html`<code>${sha256}</code>`],
      ['Subject', html`<code>${subject}</code>`],
    ])}
    <p>
      This file carries the certificate, the ledger’s entries that it follows from, and the proof that each of them is
      in the ledger. The page <code>verify.html</code> checks all of it in a browser, and
      <code>node verify.mjs</code> the same, without the program and the ledger. Give it the ledger’s public key, if you
      have kept it. The words of this page only show the certificate. <code>analytics-mirror audit verify</code> derives
      every certificate again from the ledger and compares the two. The subject is a keyed hash. The holder of this
      request’s receipt can show with <code>analytics-mirror audit open</code> that the request is about the holder.
      Without the receipt, the subject cannot be identified.
    </p>
  </section>`;
}

const laterTexts: Readonly<Record<LaterWord['type'], string>> = {
  reopened: 'the request was opened again',
  attention: 'the request needed attention',
  readmitted: 'the person was let in again on purpose: the fence is lifted',
  differs: 'the data folder is not as the ledger says',
};

/** What the ledger says against the certificate since; nothing where it says nothing. */
function supersededPanel(later: readonly LaterWord[]): Markup {
  if (later.length === 0) return html``;
  return html`<section class="panel weak" aria-labelledby="superseded">
    <h2 id="superseded">Superseded</h2>
    <p>After this certificate, the ledger says otherwise. What stands below was so when it was issued.</p>
    <ul>
      ${later.map(
        ({ entry, at, type, says }) =>
          html`<li>${minuteText(at)}, entry ${entry}: ${laterTexts[type]} (<code>${says}</code>)</li>`,
      )}
    </ul>
  </section>`;
}

/** What a certificate says for regulators. */
function statements({ stated }: Certificate, says: readonly string[]): Markup {
  const { backups_until: backupsUntil, controller, program, service } = stated;
  return html`<section aria-labelledby="regulators">
    <h2 id="regulators">Ground, method and responsibility</h2>
    <ul>
      ${says.map((sentence) => html`<li>${sentence}</li>`)}
    </ul>
    <p>The operator states this of itself. No ledger shows it.</p>
    ${factList(
      [
        ['Controller', controller === null ? 'not stated (setting audit.controller)' : controller.name],
        ['Contact', controller?.contact ?? 'not stated'],
        ['Service', service === null ? 'not stated' : `${service.url}, project ${service.project}`],
        [
          'Backups gone by',
          backupsUntil === undefined ? 'not stated (setting audit.backupDays)' : minuteText(backupsUntil),
        ],
        ['Program', `analytics-mirror ${program}`],
      ],
      'pairs',
    )}
    <p class="soft">
      GDPR: Regulation (EU) 2016/679. CCPA: the California Consumer Privacy Act. NIST SP 800-88r2: Guidelines for Media
      Sanitization, whose methods are clear, purge and destroy.
    </p>
  </section>`;
}

/** The consumers of the published files that a certificate names. */
function consumers(certificate: Certificate): Markup {
  if (certificate.consumers.length === 0) return html``;
  return html`<section aria-labelledby="consumers">
    <h2 id="consumers">Those that load the published files</h2>
    ${table(
      'Each consumer, and when an operator recorded that it has deleted the person too',
      ['Consumer', { heading: 'Deleted too', is: 'when' }],
      certificate.consumers.map(({ consumer, acknowledged_at: at, seen = [], not_covered: bare = [] }) => [
        codeText(consumer),
        [
          ...(at === null ? ['nothing recorded before this certificate'] : []),
          ...(at !== null && seen.length === 0 ? [`asserted, recorded ${minuteText(at)}`] : []),
          ...seen.map((one) => `${one.assurance} ${minuteText(one.at)}: ${one.tables.join(', ')}`),
          ...(bare.length > 0 ? [`NOT COVERED: ${bare.join(', ')}`] : []),
        ].join('; '),
      ]),
    )}
    <p class="soft">
      What was recorded later is on the ledger: <code>node verify.mjs</code> with the ledger’s folder and this
      certificate’s JSON shows it.
    </p>
  </section>`;
}

/** The bundle where `verify.mjs` finds it. No browser shows or runs it. */
function dataBlock(bundle: string): Markup {
  return html`${raw(`<script type="application/json" id="bundle">${bundle.replaceAll('<', '\\u003c')}</script>`)}`;
}

function weakestTargets({ targets }: Certificate, weakest: Evidence): string {
  const ends = targets
    .filter((target) => evidenceOf(target) === weakest)
    .map(({ target, result }) => `${nameOf(target)} (${resultText(result)})`);
  return [...new Set(ends)].join('; ');
}

/** What was left as it was, or in part; nothing where all was reached. */
function notReachedPanel(notReached: readonly NotProven[]): Markup {
  if (notReached.length === 0) return html``;
  return html`<section class="panel weak" aria-labelledby="not-reached">
    <h2 id="not-reached">Not reached</h2>
    ${sayings(notReached)}
  </section>`;
}

function limitsPanel(limits: readonly NotProven[]): Markup {
  return html`<section class="panel" aria-labelledby="limits">
    <h2 id="limits">Limits: what this does not prove</h2>
    ${sayings(limits)}
  </section>`;
}

/** Targets of which the same is said share an item. */
function sayings(notProven: readonly NotProven[]): Markup {
  const items = [...Map.groupBy(notProven, ({ says }) => says)];
  return html`<ul>
    ${items.map(([says, about]) => {
      const names = new Set(about.flatMap(({ target }) => (target === null ? [] : [nameOf(target)])));
      return html`<li>
        ${names.size === 0 ? '' : html`<b>${[...names].join('; ')}.</b> `}${says}${about.map(({ until }) => (until === null ? '' : html` <b>Until ${minuteText(until)}.</b>`))}
      </li>`;
    })}
  </ul>`;
}
