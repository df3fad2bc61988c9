import { html } from 'hono/html';
import type { Markup } from '../markup/markup.ts';
import { factList } from './audit-page.ts';
import type { AuditReport } from './report-data.ts';
import { countText, countedText, minuteText } from '../core/words.ts';

/** What happened since people were erased: what the fence kept out, what recipients are told, and the exercises. */
export function sinceErasure({
  fence,
  feed,
  drills,
}: Pick<AuditReport, 'fence' | 'feed' | 'drills'>): Markup {
  return html`<section aria-labelledby="afterwards">
    <h2 id="afterwards">Since the erasure</h2>
    ${factList([
      [
        'The fence',
        fence.entries === 0
          ? 'Nobody of this period is fenced.'
          : `${countedText(fence.entries, 'identifier')} fenced, known only by keyed hashes. Rows that came again were kept out ${countedText(fence.hits, 'time')}${fence.lastHitAt === null ? '' : `, last ${minuteText(fence.lastHitAt)}`}.`,
      ],
      [
        'Resurrections',
        fence.recreated === 0
          ? 'Nobody was created anew at the service after the erasure.'
          : html`<span class="late"
                >${countedText(fence.recreated, 'row')} of somebody created anew at the service</span
              >
              after the erasure: kept out here, and to be decided by a person.`,
      ],
      [
        'Feed for recipients',
        `The dataset deletions tells those who have copies whom to delete: ${countedText(feed.rows, 'row')} now, ${countText(feed.erased)} of them erasures${feed.oldestAt === null ? '' : `, the oldest of ${minuteText(feed.oldestAt)}`}. A row stays ${countedText(feed.retentionDays, 'day')}; who has not read it by then is not told.`,
      ],
      [
        'Published',
        feed.published === null
          ? 'The feed was never published as files.'
          : `As files ${minuteText(feed.published.createdAt)}, with ${countedText(feed.published.rows, 'row')}.`,
      ],
      ['Drills', drillsText(drills)],
    ])}
  </section>`;
}

/** Exercises show that the machinery works, also in a month without requests. */
function drillsText(drills: AuditReport['drills']): Markup | string {
  const last = drills.at(-1);
  if (!last) return 'None was held in this period: analytics-mirror erase drill holds one.';
  const failed = drills.filter(({ outcome }) => outcome === 'failed').length;
  const text = `${countedText(drills.length, 'drill')} held on somebody invented, the last ${minuteText(last.at)}, of ${countedText(last.steps, 'check')}.`;
  return failed === 0
    ? `${text} All passed.`
    : html`${text} <span class="late">${countText(failed)} failed.</span>`;
}
