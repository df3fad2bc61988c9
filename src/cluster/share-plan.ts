/** A project as one look at the database shows it. `holder`: the machine that holds it now. `home`: the one an operator has named. */
export type SeenProject = {
  id: string;
  name: string;
  holder: string | null;
  /** What it is held for: `worker`, or a command by its words. */
  purpose: string | null;
  isPaused: boolean;
  home: string | null;
  /** The command that waits for it. */
  wantedBy: string | null;
  /** The version of the schema that was last written. */
  schema: number;
};

/** A machine whose worker lives. */
export type SeenMachine = { name: string; isDraining: boolean };

/** What a machine knows of itself. `own`: the projects of its configuration. `idle`: those that it holds and that run no job. */
export type Self = { machine: string; own: ReadonlySet<string>; idle: ReadonlySet<string>; schema: number };

/** What a machine is to do: the ids of projects to give up, and of those to take, in this order. */
export type SharePlan = { giveUp: string[]; take: string[] };

/**
 * Shares the projects among the machines that live: none holds more than its part, rounded up, but for those that an operator has
 * moved to it. A machine gives up by itself what is too much for it, when that is idle, and takes what is free.
 */
export function planShare(projects: readonly SeenProject[], machines: readonly SeenMachine[], self: Self): SharePlan {
  const { machine, own, idle, schema } = self;
  const ready = new Set(machines.filter(({ isDraining }) => !isDraining).map(({ name }) => name));
  const homeOf = ({ home }: SeenProject): string | null => (home !== null && ready.has(home) ? home : null);
  const shared = projects.filter(({ isPaused }) => !isPaused);
  const share = ready.has(machine) ? Math.ceil(shared.length / ready.size) : 0;
  const held = projects.filter(({ holder, purpose }) => holder === machine && purpose === 'worker');
  const isOut = (project: SeenProject): boolean =>
    project.isPaused || project.wantedBy !== null || !ready.has(machine) || ![null, machine].includes(homeOf(project));
  const out = held.filter(isOut);
  const stays = held.filter((project) => !isOut(project));
  const loose = stays.filter((project) => idle.has(project.id) && homeOf(project) === null);
  const tooMany = loose.slice(0, Math.max(0, stays.length - share));
  const free = shared.filter(
    (project) =>
      project.holder === null &&
      project.wantedBy === null &&
      own.has(project.id) &&
      project.schema <= schema &&
      [null, machine].includes(homeOf(project)),
  );
  const mine = free.filter((project) => homeOf(project) === machine);
  const others = free.filter((project) => homeOf(project) === null);
  return {
    giveUp: [...out, ...tooMany].map(({ id }) => id),
    take: [...mine, ...others.slice(0, Math.max(0, share - stays.length - mine.length))].map(({ id }) => id),
  };
}
