import { html } from 'hono/html';
import { isJsonObject, stringifyExactJson } from '../core/exact-json.ts';
import { codeText, countedText, countText, durationText, secondText } from '../core/words.ts';
import type { SubjectAccess, Whereabouts } from '../erasure/find/where.ts';
import { stateText } from '../ledger/vocabulary-words.ts';
import { table, type Markup } from '../markup/markup.ts';
import { factList, renderPage } from './audit-page.ts';

/** What the page is about. `service` is the host and the project that the data come from; null where none is configured. */
export type AccessPage = {
  access: SubjectAccess;
  whereabouts: Pick<Whereabouts, 'requests' | 'searched'>;
  service: string | null;
  /** Who answers for the data, and how to reach them; null where the settings do not say it. */
  controller: { name: string | null; contact: string | null };
  at: string;
};

type Row = Record<string, unknown>;

/** The most rows of a list on a page. The JSON file has all. */
const rowsMax = 2000;

const personNames: Readonly<Record<string, string>> = {
  name: 'Name',
  created_at: 'Known since',
  distinct_ids: 'Identifiers on your devices and accounts',
  uuid: 'Number of your profile (UUID)',
  id: 'Number of your profile',
  changed_at: 'Last changed in this copy',
  last_seen_at: 'Last seen',
  is_identified: 'Identified',
};
const recordingNames: Readonly<Record<string, string>> = {
  recording_duration: 'length in seconds',
  active_seconds: 'active seconds',
  inactive_seconds: 'inactive seconds',
  start_url: 'first page',
  click_count: 'clicks',
  keypress_count: 'keys pressed',
  mouse_activity_count: 'mouse events',
  distinct_id: 'identifier',
  viewers: 'viewed by',
  changed_at: 'last changed in this copy',
};
const shownApart = new Set(['id', 'start_time', 'end_time', 'person']);

/** The answer to a request for access, for the person: one page that is complete without a script or another file. Personal data. */
export function accessPage({
  access,
  whereabouts: { requests, searched },
  service,
  controller,
  at,
}: AccessPage): string {
  const { persons, recordings, playlists, quarantine, files } = access;
  const named = [controller.name, controller.contact].filter((text) => text !== null);
  const isNothing = [persons, recordings, playlists, quarantine, files].every(({ length }) => length === 0);
  return renderPage({
    kind: 'Answer to a request for access',
    title: 'The data that are stored about you',
    lead: html`<p class="summary">
        ${isNothing ? 'No data about you were found.' : `${countedText(persons.length, 'profile')}, ${countedText(recordings.length, 'session recording')}.`}
      </p>
      <p class="soft">
        This page shows what a copy of the analytics data${service === null ? '' : html` of <b>${service}</b>`} holds
        about you, as of ${secondText(at)}. All times are UTC.
      </p>
      ${named.length === 0 ? '' : html`<p>Who answers for these data: <b>${named.join(', ')}</b></p>`}`,
    content: html`${persons.map((person, index) => profile(person, persons.length > 1 ? ` ${index + 1}` : ''))}
      ${recordings.length > 0 ? recordingList(recordings) : ''} ${playlists.length > 0 ? playlistList(playlists) : ''}
      ${
        quarantine.length > 0
          ? html`<section>
              <h2>Rows that could not be read</h2>
              <p>The service sent these rows in a form that this copy does not know. They are shown as they came.</p>
              ${quarantine.map(({ dataset, payload }) => html`<pre aria-label="A row of ${dataset}">${payload}</pre>`)}
            </section>`
          : ''
      }
      ${files.length > 0 ? fileList(files) : ''}
      ${
        requests.length > 0
          ? html`<section>
              <h2>Requests to erase your data</h2>
              ${table(
                'Each request',
                ['Request', 'Received', 'State'],
                requests.map(({ id, state, receivedAt }) => [
                  html`<code>${id}</code>`,
                  secondText(receivedAt),
                  stateText(state),
                ]),
              )}
            </section>`
          : ''
      }
      <section>
        <h2>What this page does not show</h2>
        <ul>
          <li>
            Events and the recorded sessions themselves: this copy does not hold them. The analytics service does.
          </li>
          <li>Backups, and copies that others took of published files.</li>
          <li>
            Each session recording repeats your profile as it was then. The data file (JSON) has it, field by field.
          </li>
        </ul>
        <p class="soft">The search read the copy and ${countedText(searched.files, 'published file')}.</p>
      </section>`,
    footer: 'This page holds personal data. Give it to the person that it is about, and to no other person.',
  });
}

/** The fields of a row, and beside them those that the service sent and this copy has no name for. */
function fieldsOf(row: Row): [name: string, value: unknown][] {
  const { extra, ...named } = row;
  return [...Object.entries(named), ...(isJsonObject(extra) ? Object.entries(extra) : [])].filter(
    ([, value]) => value !== null,
  );
}

function profile(person: Row, number: string): Markup {
  const rest = fieldsOf(person).filter(([name]) => name !== 'properties');
  const { properties } = person;
  return html`<section>
    <h2>Your profile${number}</h2>
    ${factList(rest.map(([name, value]) => [personNames[name] ?? codeText(name), valueOf(value)]))}
    ${
      isJsonObject(properties)
        ? table(
            'Properties of your profile',
            ['Property', 'Value'],
            Object.entries(properties).map(([name, value]) => [name, valueOf(value)]),
          )
        : ''
    }
  </section>`;
}

function recordingList(recordings: readonly Row[]): Markup {
  const newest = recordings.toSorted((a, b) => (textOrEmpty(a['start_time']) < textOrEmpty(b['start_time']) ? 1 : -1));
  return html`<section>
    <h2>Your session recordings</h2>
    <p>
      A session recording says when a visit took place and what was counted during the visit.
      ${newest.length > rowsMax ? `The ${countText(rowsMax)} newest are here. The data file (JSON) has all ${countText(newest.length)}.` : ''}
    </p>
    ${table(
      'Recordings, the newest first',
      [{ heading: 'Began', is: 'when' }, { heading: 'Took', is: 'when' }, 'Recording', 'What is stored of it'],
      newest.slice(0, rowsMax).map((row) => [
        valueOf(row['start_time']),
        tookText(row),
        html`<code>${textOrEmpty(row['id'])}</code>`,
        fieldsOf(row)
          .filter(([name]) => !shownApart.has(name))
          .map(([name, value]) => `${recordingNames[name] ?? codeText(name)}: ${storedText(name, value)}`)
          .join('; '),
      ]),
    )}
  </section>`;
}

/** A value of a recording. People of the service who viewed it are counted: the answer is not about them. */
function storedText(name: string, value: unknown): string {
  if (name === 'viewers' && Array.isArray(value)) return countedText(value.length, 'person', 'persons');
  return name === 'viewed' || name === 'ongoing' ? (value === 1 ? 'yes' : 'no') : plainText(value);
}

function playlistList(playlists: SubjectAccess['playlists']): Markup {
  return html`<section>
    <h2>Lists that hold your session recordings</h2>
    ${table(
      'Each list and recording',
      ['List', 'Recording'],
      playlists.slice(0, rowsMax).map(({ shortId, recordingId }) => [shortId, html`<code>${recordingId}</code>`]),
    )}
  </section>`;
}

function fileList(files: SubjectAccess['files']): Markup {
  return html`<section>
    <h2>Files that repeat these data</h2>
    <p>The copy publishes files for reports. These files hold rows about you.</p>
    ${table(
      'Each file',
      ['File', 'Rows about you'],
      files.slice(0, rowsMax).map(({ file, rows }) => [html`<code>${file}</code>`, rows.length]),
    )}
  </section>`;
}

function tookText({ start_time: start, end_time: end }: Row): string {
  const ms = Date.parse(textOrEmpty(end)) - Date.parse(textOrEmpty(start));
  return Number.isFinite(ms) && ms >= 0 ? durationText(ms) : '';
}

/** A value of a row for the page: a time with its zone, a list as its items, an object as indented JSON. */
function valueOf(value: unknown): Markup | string {
  if (Array.isArray(value) && value.every((item) => !isJsonObject(item) && !Array.isArray(item)))
    return value.map(plainText).join(', ');
  return isJsonObject(value) || Array.isArray(value)
    ? html`<pre>${stringifyExactJson(value, 2)}</pre>`
    : plainText(value);
}

function plainText(value: unknown): string {
  if (value === null) return 'empty';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'string') return stringifyExactJson(value);
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(Date.parse(value))
    ? secondText(new Date(value).toISOString())
    : value;
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
