import type { AlertKind } from '../config/settings.ts';
import type { Overview, ProjectOverview } from './overview.ts';

/** The state of things in one word; `new` before anything was mirrored. */
export type Tone = 'well' | 'new' | 'attention' | 'broken';

/** A reason why a project is not well. */
export type Reason = { tone: Tone; title: string; message: string; todo: string; project: string };

/** The answer to "is everything all right?": one sentence, and the reasons against it, the worst first. */
export type Verdict = { tone: Tone; sentence: string; reasons: Reason[] };

const tones: readonly Tone[] = ['well', 'new', 'attention', 'broken'];

/** The title of each alert, and how bad it is. */
const alertTitles: Readonly<Record<AlertKind, [tone: Tone, title: string]>> = {
  ledger_unwritable: ['broken', 'The ledger cannot be written'],
  disk_low: ['broken', 'The disk is nearly full'],
  log_held: ['attention', 'A reader makes the database grow'],
  unopened: ['broken', 'The data folder cannot be used'],
  state_differs: ['broken', 'Not as the ledger says'],
  damaged: ['broken', 'Published files are damaged'],
  overdue: ['broken', 'Erasure requests are past their due date'],
  attention: ['attention', 'Erasure requests need attention'],
  held: ['attention', 'Your approval is needed'],
  stale: ['attention', 'The data are getting old'],
  failing: ['attention', 'A job keeps failing'],
};

/** Compares for sorting, the worse first. */
export function compareTones(a: Tone, b: Tone): number {
  return tones.indexOf(b) - tones.indexOf(a);
}

/** Judges all projects together. */
export function judge({ projects }: Overview): Verdict {
  const reasons = projects.flatMap(reasonsOf).toSorted((a, b) => compareTones(a.tone, b.tone));
  const [worst] = reasons;
  const isNew = projects.every(({ content }) => !content || content.lists.every(({ state }) => state === 'never'));
  const tone = worst?.tone ?? (isNew ? 'new' : 'well');
  return { tone, sentence: sentenceOf(tone, reasons), reasons };
}

/** Judges one project. */
export function judgeProject(project: ProjectOverview): Verdict {
  return judge({ at: '', version: '', startedAt: '', projects: [project] });
}

function sentenceOf(tone: Tone, reasons: readonly Reason[]): string {
  const [first, ...more] = reasons;
  if (tone === 'new') return 'Nothing is mirrored yet';
  if (!first) return 'All is well';
  if (more.length === 0) return first.title;
  return `${reasons.length} things need you. First: ${first.title.charAt(0).toLowerCase()}${first.title.slice(1)}`;
}

function reasonsOf({ name, alerts, problem, content }: ProjectOverview): Reason[] {
  const reasons: Reason[] = [];
  const add = ([tone, title]: readonly [Tone, string], message: string, todo: string): void =>
    void reasons.push({ tone, title, message, todo, project: name });
  for (const { kind, message, todo } of alerts) add(alertTitles[kind], message, todo);
  // The page itself has found this: the worker has not looked again yet.
  if (problem !== null && !alerts.some(({ kind }) => kind === 'unopened'))
    add(
      ['broken', 'The data folder cannot be read'],
      `the data folder cannot be read (${problem})`,
      'Run `analytics-mirror doctor`. It says why, and what to do.',
    );
  const staleLists = (content?.lists ?? []).filter(({ state }) => state === 'stale');
  // A job can succeed although its pass could not prove that it was complete.
  if (staleLists.length > 0 && !alerts.some(({ kind }) => kind === 'stale'))
    add(
      alertTitles.stale,
      `no recent complete pass of ${staleLists.map(({ dataset }) => dataset).join(', ')}`,
      'Look at the passes below. The newest one says why it was not complete.',
    );
  if (content?.snapshots === null)
    add(
      ['broken', 'Snapshots cannot be read'],
      'the manifest of a published snapshot is missing or damaged',
      'Run `analytics-mirror doctor`. Then run `analytics-mirror export` to publish whole files again.',
    );
  if (content?.ledger === 'unreadable')
    add(
      ['broken', 'The ledger cannot be read'],
      'a file of the folder ledger/ cannot be read',
      'Run `analytics-mirror audit verify`.',
    );
  return reasons;
}

/** Whether the mirror may be relied on, and every reason against it. Holds no personal data. */
export type Readiness = { ready: boolean; reasons: string[] };

/** A worker is ready when every project is fresh, has disk space left and can write its ledger. */
export function readinessOf({ projects }: Overview): Readiness {
  const reasons = projects.flatMap((project) => notReadyFor(project).map((reason) => `${project.name}: ${reason}`));
  return { ready: reasons.length === 0, reasons };
}

function notReadyFor({ content, condition, problem }: ProjectOverview): string[] {
  if (problem !== null) return [`the data folder cannot be used (${problem})`];
  if (content === null) return ['nothing is mirrored yet'];
  return [
    ...content.lists.flatMap(({ dataset, state }) =>
      state === 'fresh' ? [] : [state === 'stale' ? `${dataset} is stale` : `${dataset} was never seen as a whole`],
    ),
    ...(condition !== null && condition.diskFreeBytes < condition.diskFreeBytesMin ? ['the disk is nearly full'] : []),
    ...(condition !== null && !condition.isLedgerWritable ? ['the ledger cannot be written'] : []),
  ];
}
