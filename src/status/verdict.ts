import type { AlertKind } from '../config/settings.ts';
import type { Overview, ProjectOverview } from './overview.ts';

/** How well things are: `new` before anything was mirrored. */
export type Tone = 'well' | 'new' | 'attention' | 'broken';

/** One thing that keeps a project from being well. */
export type Reason = {
  tone: Tone;
  /** What it is, in a few words. */
  title: string;
  /** What is so. */
  message: string;
  todo: string;
  project: string;
};

/** The answer to "is everything all right?": one sentence, and what speaks against it, the worst first. */
export type Verdict = { tone: Tone; sentence: string; reasons: Reason[] };

const tones: readonly Tone[] = ['well', 'new', 'attention', 'broken'];

/** What each alert is called, and how bad it is. */
const alertTitles: Readonly<Record<AlertKind, [tone: Tone, title: string]>> = {
  ledger_unwritable: ['broken', 'The ledger cannot be written'],
  disk_low: ['broken', 'The disk is nearly full'],
  unopened: ['broken', 'The data folder cannot be used'],
  damaged: ['broken', 'Published files are damaged'],
  overdue: ['broken', 'Requests are past their due date'],
  attention: ['attention', 'Requests need a person'],
  held: ['attention', 'Something waits for your approval'],
  stale: ['attention', 'Data is getting old'],
  failing: ['attention', 'A job keeps failing'],
};

/** Judges everything. */
export function judge({ projects }: Overview): Verdict {
  const reasons = projects
    .flatMap(reasonsOf)
    .toSorted((a, b) => tones.indexOf(b.tone) - tones.indexOf(a.tone));
  const [worst] = reasons;
  const isNew = projects.every(
    ({ content }) => !content || content.lists.every(({ state }) => state === 'never'),
  );
  const tone = worst?.tone ?? (isNew ? 'new' : 'well');
  return { tone, sentence: sentenceOf(tone, reasons), reasons };
}

/** Judges one project. */
export function judgeProject(project: ProjectOverview): Verdict {
  return judge({ at: '', version: '', startedAt: '', projects: [project] });
}

function sentenceOf(tone: Tone, [first, ...more]: readonly Reason[]): string {
  if (tone === 'new') return 'Nothing is mirrored yet';
  if (!first) return 'All is well';
  return more.length === 0 ? first.title : `${first.title}, and ${more.length} more`;
}

function reasonsOf({ name, alerts, problem, content }: ProjectOverview): Reason[] {
  const reasons = alerts.map(({ kind, message, todo }): Reason => {
    const [tone, title] = alertTitles[kind];
    return { tone, title, message, todo, project: name };
  });
  // Found by the page itself: the worker has not come to it yet.
  if (problem !== null && !alerts.some(({ kind }) => kind === 'unopened'))
    reasons.push({
      tone: 'broken',
      title: 'The data folder cannot be read',
      message: `what it says cannot be shown (${problem})`,
      todo: 'Run `analytics-mirror doctor`: it says why, and what to do.',
      project: name,
    });
  const staleLists = (content?.lists ?? []).filter(({ state }) => state === 'stale');
  // The jobs may be well, and their passes unable to prove that they saw everything.
  if (staleLists.length > 0 && !alerts.some(({ kind }) => kind === 'stale'))
    reasons.push({
      tone: 'attention',
      title: 'Data is getting old',
      message: `no recent complete pass of ${staleLists.map(({ dataset }) => dataset).join(', ')}`,
      todo: 'See the passes below: the newest one says why it could not prove that it saw everything.',
      project: name,
    });
  if (content?.snapshots === null)
    reasons.push({
      tone: 'broken',
      title: 'Snapshots cannot be read',
      message: 'a manifest of what is published is missing or damaged',
      todo: 'Run `analytics-mirror doctor`, then `analytics-mirror export` to publish whole files again.',
      project: name,
    });
  if (content?.ledger === 'unreadable')
    reasons.push({
      tone: 'broken',
      title: 'The ledger cannot be read',
      message: 'a file of the folder ledger/ cannot be read',
      todo: 'Run `analytics-mirror audit verify`.',
      project: name,
    });
  return reasons;
}

/** Whether the mirror may be relied on, and every reason against it. Holds no personal data. */
export type Readiness = { ready: boolean; reasons: string[] };

/** A worker is ready when every project is fresh, has disk space left and can write its ledger. */
export function readinessOf({ projects }: Overview): Readiness {
  const reasons = projects.flatMap((project) =>
    notReadyFor(project).map((reason) => `${project.name}: ${reason}`),
  );
  return { ready: reasons.length === 0, reasons };
}

function notReadyFor({ content, condition, problem }: ProjectOverview): string[] {
  if (problem !== null) return [`the data folder cannot be used (${problem})`];
  if (content === null) return ['nothing is mirrored yet'];
  return [
    ...content.lists.flatMap(({ dataset, state }) =>
      state === 'fresh'
        ? []
        : [state === 'stale' ? `${dataset} is stale` : `${dataset} was never seen as a whole`],
    ),
    ...(condition !== null && condition.diskFreeBytes < condition.diskFreeBytesMin
      ? ['the disk is nearly full']
      : []),
    ...(condition !== null && !condition.isLedgerWritable ? ['the ledger cannot be written'] : []),
  ];
}
