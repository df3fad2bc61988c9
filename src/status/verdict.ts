import type { AlertKind, Overview, ProjectOverview } from './overview.ts';

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

/** What each alert is called, how bad it is, and what to do about it. */
const alertWords: Readonly<Record<AlertKind, { tone: Tone; title: string; todo: string }>> = {
  ledger_unwritable: {
    tone: 'broken',
    title: 'The ledger cannot be written',
    todo: 'Nobody is erased until it can. Check the disk and the owner of the folder ledger/, then run `analytics-mirror doctor`.',
  },
  disk_low: {
    tone: 'broken',
    title: 'The disk is nearly full',
    todo: 'Free some space on the disk of the data folder, or keep fewer snapshots (`export.keep`).',
  },
  unopened: {
    tone: 'broken',
    title: 'The data folder cannot be used',
    todo: 'Run `analytics-mirror doctor`: it says why, and what to do.',
  },
  overdue: {
    tone: 'broken',
    title: 'Requests are past their due date',
    todo: 'See `analytics-mirror erase list`, and `erase show ID` for what each of them waits for.',
  },
  attention: {
    tone: 'attention',
    title: 'Requests need a person',
    todo: 'See `analytics-mirror erase list`; `erase show ID` says what to do for each.',
  },
  held: {
    tone: 'attention',
    title: 'Something waits for your approval',
    todo: 'See `analytics-mirror erase list` and `reconcile --dry-run`; then `erase approve ID`, or `reconcile --approve PLAN`.',
  },
  stale: {
    tone: 'attention',
    title: 'Data is getting old',
    todo: 'See the runs of the job below; if they fail, run `analytics-mirror doctor`.',
  },
  failing: {
    tone: 'attention',
    title: 'A job keeps failing',
    todo: 'Run `analytics-mirror doctor`: it checks configuration, key, scopes, disk and files.',
  },
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

function reasonsOf({ name, alerts, content }: ProjectOverview): Reason[] {
  const reasons = alerts.map(({ kind, message }): Reason => {
    const { tone, title, todo } = alertWords[kind];
    return { tone, title, message, todo, project: name };
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
