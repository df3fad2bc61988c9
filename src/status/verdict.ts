import { alertTable, type AlertKind, type Section } from '../config/alert-kinds.ts';
import { datasets } from '../contract/datasets.ts';
import { forProject } from '../config/projects.ts';
import { capital, countText, countedText, minuteText } from '../core/words.ts';
import { serviceCauses } from '../job/service-cause.ts';
import { isHere } from '../job/worker-state.ts';
import { alertWords } from './alert-words.ts';
import type { Overview, ProjectContent, ProjectOverview } from './overview.ts';
import { progressOf, progressText } from './pass-progress.ts';

/** The state of things in one word; `new` before anything was mirrored. */
export type Tone = 'well' | 'new' | 'attention' | 'broken';

/** A reason why some projects are not well. `section` names the part of a project's page that shows more of it. */
export type Reason = { tone: Tone; title: string; message: string; todo: string; section: Section; projects: string[] };

/** The answer to "is everything all right?": one sentence, and the reasons against it, the worst first. */
export type Verdict = { tone: Tone; sentence: string; reasons: Reason[] };

/** The most projects that a reason names; where there are more, it counts them. */
export const namedMax = 5;

const tones: readonly Tone[] = ['well', 'new', 'attention', 'broken'];

/** How a page shows an alert. */
function shownAs(kind: AlertKind): readonly [tone: Tone, title: string, section: Section] {
  const { severity, title, section } = alertTable[kind];
  return [severity === 'critical' ? 'broken' : 'attention', title, section];
}

/** Compares for sorting, the worse first. */
export function compareTones(a: Tone, b: Tone): number {
  return tones.indexOf(b) - tones.indexOf(a);
}

/** Judges all projects together. */
export function judge({ at, projects }: Pick<Overview, 'at' | 'projects'>): Verdict {
  const found = [...causeReasons(projects, at), ...projects.flatMap((project) => reasonsOf(project, at))];
  const reasons = mergeAlike(found, projects.length > manyProjects).toSorted((a, b) => compareTones(a.tone, b.tone));
  const [worst] = reasons;
  const isNew = projects.every((project) =>
    isHere(project)
      ? (project.content?.lists ?? []).every(({ state }) => state === 'never')
      : project.jobs.every(({ lastSuccessAt }) => lastSuccessAt === null),
  );
  const first = firstPassText(projects, at);
  const tone = worst?.tone ?? (isNew || first !== undefined ? 'new' : 'well');
  const sentence = tone === 'new' ? (first ?? 'Nothing is mirrored yet') : sentenceOf(reasons, projects.length);
  return { tone, sentence, reasons };
}

/** Judges one project at a time (ISO 8601 UTC). */
export function judgeProject(project: ProjectOverview, at: string): Verdict {
  return judge({ at, projects: [project] });
}

/** How far the first pass of a list is and, while it is under way, how long it takes; undefined where none has begun. */
function firstPassText(projects: readonly ProjectOverview[], at: string): string | undefined {
  for (const { name, content } of projects) {
    const isFirst = (dataset: string): boolean =>
      content?.lists.some((list) => list.dataset === dataset && list.state === 'never') === true;
    const passes = (content?.passes ?? []).filter(({ dataset }) => isFirst(dataset));
    const of = projects.length > 1 ? ` of ${name}` : '';
    const running = passes.find(({ verdict }) => verdict === 'running');
    if (content && running)
      return `First pass${of}: ${progressText(progressOf(running, content.windows, at), running.dataset)}`;
    const begun = passes.find(({ verdict, rowsDistinct }) => verdict === 'unfinished' && rowsDistinct > 0);
    if (begun)
      return `First pass${of}, interrupted: ${progressText({ rows: begun.rowsDistinct, total: begun.countReported, leftMs: null }, begun.dataset)}`;
  }
  return undefined;
}

function sentenceOf(reasons: readonly Reason[], among: number): string {
  const [first, ...more] = reasons;
  if (!first) return 'All is well';
  if (among > 1) return sentenceOfSome(reasons, among);
  return more.length === 0
    ? first.title
    : `${first.title}. ${countedText(more.length, 'more thing needs', 'more things need')} you`;
}

/** How many of several projects are not well, and which, the worst first; and the cause, where all have one. */
function sentenceOfSome(reasons: readonly Reason[], among: number): string {
  const names = [...new Set(reasons.flatMap(({ projects }) => projects))];
  const more = names.length - namedMax;
  const named = names.slice(0, namedMax).join(', ');
  const some = `${countText(names.length)} of ${countText(among)} projects`;
  const [first] = reasons;
  if (first && first.projects.length === names.length) return `${first.title}: ${some}${more > 0 ? '' : ` (${named})`}`;
  const needs = names.length === 1 ? 'needs' : 'need';
  return `${some} ${needs} you: ${named}${more > 0 ? ` and ${countText(more)} more` : ''}`;
}

/** The faults of the service, each once for all projects that it touches, since its first failure. */
function causeReasons(projects: readonly ProjectOverview[], at: string): Reason[] {
  const found = projects.flatMap(({ name, jobs, alerts }) =>
    serviceCauses(jobs).flatMap((cause) => {
      const alert = alerts.find(({ kind }) => kind === cause.kind);
      return alert ? [{ cause, name, todo: forProject(alert.todo, name) }] : [];
    }),
  );
  return [...Map.groupBy(found, ({ cause }) => cause.message).values()].flatMap((same): Reason[] => {
    const [first] = same.toSorted((a, b) => (a.cause.since < b.cause.since ? -1 : 1));
    if (!first) return [];
    const { kind, message, since } = first.cause;
    const [tone, , section] = shownAs(kind);
    const title = `${capital(message)} since ${sinceText(since, at)}`;
    const stopped =
      same.length > namedMax
        ? [[...new Set(same.flatMap(({ cause }) => cause.jobs))].join(', ')]
        : same.map(({ name, cause }) => `${same.length > 1 ? `${name}: ` : ''}${cause.jobs.join(', ')}`);
    const told = { tone, title, message: `${title}. These jobs fail: ${stopped.join('; ')}`, section };
    return [{ ...told, todo: first.todo, projects: same.map(({ name }) => name) }];
  });
}

/** A time as short as it can be: without its date on the same day. */
function sinceText(iso: string, now: string): string {
  return iso.slice(0, 10) === now.slice(0, 10) ? `${iso.slice(11, 16)} UTC` : minuteText(iso);
}

/** Of more projects than these, reasons that differ in a number only become one. */
const manyProjects = 20;

/** Reasons of several projects that read alike become one. */
function mergeAlike(reasons: readonly Reason[], areMany: boolean): Reason[] {
  const alike = Map.groupBy(reasons, ({ title, message }) =>
    areMany ? `${title}\n${message.replaceAll(/\d+/g, '#')}` : `${title}\n${message}`,
  );
  return [...alike.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const differ = same.some(({ message }) => message !== first.message);
    const message = differ ? `${first.message}, or alike` : first.message;
    return [{ ...first, message, projects: same.flatMap(({ projects }) => projects) }];
  });
}

function reasonsOf({ name, alerts, problem, content, jobs }: ProjectOverview, at: string): Reason[] {
  const reasons: Reason[] = [];
  const add = ([tone, title, section]: readonly [Tone, string, Section], message: string, todo: string): void =>
    void reasons.push({ tone, title, message, todo: forProject(todo, name), section, projects: [name] });
  const causes = serviceCauses(jobs);
  const caused = new Set(causes.flatMap((cause) => cause.jobs));
  for (const alert of alerts) {
    const { kind, job } = alert;
    const isTold = causes.some((cause) => cause.kind === kind) || (job !== null && caused.has(job));
    if (isTold) continue;
    const [tone, general, section] = shownAs(kind);
    const { title = general, message, todo } = alertWords(alert, content, at);
    add([tone, title, section], message, todo);
  }
  // The page itself has found this: the worker has not looked again yet.
  if (problem !== null && !alerts.some(({ kind }) => kind === 'unopened'))
    add(
      ['broken', 'The data folder cannot be read', 'schedule'],
      `the data folder cannot be read (${problem})`,
      'Run `analytics-mirror doctor`. It says why, and what to do.',
    );
  // A job can succeed although its pass could not prove that it was complete.
  const listsThatAre = (wanted: 'stale' | 'incomplete'): string =>
    (content?.lists ?? [])
      .filter(({ state, dataset }) => state === wanted && !caused.has(datasets[dataset].fullJob))
      .map(({ dataset }) => dataset)
      .join(', ');
  const [stale, incomplete] = [listsThatAre('stale'), listsThatAre('incomplete')];
  const [oldTone, oldTitle, section] = shownAs('stale');
  if (stale !== '' && !alerts.some(({ kind }) => kind === 'stale'))
    add([oldTone, oldTitle, section], `no recent complete pass of ${stale}`, oldTodo(content));
  if (incomplete !== '')
    add([oldTone, 'A list was never seen as a whole', section], `no complete pass of ${incomplete} yet`, seePasses);
  if (content?.snapshots === null)
    add(
      ['broken', 'Snapshots cannot be read', 'snapshots'],
      'CURRENT.json, or the manifest of a published snapshot, is missing or damaged',
      'Run `analytics-mirror doctor`. Then run `analytics-mirror export` to publish whole files again.',
    );
  if (content?.ledger === 'unreadable')
    add(
      ['broken', 'The ledger cannot be read', 'ledger'],
      'a file of the folder ledger/ cannot be read',
      'Run `analytics-mirror audit verify`.',
    );
  return reasons;
}

const seePasses = 'Look at the passes below. The newest one that has ended says why it was not complete.';

/** What to do about lists without a recent complete pass: where none was incomplete, perhaps nobody has begun one. */
function oldTodo(content: ProjectContent | null): string {
  const whole = (content?.passes ?? []).filter(({ mode }) => mode === 'full').map(({ verdict }) => verdict);
  if (whole.includes('incomplete')) return seePasses;
  return whole.includes('running')
    ? 'A pass is under way.'
    : 'No pass is under way: start the worker, or run `analytics-mirror sync`.';
}

/** Whether the mirror may be relied on, and every reason against it. Holds no personal data. */
export type Readiness = { ready: boolean; reasons: string[] };

/** A worker is ready when every project is fresh, has disk space left and can write its ledger. */
export function readinessOf({ projects }: Overview): Readiness {
  const reasons = projects.flatMap((project) => notReadyFor(project).map((reason) => `${project.name}: ${reason}`));
  return { ready: reasons.length === 0, reasons };
}

function notReadyFor(project: ProjectOverview): string[] {
  const { content, condition, problem, alerts } = project;
  if (alerts.some(({ kind }) => kind === 'unattended')) return ['no machine works on it'];
  if (problem !== null) return [`the data folder cannot be used (${problem})`];
  if (!isHere(project)) return [];
  if (content === null) return ['nothing is mirrored yet'];
  return [
    ...content.lists.flatMap(({ dataset, state }) =>
      state === 'fresh' ? [] : [state === 'stale' ? `${dataset} is stale` : `${dataset} was never seen as a whole`],
    ),
    ...(condition !== null && condition.diskFreeBytes <= condition.diskFreeBytesMin ? ['the disk is nearly full'] : []),
    ...(condition !== null && !condition.isLedgerWritable ? ['the ledger cannot be written'] : []),
  ];
}
