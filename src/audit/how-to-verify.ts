import { html } from 'hono/html';
import type { Markup } from '../markup/markup.ts';
import { factList } from './audit-page.ts';
import type { AuditReport } from './report-data.ts';
import { countedText, countText } from '../core/words.ts';

/** How to verify a report and its sources, for a reader who has never seen a ledger. */
export function howToVerify({ ledger }: Pick<AuditReport, 'ledger'>): Markup {
  return html`<section aria-labelledby="verify">
    <h2 id="verify">How to verify this</h2>
    <p>
      The program writes every step of every request to a ledger, before the step and after it. The ledger is the file
      <code>ledger/entries.jsonl</code>: one line for each entry, without names and without free text. All lines are
      hashed into one number, the root. A line that is changed, added or removed changes the root. The program signs the
      root as a <i>checkpoint</i>. The hash of each certificate stands in one of these lines.
    </p>
    <ol>
      <li>
        <b>Keep a checkpoint outside.</b> <code>analytics-mirror audit checkpoint</code> prints three lines and a
        signature: the name of the ledger, the number of entries, and the root. Keep them and the file
        <code>ledger/public-keys.txt</code> in a place where the operator of this program cannot change them.
      </li>
      <li>
        <b>Later, compare the ledger with it.</b>
        <code>analytics-mirror audit verify --checkpoint kept.txt --public-key public-keys.txt</code> reads everything
        again. It checks that the ledger grew from this checkpoint, that the order of the steps is allowed, that every
        certificate follows from the ledger, and that every published file matches its manifest. It needs the data
        folder only: no network and no key.
      </li>
      <li>
        <b>Without trusting this program:</b> the page <code>docs/verifier/verify.html</code> of its package checks the
        ledger, a certificate’s page or a receipt in a browser without network, and the script
        <code>verify.mjs</code> beside it with Node.js. It is short enough to read, and the formats are public (RFC
        8785, RFC 6962, C2SP signed notes).
      </li>
      <li>
        <b>A person asks about their own request:</b> with the person’s receipt,
        <code>analytics-mirror audit open</code> shows which request and certificate are about them.
      </li>
    </ol>
    <p>
      <b>Only the kept checkpoint detects a ledger that was cut short or rewritten.</b> Without one, the ledger is its
      own only witness.
    </p>
    ${factList([
      ['Ledger', ledger.origin === null ? 'not signed yet' : html`<code>${ledger.origin}</code>`],
      ['Entries now', countText(ledger.entries)],
      ['Root now', html`<code>${ledger.rootHash}</code>`],
    ])}
    ${
      ledger.checkpoint === null
        ? html`<p>No checkpoint was signed yet.</p>`
        : html`<p>The newest checkpoint, over ${countedText(ledger.checkpoint.entries, 'entry', 'entries')}:</p>
            <pre><code>${ledger.checkpoint.text}</code></pre>`
    }
  </section>`;
}
