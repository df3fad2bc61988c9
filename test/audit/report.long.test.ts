import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { acknowledgeRequest, countUnacknowledged } from '../../src/erasure/acknowledge.ts';
import { bundleText } from '../../src/audit/bundle.ts';
import { certificateWords } from '../../docs/verifier/certificate-words.mjs';
import { certificatePage } from '../../src/audit/certificate-page.ts';
import { findCertificate } from '../../src/audit/issued-certificates.ts';
import { reportCsv } from '../../src/audit/report-csv.ts';
import { gatherReport, type AuditReport } from '../../src/audit/report-data.ts';
import { reportAnswer } from '../../src/audit/report-answer.ts';
import { reportJson } from '../../src/audit/report-data.ts';
import { reportPage } from '../../src/audit/report-page.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { collectHistories } from '../../src/ledger/histories.ts';
import { certificatePath } from '../../src/erasure/proof/certificate-file.ts';
import { openLedger, readLedger } from '../../src/ledger/ledger.ts';
import { issuing, lifeOf, requestId } from '../ledger/ledger-fixture.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { archiveNowMs, writeArchive, type Archive } from './archive-fixture.ts';

function archiveOf(count: number): Archive {
  const archive = writeArchive(freshFolder(), count);
  onTestFinished(() => {
    archive.db.close();
  });
  return archive;
}

type Period = Parameters<typeof gatherReport>[1];

function reportOf(archive: Archive, period?: Period, nowMs = archiveNowMs): AuditReport {
  const parts = { ...archive, nowMs } as unknown as Parameters<typeof gatherReport>[0];
  return gatherReport(parts, period);
}

/** Names of elements that are opened and not closed, or closed and not opened. */
function unbalanced(page: string): string[] {
  const empty = new Set(['meta', 'br', 'line', 'rect']);
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, close = '', name = '', self = ''] of page
    .replace(/<style>.*<\/style>/s, '')
    .matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*?(\/?)>/g)) {
    if (empty.has(name) || self) continue;
    if (!close) open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return [...wrong, ...open];
}

/** What any page of ours has to be. */
function checkPage(page: string): void {
  expect(unbalanced(page)).toEqual([]);
  const shown = page.replace(/<script type="application\/json" id="bundle">[^<]*<\/script>/, '');
  expect(shown).not.toMatch(/<(script|link|img|iframe|form|object|base)\b|\bstyle="|\bon[a-z]+="|url\(|@import/i);
  expect(page).not.toMatch(/\b(src|href)="(?!#|certificates\/)/);
  expect(page).not.toMatch(/undefined|NaN|\[object|Invalid Date/);
  const [, style = ''] = /<style>(.*?)<\/style>/s.exec(page) ?? [];
  const hash = createHash('sha256').update(style).digest('base64');
  expect(page).toContain(
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'"`,
  );
  expect(page).toContain('<html lang="en">');
  expect(page).toContain('<a class="skip" href="#content">');
  const levels = [...page.matchAll(/<h([1-6])\b/g)].map(([, level]) => Number(level));
  expect(levels[0]).toBe(1);
  expect(levels.filter((level) => level === 1)).toHaveLength(1);
  expect(levels.every((level, index) => index === 0 || level - (levels[index - 1] ?? 0) <= 1)).toBe(true);
  const ids = [...page.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const named = [...page.matchAll(/aria-labelledby="([^"]+)"/g)].flatMap(([, names]) => names?.split(' ') ?? []);
  expect(named.filter((name) => !ids.includes(name))).toEqual([]);
  for (const table of page.match(/<table.*?<\/table>/gs) ?? []) {
    expect(table).toContain('<caption');
    expect(table).toContain('scope="col"');
    expect(table).toContain('scope="row"');
    const widths = table
      .split('<tr>')
      .slice(1)
      .map((row) => (row.match(/<t[hd]\b/g) ?? []).length);
    expect(new Set(widths).size).toBe(1);
  }
}

describe('a report', () => {
  it('without a request says so, and how to verify the ledger all the same', () => {
    const report = reportOf(archiveOf(0));
    expect(report).toMatchObject({
      from: '2026-11-20',
      to: '2026-11-20',
      totals: { received: 0, open: 0 },
      times: { here: { count: 0, medianMs: null, worstMs: null } },
      requests: [],
    });
    const page = reportPage(report);
    checkPage(page);
    expect(page).toContain('No request to erase a person was received');
    expect(page).toContain('Only the kept checkpoint detects');
    expect(page).not.toContain('Progress of the period');
    expect(parse(reportCsv(report))).toHaveLength(1);
    expect([...reportJson(report)].join('')).toBe(`${JSON.stringify(report, null, 2)}\n`);
  });

  it('of one request is this page', async () => {
    const report = reportOf(archiveOf(1));
    const page = reportPage(report);
    checkPage(page);
    // An id of a request is as large as its neighbours, on two lines.
    expect(page).toContain('.id code { display: inline-block; max-width: 19ch; white-space: normal; }');
    expect(page).not.toMatch(/\.id code \{[^}]*font-size/);
    // The style has a look of its own.
    await expect(page.replace(/<style>.*<\/style>/s, '<style></style>')).toMatchFileSnapshot(
      '../golden/audit-report.html',
    );
  });

  describe('of 500 requests', () => {
    let archive: Archive;
    let report: AuditReport;
    beforeAll(() => {
      const folder = mkdtempSync(join(tmpdir(), 'mirror-audit-'));
      archive = writeArchive(folder, 500);
      report = reportOf(archive);
      return () => {
        archive.db.close();
        rmSync(folder, { recursive: true });
      };
    });

    it('counts each of them once, by state and by month', () => {
      const { totals, byState, byMonth } = report;
      const sum = (counts: readonly number[]): number => counts.reduce((all, count) => all + count, 0);
      expect(totals).toMatchObject({ received: 500, late: 10, overdue: 1, held: 2, attention: 1, refused: 17 });
      expect(totals.complete + totals.open + totals.refused + totals.cancelled).toBe(500);
      expect(sum(Object.values(byState))).toBe(500);
      expect(sum(byMonth.map((month) => month.totals.received))).toBe(500);
      expect(report.refusedFor).toEqual({ unknown_subject: 17 });
      expect(report.heldFor).toEqual({ shared_identifier: 2 });
      expect(report.fence.hits).toBeGreaterThan(0);
      expect(report.fence.recreated).toBeGreaterThan(0);
    });

    it('is one page, which names each of them and leads to each certificate', () => {
      const page = reportPage(report, 'certificates/');
      checkPage(page);
      for (const { request, certificate } of report.requests)
        expect(page.includes(`href="certificates/${request}-g1.json"`)).toBe(certificate !== null);
      expect(report.requests.filter(({ request }) => !page.includes(request))).toEqual([]);
      expect(page).toContain('2026-08-14, overdue');
      expect(page.length).toBeLessThan(1_500_000);
    });

    it('is written as JSON request by request', () => {
      const pieces = [...reportJson(report)];
      expect(pieces.join('')).toBe(`${JSON.stringify(report, null, 2)}\n`);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(20_000);
    });

    it('has a row of CSV for each target', () => {
      const rows: Record<string, string>[] = parse(reportCsv(report), { columns: true });
      const expected = report.requests.reduce((sum, { targets }) => sum + Math.max(1, targets.length), 0);
      expect(rows).toHaveLength(expected);
      expect(new Set(rows.map((row) => row['request'])).size).toBe(500);
      expect(rows.some((row) => row['late'] === 'yes')).toBe(true);
    });

    it('of a period has the requests received on its days, first and last included', () => {
      const [first, last] = ['2026-08-01', '2026-08-31'];
      const august = reportOf(archive, { from: first, to: last });
      const days = report.requests.map(({ receivedAt }) => receivedAt.slice(0, 10));
      expect(august.totals.received).toBe(days.filter((day) => day >= first && day <= last).length);
      expect(august.byMonth.map(({ month }) => month)).toEqual(['2026-08']);
      expect(august.earlierOpen).toBe(1);
      expect(august.datedAheadOpen).toBe(0);
    });

    it('counts those as open that a clock ahead has dated later than the report, and as overdue in its period', () => {
      const nowMs = Date.parse('2026-08-31T12:00:00.000Z');
      const open = report.requests.filter(({ completedAt, endedAt }) => completedAt === null && endedAt === null);
      const { length } = open.filter(({ receivedAt }) => receivedAt > '2026-09');
      expect(length).toBeGreaterThan(0);
      const inAugust = reportOf(archive, {}, nowMs);
      expect(inAugust.datedAheadOpen).toBe(length);
      const whole = reportOf(archive, { to: '2026-12-31' }, nowMs);
      expect([whole.datedAheadOpen, whole.totals.overdue - inAugust.totals.overdue]).toEqual([0, length]);
    });
  });
});

describe('the answer of a report', () => {
  const none = { received: 3, complete: 3, open: 0, late: 0, overdue: 0, reopened: 0, held: 0, attention: 0 };
  const good = {
    totals: { ...none, refused: 0, cancelled: 0, unproved: 0 },
    access: { received: 0, answered: 0, cancelled: 0, open: 0, overdue: 0, late: 0 },
    fence: { entries: 0, hits: 0, recreated: 0, lastHitAt: null },
    differences: [] as string[],
    earlierOpen: 0,
    datedAheadOpen: 0,
  };
  const totals = (more: Partial<typeof good.totals>) => ({ ...good, totals: { ...good.totals, ...more } });

  it.each([
    ['All is done in time: 3 of 3 requests complete.', good],
    ['All is in time: 2 of 3 requests complete, 1 under way, none of them overdue.', totals({ complete: 2, open: 1 })],
    ['All is done in time: 2 of 3 requests complete, 1 refused.', totals({ complete: 2, refused: 1 })],
    ['Not all went as it should: 1 ended by age and unproved.', totals({ complete: 2, unproved: 1 })],
    ['No request to erase a person was received in this period.', totals({ received: 0, complete: 0 })],
    ['Not all went as it should: 1 ended late, 2 opened again.', totals({ late: 1, reopened: 2 })],
    ['Not all is done: 1 overdue; a person is needed: 1 request held for approval.', totals({ overdue: 1, held: 1 })],
    [
      'Not all is done: a person is needed: 2 identifiers of erased people that the service has again.',
      { ...good, fence: { ...good.fence, recreated: 2 } },
    ],
    [
      'Not all is done: a person is needed: 1 difference between mirror.db and the ledger.',
      { ...good, differences: ['x'] },
    ],
    ['Not all is done: 2 requests for access overdue.', { ...good, access: { ...good.access, overdue: 2 } }],
    ['Not all went as it should: 4 from before this period still open.', { ...good, earlierOpen: 4 }],
    ['Not all is done: 1 still open, dated later than this report.', { ...good, datedAheadOpen: 1 }],
  ])('is: %s', (says, report) => {
    expect(reportAnswer(report)).toMatchObject({
      says,
      isGood: says.startsWith('All') || says.startsWith('No request'),
    });
  });
});

it('a report follows the ledger, and names what mirror.db says otherwise', () => {
  const archive = archiveOf(30);
  const before = reportOf(archive);
  expect(before.differences).toEqual([]);
  const open = before.requests.find(({ state }) => state === 'awaiting_upstream');
  archive.db.prepare(`UPDATE erasure_requests SET state = 'sealed' WHERE id = ?`).run(open?.request);
  archive.db.prepare(`DELETE FROM fence`).run();
  const after = reportOf(archive);
  expect(after.byState).toEqual(before.byState);
  expect(after.totals).toEqual(before.totals);
  expect(after.differences).toContain(
    `mirror.db, table erasure_requests: request ${open?.request} is ended and sealed; the ledger says erased here, waiting for the service`,
  );
  expect(after.differences.some((sentence) => sentence.startsWith('mirror.db, table fence'))).toBe(true);
  const page = reportPage(after);
  checkPage(page);
  for (const sentence of after.differences) expect(page).toContain(sentence);
  expect(page).not.toContain('Nothing waits for a person');
});

it('a request in attention is so until the target that needed it goes on', () => {
  const history = (more: readonly LedgerRecord[]) => {
    const histories = collectHistories();
    for (const [seq, record] of [...lifeOf(1, 1).slice(0, 5).flat(), ...more].entries())
      histories.take({ ...record, seq, at: '2026-11-20T12:00:00.000Z' });
    return histories.of(requestId(1));
  };
  const about = { request: requestId(1), generation: 1 };
  const attention = { type: 'attention', ...about, target: 'upstream.person', reason: 'outcome_unknown' } as const;
  const result = {
    type: 'result' as const,
    requests: [requestId(1)],
    result: 'absent' as const,
    assurance: 'observed' as const,
  };
  expect(history([attention])).toMatchObject({ state: 'attention', reason: 'outcome_unknown' });
  expect(history([attention, { ...result, target: 'mirror' }])?.state).toBe('attention');
  expect(history([attention, { ...result, target: 'upstream.person' }])).toMatchObject({
    state: 'fenced',
    reason: null,
  });
  expect(history([attention, { type: 'locally_verified', ...about }])?.state).toBe('attention');
});

describe('consumers', () => {
  const acknowledge = ({ db, settings, dataDir }: Archive, id: string, consumer: string, note?: string) => {
    const clock = { now: () => archiveNowMs, sleep: () => Promise.resolve() };
    const ledger = openLedger(dataDir, clock);
    return acknowledgeRequest({ db, settings, clock, ledger: () => ledger }, id, { consumer, note });
  };

  it('that have acknowledged, and those that have not, are in the report, its CSV and its page', () => {
    const archive = archiveOf(1);
    const [{ request } = { request: '' }] = reportOf(archive).requests;
    for (let again = 0; again < 2; again += 1) acknowledge(archive, request, 'warehouse', 'TICKET-840');
    const recorded = [...readLedger(archive.dataDir).entries()].filter(({ type }) => type === 'acknowledged');
    expect(recorded).toMatchObject([
      { consumer: 'warehouse', note: expect.stringMatching(/^[0-9a-f]{64}$/) as string },
    ]);
    const report = reportOf(archive);
    expect(report.requests[0]?.acknowledgements).toEqual([
      { consumer: 'crm-team', acknowledgedAt: null },
      { consumer: 'warehouse', acknowledgedAt: new Date(archiveNowMs).toISOString() },
    ]);
    const [row] = parse(reportCsv(report), { columns: true }) as Record<string, string>[];
    expect(row).toMatchObject({ acknowledged_by: 'warehouse', not_acknowledged_by: 'crm-team' });
    expect(reportPage(report)).toContain('warehouse: for 1 of 1 request.');
  });

  it('have on the ledger what was seen of their tables, after the certificate where others are covered', () => {
    const archive = archiveOf(1);
    const { db, settings, dataDir } = archive;
    const [{ request } = { request: '' }] = reportOf(archive).requests;
    const clock = { now: () => archiveNowMs, sleep: () => Promise.resolve() };
    const ledger = openLedger(dataDir, clock);
    const see = (tables: string[], not_covered: string[]): number => {
      const attestation = { seen: { assurance: 'observed' as const, tables, not_covered }, epoch: 99 };
      acknowledgeRequest({ db, settings, clock, ledger: () => ledger }, request, {
        consumer: 'warehouse',
        attestation,
      });
      return [...ledger.entries()].filter(({ type }) => type === 'acknowledged').length;
    };
    expect(ledger.histories.of(request)?.certified).toHaveLength(1);
    const both = ['a', 'b'];
    expect([see(['a'], []), see(['a'], ['tmp']), see(both, ['tmp']), see(both, ['b1']), see(['a'], [])]).toEqual([
      1, 1, 2, 2, 3,
    ]);
    ledger.append([{ type: 'reopened', request, generation: 2, reason: 'recreated' }]);
    ledger.append([{ type: 'fenced', request, generation: 2, epoch: 2 }]);
    expect([see(['a'], []), see(['a'], []), see(['a'], ['tmp'])]).toEqual([4, 4, 5]);
  });

  it('that the ledger names may acknowledge though the settings name them no more, and are counted until they do', () => {
    const archive = archiveOf(1);
    const [{ request } = { request: '' }] = reportOf(archive).requests;
    const ledger = openLedger(archive.dataDir, { now: () => archiveNowMs, sleep: () => Promise.resolve() });
    ledger.append([{ type: 'locally_verified', request, generation: 1, consumers: ['lake', 'warehouse'] }]);
    const count = (days: number, later: number) =>
      countUnacknowledged(readLedger(archive.dataDir).histories.all(), archiveNowMs + later * 86_400_000, days);
    expect([count(30, 29), count(30, 31), count(90, 31)]).toEqual([0, 1, 0]);
    expect(reportOf(archive).requests[0]?.acknowledgements.map(({ consumer }) => consumer)).toContain('lake');
    acknowledge(archive, request, 'warehouse');
    expect(count(30, 31)).toBe(1);
    acknowledge(archive, request, 'lake');
    expect(count(30, 31)).toBe(0);
  });

  it('of another name, with words for a note, or of a request of which nothing is erased are refused', () => {
    const archive = archiveOf(40);
    const { requests } = reportOf(archive);
    const fenced = requests.find(({ fencedAt }) => fencedAt !== null);
    const unfenced = requests.find(({ fencedAt }) => fencedAt === null);
    const refused = { code: 'usage' };
    const { size } = readLedger(archive.dataDir).head();
    expect(() => acknowledge(archive, fenced?.request ?? '', 'ann-jones')).toThrow(expect.objectContaining(refused));
    expect(() => acknowledge(archive, fenced?.request ?? '', 'warehouse', 'asked Ann')).toThrow(
      expect.objectContaining(refused),
    );
    expect(() => acknowledge(archive, unfenced?.request ?? '', 'warehouse')).toThrow(expect.objectContaining(refused));
    expect(readLedger(archive.dataDir).head().size).toBe(size);
    expect(unfenced?.acknowledgements).toEqual([]);
  });
});

describe('the CSV', () => {
  it('has no cell that a spreadsheet takes for a formula', () => {
    const report = reportOf(archiveOf(1));
    const [request] = report.requests;
    if (!request) throw new Error('no request');
    const evil = ['=1+1', '+1', '-1', '@SUM(A1)', '\tx', '\rx', '"=1"', ' =1'];
    for (const text of evil) {
      const csv = reportCsv({ requests: [{ ...request, basis: text, reason: text }] });
      const rows: Record<string, string>[] = parse(csv, { columns: true });
      const expected = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      for (const row of rows) expect([row['basis'], row['reason']]).toEqual([expected, expected]);
      expect(rows.length).toBeGreaterThan(0);
    }
  });
});

describe('pages', () => {
  it('show markup in what they are given as text', () => {
    const report = reportOf(archiveOf(1));
    const [request] = report.requests;
    if (!request) throw new Error('no request');
    const page = reportPage({
      ...report,
      requests: [{ ...request, reason: '<script>alert(1)</script>"x"' }],
      heldFor: { '<img src=x>': 1 },
    });
    checkPage(page);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;x&quot;');
  });

  it('of a certificate say what was done, then what was not, then how sure that is, and have the limits last', () => {
    const { dataDir } = archiveOf(1);
    const ledger = readLedger(dataDir);
    const found = findCertificate({ dataDir, ...issuing }, ledger, requestId(1).slice(0, 8));
    const page = certificatePage(found, bundleText(dataDir, ledger, found));
    checkPage(page);
    const titles = [...page.matchAll(/<h2[^>]*>(.*?)<\/h2>/g)].map(([, title]) => title);
    expect(titles.slice(0, 5)).toEqual([
      'What was done, target by target',
      'Not reached',
      'How sure this is',
      'How the erasure in our copy was proved',
      'Limits: what this does not prove',
    ]);
    // On paper each sheet says which it is.
    expect(page).toContain(`content: 'Request ${requestId(1)}'`);
    for (const { says } of certificateWords(found.certificate).notProven)
      expect(page).toContain(says.replaceAll("'", '&#39;'));
    expect(page).toContain(found.sha256);
  });
});

it('a certificate whose file is gone is made anew from the ledger, and one that was changed is refused', () => {
  const { dataDir } = archiveOf(1);
  const find = () => findCertificate({ dataDir, ...issuing }, readLedger(dataDir), requestId(1));
  const { text } = find();
  const path = certificatePath(dataDir, requestId(1), 1);
  expect(readFileSync(path, 'utf8')).toBe(text);
  rmSync(path);
  expect(find().text).toBe(text);
  const later = { ...issuing, audit: { ...issuing.audit, controller: { name: 'another', contact: null } } };
  expect(() => findCertificate({ dataDir, ...later }, readLedger(dataDir), requestId(1))).toThrow('is gone');
  writeFileSync(path, text.replace('"is_late":false', '"is_late":true'));
  expect(find).toThrow('is not the one on the ledger');
});
