import { html } from 'hono/html';
import type { Markup } from '../markup/markup.ts';
import { factList } from './audit-page.ts';
import type { AuditReport } from './report-data.ts';
import { countText, countedText, minuteText } from '../core/words.ts';

/** The time since the erasures: rows that the fence kept out, the feed for recipients, and the drills. */
export function sinceErasure({
  fence,
  feed,
  drills,
  requests,
}: Pick<AuditReport, 'fence' | 'feed' | 'drills' | 'requests'>): Markup {
  return html`<section aria-labelledby="afterwards">
    <h2 id="afterwards">Since the erasure</h2>
    ${factList([
      [
        'The fence',
        fence.entries === 0
          ? 'No person of this period is on the fence.'
          : `The fence holds keyed hashes of ${countedText(fence.entries, 'identifier')}. It has kept rows out ${countedText(fence.hits, 'time')}${fence.lastHitAt === null ? '' : `, last ${minuteText(fence.lastHitAt)}`}.`,
      ],
      [
        'Resurrections',
        fence.recreated === 0
          ? 'The service lists no erased person that it created again.'
          : html`<span class="late"
                >The service has created erased people again: ${countedText(fence.recreated, 'identifier')}</span
              >. The fence keeps them out here, and the operator has to decide.`,
      ],
      [
        'Feed for recipients',
        `The dataset deletions tells the owners of copies what to delete. It has ${countedText(feed.rows, 'row')} now, ${countText(feed.erased)} of them erasures${feed.oldestAt === null ? '' : `, the oldest of ${minuteText(feed.oldestAt)}`}. A row stays ${countedText(feed.retentionDays, 'day')}. An owner who has not read it by then does not learn of it.`,
      ],
      [
        'Published',
        feed.published === null
          ? 'The feed was never published as files.'
          : `As files ${minuteText(feed.published.createdAt)}, with ${countedText(feed.published.rows, 'row')}.`,
      ],
      ['Consumers', consumersText(requests)],
      ['Drills', drillsText(drills)],
    ])}
  </section>`;
}

/** For how many requests an operator has recorded that each consumer has deleted too. */
function consumersText(requests: AuditReport['requests']): string {
  const all = requests.flatMap(({ acknowledgements, fencedAt }) =>
    acknowledgements.map((one) => ({ ...one, fencedAt: fencedAt ?? '' })),
  );
  if (all.length === 0) return 'No consumer of the published files is named (export.consumers).';
  const told = [...Map.groupBy(all, ({ consumer }) => consumer)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const sentences = told.map(([consumer, each]) => {
    const silent = each.filter(({ acknowledgedAt }) => acknowledgedAt === null);
    const [oldest] = silent.map(({ fencedAt }) => fencedAt).toSorted();
    const open =
      oldest === undefined
        ? ''
        : `; nothing is recorded for ${countText(silent.length)}, the oldest of ${minuteText(oldest)}`;
    return `${consumer}: for ${countText(each.length - silent.length)} of ${countedText(each.length, 'request')}${open}.`;
  });
  return `An operator recorded which consumers have deleted too. This program has not seen their copies. ${sentences.join(' ')}`;
}

/** Drills show that erasures work, also in a month without requests. */
function drillsText(drills: AuditReport['drills']): Markup | string {
  const last = drills.at(-1);
  if (!last) return 'No drill was run in this period. analytics-mirror erase drill runs one.';
  const failed = drills.filter(({ outcome }) => outcome === 'failed').length;
  const text = `${countedText(drills.length, 'drill')} with an invented person, the last ${minuteText(last.at)} with ${countedText(last.steps, 'check')}.`;
  return failed === 0 ? `${text} All passed.` : html`${text} <span class="late">${countText(failed)} failed.</span>`;
}
