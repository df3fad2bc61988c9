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
  /** Since when it is held, in ISO 8601 UTC. */
  since: string | null;
  /** Whether no machine has worked on it for minutes. */
  isSilent: boolean;
};

/** A machine whose worker lives: the newest schema that it knows, and whether it could open a project lately. */
export type SeenMachine = { name: string; isDraining: boolean; schema: number; isAble: boolean };

/** What a machine knows of itself. `own`: the projects of its configuration. `idle`: those that it holds and that run no job. */
export type Self = { machine: string; own: ReadonlySet<string>; idle: ReadonlySet<string>; schema: number };

/** What a machine is to do: the ids of projects to give up, and of those to take, in this order. */
export type SharePlan = { giveUp: string[]; take: string[] };

/**
 * Shares the projects among the machines that live: none holds more than its part, rounded up, but for those that an operator has
 * moved to it. A machine gives up by itself what is too much for it, when that is idle, and takes what is free. A machine that can open
 * nothing has no part, and what a newer version has written is shared among those machines that can read it. A project that no
 * machine has worked on for minutes is one that the machine with room for it cannot open: a full one takes it, and gives up another.
 */
export function planShare(projects: readonly SeenProject[], machines: readonly SeenMachine[], self: Self): SharePlan {
  const { machine, own, idle, schema } = self;
  const ready = new Set(machines.filter(({ isDraining }) => !isDraining).map(({ name }) => name));
  const homeOf = ({ home }: SeenProject): string | null => (home !== null && ready.has(home) ? home : null);
  const shared = projects.filter(({ isPaused }) => !isPaused);
  const able = machines.filter(({ name, isAble }) => isAble && ready.has(name));
  // Where no machine is able, the fault is not theirs.
  const sharing = able.length > 0 ? able : machines.filter(({ name }) => ready.has(name));
  /** By version: how many of the projects that are of it or newer belong here. */
  const shares = new Map<number, number>();
  for (const version of new Set([0, ...shared.map((project) => project.schema)])) {
    const known = sharing.filter((each) => each.schema >= version);
    const isAmong = known.some(({ name }) => name === machine);
    const count = shared.filter((each) => each.schema >= version).length;
    shares.set(version, isAmong ? Math.ceil(count / known.length) : 0);
  }
  /** How many more projects of this version or a newer one belong here than are here. */
  const roomFor = (version: number, here: readonly SeenProject[]): number =>
    (shares.get(version) ?? 0) - here.filter((each) => each.schema >= version).length;
  const held = projects.filter(({ holder, purpose }) => holder === machine && purpose === 'worker');
  const isOut = (project: SeenProject): boolean =>
    project.isPaused || project.wantedBy !== null || !ready.has(machine) || ![null, machine].includes(homeOf(project));
  const out = held.filter(isOut);
  const stays = held.filter((project) => !isOut(project));
  const loose = stays.filter((project) => idle.has(project.id) && homeOf(project) === null);
  let here = stays;
  // The project that was taken last stays: another machine may have been unable to open it.
  const byAge = loose.toSorted((a, b) => Date.parse(a.since ?? '') - Date.parse(b.since ?? ''));
  for (const project of byAge.toSorted((a, b) => a.schema - b.schema))
    if (roomFor(0, here) < 0 && roomFor(project.schema, here) < 0) here = here.filter((each) => each !== project);
  const tooMany = stays.filter((project) => !here.includes(project));
  const free = shared.filter(
    (project) =>
      project.holder === null &&
      project.wantedBy === null &&
      own.has(project.id) &&
      project.schema <= schema &&
      [null, machine].includes(homeOf(project)),
  );
  const mine = free.filter((project) => homeOf(project) === machine);
  const soon = [...stays, ...mine];
  for (const project of free.filter((each) => homeOf(each) === null))
    if (roomFor(0, soon) > 0 || roomFor(project.schema, soon) > 0) soon.push(project);
  const isSharing = sharing.some(({ name }) => name === machine);
  const silent = free.find((project) => project.isSilent && homeOf(project) === null);
  if (silent && isSharing && here.length === stays.length && soon.length === stays.length) soon.push(silent);
  return { giveUp: [...out, ...tooMany].map(({ id }) => id), take: soon.slice(stays.length).map(({ id }) => id) };
}
