import { existsSync } from 'node:fs';
import type { App } from '../app/app.ts';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { refuseHiddenFolder } from '../core/folder.ts';
import { secondText } from '../core/words.ts';
import type { ProjectCondition, ProjectState } from '../job/worker-state.ts';
import { databasePath, type Database } from '../mirror/database.ts';
import { gatherContent } from '../status/gather-overview.ts';
import type { ListFreshness, ProjectContent, ProjectOverview } from '../status/overview.ts';
import { compareTones, judge, judgeProject, type Reason, type Tone } from '../status/verdict.ts';
import { readProjectState } from '../worker/read-project.ts';
import type { CommandResult } from './command.ts';
import { formatTable } from './table.ts';
import { refuseUnfitFolder } from './unfit-folder.ts';

/** How a project is, in one sentence. `problem`: why its folder cannot be read; null where it can. */
type Standing = { project: string; tone: Tone; sentence: string; problem: string | null; lists: ListFreshness[] };

/** How all projects are, the worst first, and whether nobody has to do anything. A project that cannot be read is one of them. */
export async function statusOfAll(apps: readonly App[]): Promise<CommandResult & { isWell: boolean }> {
  const projects: ProjectOverview[] = [];
  for (const app of apps) projects.push(await overviewOf(app));
  const at = isoTime(apps[0]?.clock.now() ?? 0);
  const { sentence, reasons } = judge({ at, projects });
  const standings = projects
    .map((project): Standing => {
      const { tone, sentence: own } = judgeProject(project, at);
      const { name, problem, content } = project;
      return { project: name, tone, sentence: own, problem, lists: content?.lists ?? [] };
    })
    .toSorted((a, b) => compareTones(a.tone, b.tone));
  return {
    isWell: reasons.length === 0,
    json: { at, sentence, reasons, projects: standings },
    text: [
      `${sentence}\n`,
      ...(reasons.length === 0 ? [] : [reasons.map(reasonText).join('')]),
      formatTable(
        ['project', 'is', 'complete as of'],
        standings.map((one) => [one.project, one.problem ?? one.sentence, asOfText(one.lists)]),
      ),
      'more of one: analytics-mirror status --project NAME\n',
    ].join('\n'),
  };
}

/** The state of a project at this moment, by its data folder, which has a mirror. */
export function overviewHere(
  app: App,
  db: Database,
): ProjectState & { condition: ProjectCondition; content: ProjectContent } {
  const atMs = app.clock.now();
  const state = readProjectState(db, app, atMs);
  return { ...state, content: gatherContent(db, app.settings, { jobs: state.jobs, atMs, namesHeld: false }) };
}

/** The state of a project by its folder or, where another machine of a cluster holds it, by what that one has said. */
async function overviewOf(app: App): Promise<ProjectOverview> {
  const { name, settings, keyFrom, shared } = app;
  const { service, dataDir } = settings;
  const nothing = { jobs: [], condition: null, alerts: [], problem: null, content: null };
  const known = {
    name,
    service: { baseUrl: service.baseUrl, projectId: service.projectId, keyFrom },
    dataDir,
    ...nothing,
  };
  try {
    refuseHiddenFolder(dataDir);
    const report = await shared?.elsewhere();
    if (report) return { ...known, ...report.said, content: null };
    // A folder without a mirror may have lost it, or be where a disk is not mounted.
    if (!existsSync(databasePath(dataDir)) && (shared || !existsSync(dataDir))) return known;
    const db = app.databaseReadOnly();
    refuseUnfitFolder(db, settings);
    return overviewHere(app, db);
  } catch (error) {
    if (error instanceof AppError) return { ...known, problem: error.message };
    throw error;
  }
}

function reasonText({ message, todo, projects }: Reason): string {
  return attentionText({ message: `${projects.join(', ')}: ${message}`, todo });
}

/** Something that needs a person, and what to do. */
export function attentionText({ message, todo }: { message: string; todo: string }): string {
  return `ATTENTION: ${message}\n  ${todo.replaceAll('\n', '\n  ')}\n`;
}

/** Since when the mirror may be older than the service: the oldest of the lists' last complete passes. */
function asOfText(lists: readonly ListFreshness[]): string {
  const times = lists.map(({ completeAsOf }) => completeAsOf);
  const [oldest] = times.filter((time) => time !== null).toSorted();
  return times.includes(null) ? 'never' : oldest === undefined ? '' : secondText(oldest);
}
