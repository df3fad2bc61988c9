import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { evidences } from '../../../src/ledger/vocabulary.ts';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { certificateWords } from '../../../docs/verifier/certificate-words.mjs';
import { readKnownFile } from '../../../src/erasure/scan/known-formats.ts';
import { sha256 } from '../../../src/core/digest.ts';
import { Certificate, certificateText, readCertificate } from '../../../src/erasure/proof/certificate.ts';
import { deriveCertificate } from '../../../src/erasure/proof/derive-certificate.ts';
import { certificatePath, issueCertificate, renewVerifierPage } from '../../../src/erasure/proof/certificate-file.ts';
import { isVerifierPage } from '../../../src/ledger/verify.ts';
import { readHistories } from '../../../src/ledger/histories.ts';
import type { RequestHistory } from '../../../src/ledger/request-history.ts';
import { openLedger, type Ledger } from '../../../src/ledger/ledger.ts';
import { type LedgerRecord } from '../../../src/ledger/record.ts';
import { issuing, lifeOf, plantKeys, requestId, stated, tickingClock } from '../../ledger/ledger-fixture.ts';
import { freshFolder } from '../../mirror/open-test-mirror.ts';

const id = requestId(1);
const around = { ledgerOrigin: 'analytics-mirror/0123456789abcdef', stated };

/** A ledger with the first steps of a request's life, all before its certificate, and whatever else. */
function ledgerOf(more: readonly LedgerRecord[] = [], steps = 15): { dataDir: string; ledger: Ledger } {
  const dataDir = freshFolder();
  plantKeys(dataDir);
  const ledger = openLedger(dataDir, tickingClock());
  for (const records of lifeOf(1, 1).slice(0, steps)) ledger.append(records);
  ledger.append(more);
  return { dataDir, ledger };
}

function historyOf({ ledger }: { ledger: Ledger }): RequestHistory {
  const history = readHistories(ledger.entries()).of(id);
  if (!history) throw new Error('no history');
  return history;
}

function certificateOf(from: { ledger: Ledger }): Certificate {
  const certificate = deriveCertificate(historyOf(from), around);
  if (!certificate) throw new Error('no certificate');
  return certificate;
}

describe('a certificate', () => {
  it('says what the ledger says, and what that does not prove', async () => {
    const text = JSON.stringify(certificateOf(ledgerOf()), null, 2);
    await expect(`${text}\n`).toMatchFileSnapshot('../../golden/certificate.json');
  });

  it('says of each scan for how many texts there was no room, and nothing where there was for all', () => {
    const { scan } = certificateOf(ledgerOf());
    expect(scan.verify.left_out).toBe(2);
    expect(scan.control).not.toHaveProperty('left_out');
  });

  it('counts a target that was kept, or is still there, as not reached, and says so in its summary', () => {
    const target = 'upstream.events';
    const toldOf = (
      result: 'kept' | 'still_present' | 'confirmed',
      on: typeof target | 'upstream.playlists' = target,
    ) => {
      const assurance = result === 'confirmed' ? 'asserted_by_upstream' : 'observed';
      const told = certificateOf(ledgerOf([{ type: 'result', requests: [id], target: on, result, assurance }]));
      return { ...told, ...certificateWords(told) };
    };
    expect(toldOf('kept')).toMatchObject({
      weakest_assurance: 'not_reached',
      summary: 'Erased in our copy on 2026-11-20; deleted at the service on 2026-11-20; events kept, as requested.',
      targets: expect.arrayContaining([
        expect.objectContaining({ target, result: 'kept', assurance: 'not_reached' }),
      ]) as object,
      statements: expect.arrayContaining([expect.stringMatching(/^NOT STATED: .*which exception/)]) as object,
    });
    expect(toldOf('still_present', 'upstream.playlists')).toMatchObject({
      weakest_assurance: 'not_reached',
      summary: expect.stringContaining('; not everything reached;') as string,
      notProven: expect.arrayContaining([
        // The person is deleted, and only the entry in a playlist is there: as may be before the time of the request is over.
        expect.objectContaining({
          target: 'upstream.playlists',
          says: expect.not.stringMatching(/the person|the time/) as string,
        }),
        // A lost mirror.db takes its list of deletions along.
        expect.objectContaining({
          says: expect.stringContaining('unless the database of this program is lost') as string,
        }),
      ]) as object,
    });
    expect(toldOf('confirmed')).toMatchObject({ weakest_assurance: 'asserted_by_upstream' });
    expect(toldOf('confirmed').not_proven).not.toContain('wait_dropped');
  });

  it('says how it was decided, by the last that was stated of each; and first of all what nobody stated', () => {
    const about = { request: id, generation: 1, basis: 'objection' } as const;
    const first = { decided_by: 'support', identity: 'logged_in' } as const;
    const told = certificateOf(
      ledgerOf([
        { type: 'amended', ...about, ...first },
        { type: 'amended', ...about, decided_by: 'legal_team' },
      ]),
    );
    expect(told).toMatchObject({ decided_by: 'legal_team', identity: 'logged_in' });
    expect(told).not.toHaveProperty('exception');
    const words = certificateWords(told).statements;
    expect(words[0]).toBe("NOT STATED: until when the operator's backups can hold the person.");
    expect(words).toContain('Decided by: the legal team, as the operator says.');
    expect(words).toContain('Identity: the person was logged in to the account, as the operator says.');
    const whole = { ...told, stated: { ...stated, backups_until: '2027-01-31T00:00:00.000Z' } };
    expect(certificateWords(whole).statements[0]).toMatch(/^Legal ground/);
    expect(certificateWords(whole).notProven.map(({ until }) => until)).toContain('2027-01-31T00:00:00.000Z');
    expect(certificateWords(certificateOf(ledgerOf())).statements[0]).toBe(
      "NOT STATED: who decided; how the identity of the person was checked; until when the operator's backups can hold the person.",
    );
  });

  it('says when this program had deleted the person, where a restored mirror found that person gone', () => {
    const gone = { target: 'upstream.person', result: 'already_absent', assurance: 'observed' } as const;
    const told = certificateOf(
      ledgerOf([
        { type: 'reopened', request: id, generation: 2, reason: 'restored' },
        { type: 'result', requests: [id], ...gone },
        { type: 'scan', requests: [id], phase: 'verify', files: 9, bytes: 4000, needles: 30, hits: 0 },
        { type: 'locally_verified', request: id, generation: 2 },
      ]),
    );
    expect(told).toMatchObject({ deleted_upstream_at: '2026-11-20T12:00:11.000Z' });
    expect(certificateWords(told).summary).toMatch(
      /; deleted at the service on 2026-11-20;.*events, due by 2026-11-23, not waited for/,
    );
  });

  it('gives a scan the id of its request, and nothing of what the operator states', () => {
    const place = 'reports/certificates/x.json';
    const path = join(freshFolder(), 'x.json');
    const certificate = certificateOf(ledgerOf());
    const origin = `analytics-mirror/${'0'.repeat(32)}`;
    writeFileSync(path, certificateText({ ...certificate, ledger: { ...certificate.ledger, origin } }));
    expect(readKnownFile({ path, place })).toEqual({ texts: [], values: [id] });
  });

  it('lies beside the page of the verifier, whose words are of nobody, unless a byte of it is changed', () => {
    const place = 'reports/verify.html';
    const path = join(freshFolder(), 'verify.html');
    const page = readFileSync(new URL('../../../docs/verifier/verify.html', import.meta.url), 'utf8');
    writeFileSync(path, page);
    expect(readKnownFile({ path, place })).toEqual({ texts: [], values: [] });
    writeFileSync(path, page.replace('Verifier', 'Ann'));
    expect(readKnownFile({ path, place })).toBeUndefined();
  });

  it('has the page beside it replaced where it is of another version, and none written where there is none', () => {
    const dataDir = freshFolder();
    const path = join(dataDir, 'reports/verify.html');
    renewVerifierPage({ settings: { dataDir } } as never);
    expect(existsSync(path)).toBe(false);
    mkdirSync(join(path, '..'));
    writeFileSync(path, 'an older page');
    renewVerifierPage({ settings: { dataDir } } as never);
    expect(isVerifierPage(readFileSync(path))).toBe(true);
  });

  it('has the weakest assurance first', () => {
    const { targets, weakest_assurance: weakest } = certificateOf(ledgerOf());
    const order = targets.map(({ assurance }) => evidences.indexOf(assurance));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(targets.map(({ assurance }) => assurance)).toContain('verified');
    expect(weakest).toBe('not_verifiable');
  });

  it('names each target that is not verified as not proven, and all that never is', () => {
    const certificate = certificateOf(
      ledgerOf([
        {
          type: 'result',
          requests: [id],
          target: 'upstream.recordings',
          result: 'not_deletable_via_api',
          assurance: 'not_verifiable',
        },
      ]),
    );
    const below = certificate.targets.filter(({ assurance }) => assurance !== 'verified');
    expect(certificateWords(certificate).notProven.map(({ target }) => target)).toEqual([
      ...below.map(({ target }) => target),
      ...certificate.not_proven.map(() => null),
    ]);
    expect(below[0]?.target).toBe('upstream.recordings');
    expect(certificate.not_proven).toEqual([
      'wait_dropped',
      'service_event_store',
      'service_backups',
      'downstream_copies',
      'operator_backups',
      'block_device',
    ]);
  });

  it('tells recordings whose deletion was requested from those that nothing can delete', () => {
    const target = 'upstream.recordings';
    const from = ledgerOf([
      { type: 'intent', requests: [id], target },
      { type: 'result', requests: [id], target, result: 'deletion_requested', assurance: 'asserted_by_upstream' },
    ]);
    const told = certificateWords(certificateOf(from)).notProven.find((item) => item.target === target);
    expect(told?.says).toContain('was asked to delete the session recordings');
    expect(certificateOf(from).targets.find((one) => one.target === target)?.result).toBe('deletion_requested');
  });

  it('is the same after its own words are on the ledger, and whatever else happens there', () => {
    const before = certificateText(certificateOf(ledgerOf()));
    const certified = { type: 'certified', request: id, generation: 1, certificate: 'd'.repeat(64) } as const;
    const later = ledgerOf([certified, certified, ...lifeOf(2, 2).slice(0, 5).flat()]);
    expect(certificateText(certificateOf(later))).toBe(before);
  });

  it('is late when the last of its targets was reached after it was due', () => {
    const history = historyOf(ledgerOf());
    const events = history.targets.get('upstream.events');
    if (!events) throw new Error('no such target');
    const reachedAt = (endedAt: string): Certificate | undefined => {
      const targets = new Map(history.targets).set('upstream.events', { ...events, endedAt });
      return deriveCertificate({ ...history, targets }, around);
    };
    expect(reachedAt(history.dueAt)).toMatchObject({ is_late: false, days: 30 });
    expect(reachedAt('2026-12-20T12:00:02.000Z')).toMatchObject({ is_late: true, days: 31 });
  });

  it.each([
    ['nothing is fenced', 4],
    ['no scan has found nothing', 11],
    ['it is not proved gone', 12],
  ])('is not made while %s', (_what, steps) => {
    expect(deriveCertificate(historyOf(ledgerOf([], steps)), around)).toBeUndefined();
  });

  it('takes no free text, and is read in its one spelling only', () => {
    const certificate = certificateOf(ledgerOf());
    const text = certificateText(certificate);
    expect(readCertificate(text)).toEqual(certificate);
    expect(readCertificate(`${text}\n`)).toBeUndefined();
    expect(Certificate.safeParse({ ...certificate, note: 'ann@example.com' }).success).toBe(false);
    expect(Certificate.safeParse({ ...certificate, basis: 'ann@example.com' }).success).toBe(false);
    expect(Certificate.safeParse({ ...certificate, not_proven: ['ann@example.com'] }).success).toBe(false);
    expect(Certificate.safeParse({ ...certificate, not_proven: [] }).success).toBe(false);
  });
});

describe('issuing a certificate', () => {
  const issuerOf = ({ dataDir, ledger }: ReturnType<typeof ledgerOf>, feedRetentionDays = 30) =>
    issueCertificate.bind(undefined, {
      ledger: () => ledger,
      settings: { dataDir, ...issuing, erasure: { feedRetentionDays } },
    } as never);
  const request = { id, generation: 1 };

  it('writes it for its owner only, and says the SHA-256 of its bytes', () => {
    const place = ledgerOf();
    const path = certificatePath(place.dataDir, id, 1);
    const digest = issuerOf(place)(request);
    expect(digest).toBe(sha256(readFileSync(path, 'utf8')));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readCertificate(readFileSync(path, 'utf8'))?.ledger.origin).toMatch(/^analytics-mirror\/[0-9a-f]{32}$/);
  });

  it('issues the same again after a kill, before and after the word on the ledger', () => {
    const place = ledgerOf();
    const digest = issuerOf(place)(request);
    expect(issuerOf(place)(request)).toBe(digest);
    place.ledger.append([{ type: 'certified', request: id, generation: 1, certificate: digest }]);
    expect(issuerOf(place)(request)).toBe(digest);
  });

  it('replaces a file that the ledger does not vouch for', () => {
    const place = ledgerOf();
    const digest = issuerOf(place)(request);
    const path = certificatePath(place.dataDir, id, 1);
    writeFileSync(path, 'half a certif');
    expect(issuerOf(place)(request)).toBe(digest);
    expect(sha256(readFileSync(path, 'utf8'))).toBe(digest);
  });

  it('never replaces one that is on the ledger, also where it would be another one now', () => {
    const place = ledgerOf();
    const digest = issuerOf(place)(request);
    place.ledger.append([{ type: 'certified', request: id, generation: 1, certificate: digest }]);
    expect(issuerOf(place, 7)(request)).toBe(digest);
    expect(sha256(readFileSync(certificatePath(place.dataDir, id, 1), 'utf8'))).toBe(digest);
  });

  it('issues none where the ledger does not tell everything, or of another generation', () => {
    const place = ledgerOf([], 11);
    expect(issuerOf(place)(request)).toBeNull();
    expect(issuerOf(ledgerOf())({ id, generation: 2 })).toBeNull();
    expect(existsSync(certificatePath(place.dataDir, id, 1))).toBe(false);
  });
});
