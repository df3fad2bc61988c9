import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { alertTable } from '../../src/config/alert-kinds.ts';
import { metricCatalogue } from '../../src/status/metric-catalogue.ts';
import { metricsText, processMetrics } from '../../src/status/metrics.ts';
import { worlds } from './worlds.ts';

/** Every sample of a text in Prometheus's format, by its name and labels. */
function samplesOf(text: string): Map<string, number> {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line): [string, number] => {
        const end = line.lastIndexOf(' ');
        return [line.slice(0, end), Number(line.slice(end + 1))];
      }),
  );
}

async function allNames(): Promise<Set<string>> {
  const text = `${await metricsText(worlds.cluster)}${await processMetrics()()}`;
  return new Set(Array.from(text.matchAll(/^# TYPE (\S+)/gm), ([, name]) => name ?? ''));
}

test('every metric of the catalogue has its type, its help and its samples', async () => {
  const [project] = worlds.cluster.projects;
  const text = await metricsText({ ...worlds.fresh, projects: [project] });
  for (const { name, help } of metricCatalogue) {
    expect(text).toContain(`# TYPE ${name} ${name.endsWith('_total') ? 'counter' : 'gauge'}`);
    expect(text).toContain(`# HELP ${name} ${help}`);
    expect(text).toMatch(new RegExp(`^${name}\\{.*project="production".*\\} `, 'm'));
  }
});

test('values are those of the overview', async () => {
  const samples = samplesOf(await metricsText(worlds['two projects']));
  const staging = 'project="staging with a rather long name of its own"';
  expect(samples.get('analytics_mirror_fresh{project="production",dataset="persons"}')).toBe(1);
  expect(samples.get(`analytics_mirror_fresh{${staging},dataset="persons"}`)).toBe(0);
  expect(samples.get(`analytics_mirror_alert{${staging},kind="stale"}`)).toBe(1);
  expect(samples.get('analytics_mirror_alert{project="production",kind="stale"}')).toBe(0);
  expect(samples.get('analytics_mirror_erasure_requests_open{project="production"}')).toBe(3);
  expect(samples.get('analytics_mirror_runs_total{project="production",job="full",outcome="failed"}')).toBe(2);
  expect(
    samples.get(
      'analytics_mirror_budget_used_requests{project="production",lane="recordings_list",window_seconds="3600"}',
    ),
  ).toBe(117);
  expect([...samples.values()].every(Number.isFinite)).toBe(true);
});

test('of a project that another machine holds, only whether no machine works on it: its holder gives the rest', async () => {
  const samples = [...samplesOf(await metricsText(worlds.cluster))].filter(([name]) =>
    /project="(?:blog|silent)"/.test(name),
  );
  expect(samples).toEqual([
    ['analytics_mirror_alert{project="blog",kind="unattended"}', 0],
    ['analytics_mirror_alert{project="silent",kind="unattended"}', 1],
    ['analytics_mirror_project_here{project="blog"}', 0],
    ['analytics_mirror_project_here{project="silent"}', 0],
  ]);
});

test('what is not known has no sample', async () => {
  const samples = samplesOf(await metricsText(worlds.empty));
  expect([...samples.keys()].filter((name) => name.startsWith('analytics_mirror_rows'))).toEqual([]);
  expect(samples.get('analytics_mirror_disk_free_bytes{project="production"}')).toBe(81_000_000_000);
});

test('labels are the listed ones, and hold names of ours only', async () => {
  for (const world of Object.values(worlds))
    for (const project of world.projects)
      for (const { name, labels, read } of metricCatalogue)
        for (const sample of read(project)) {
          expect([name, ...Object.keys(sample.labels)]).toEqual([name, ...labels]);
          for (const value of Object.values(sample.labels)) expect(value).toMatch(/^[a-z_]+$|^\d+$/);
        }
});

/** The metrics that a text of expressions names. */
function namedIn(text: string): string[] {
  return [...new Set(text.match(/\b(?:analytics_mirror|process|nodejs)_[a-z0-9_]+/g))];
}

test.each(['docs/grafana-dashboard.json', 'docs/alerts.yaml'])('%s names only metrics that there are', async (path) => {
  const named = namedIn(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
  expect(named.length).toBeGreaterThan(7);
  const there = await allNames();
  expect(named.filter((name) => !there.has(name))).toEqual([]);
  expect(namedIn('rate(analytics_mirror_planted[5m])').filter((name) => !there.has(name))).toHaveLength(1);
});

test('the rules are whole: a name once, an expression, a severity, and what it means', () => {
  type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> };
  const { groups } = parse(readFileSync(new URL('../../docs/alerts.yaml', import.meta.url), 'utf8')) as {
    groups: { rules: Rule[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { expr, labels, annotations } of rules) {
    expect(expr).toMatch(/analytics_mirror_/);
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(Object.keys(annotations)).toEqual(['summary', 'description']);
  }
  // Requests that are overdue have a metric of their own.
  const told = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/kind=~?"([a-z_|]+)"/g)].flatMap(([, kinds]) => kinds?.split('|')),
  );
  expect(new Set([...told, 'overdue'])).toEqual(new Set(Object.keys(alertTable)));
});

test('the dashboard has no panel without a query, and none upon another', () => {
  type Panel = { title: string; gridPos: { x: number; y: number; w: number; h: number }; targets: { expr: string }[] };
  const { panels } = JSON.parse(
    readFileSync(new URL('../../docs/grafana-dashboard.json', import.meta.url), 'utf8'),
  ) as { panels: Panel[] };
  const taken = new Map<string, string>();
  for (const { title, gridPos, targets } of panels) {
    expect(targets.length).toBeGreaterThan(0);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect([title, taken.get(`${x} ${y}`)]).toEqual([title, undefined]);
        expect(x).toBeLessThan(24);
        taken.set(`${x} ${y}`, title);
      }
  }
});
