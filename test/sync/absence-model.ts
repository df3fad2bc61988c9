import type { Service } from '../../src/client/service.ts';
import { AppError } from '../../src/core/errors.ts';

type ModelPerson = { uuid: string; id: number; distinctIds: string[]; time: number; plan: string };

/** Ways in which a service that is asked may fail to answer. None of them says anything about a person. */
export type Outage = 401 | 403 | 429 | 500 | 'unreachable';

/**
 * How the service answers when it is asked for many persons: it cannot, it tells the truth by a map or by a list, or it does not: it
 * shows nobody, the first or the last of them, every second, a stranger besides, no JSON, or it fails.
 */
export const batchWays = [
  'none',
  'map',
  'list',
  'nobody',
  'first',
  'last',
  'second',
  'stranger',
  'page',
  'fails',
] as const;
export type BatchWay = (typeof batchWays)[number];

/** The service as far as persons go: a list that is newest first, look-up by distinct id, and by integer id. */
export class ModelService {
  persons: ModelPerson[] = [];
  /** Every uuid that has been deleted or merged away. */
  readonly gone = new Map<string, 'deleted' | 'merged'>();
  /** While true the list shows nothing, with 200, as after a fault in the service's store. */
  listIsEmpty = false;
  outage: Outage | null = null;
  projectIsGone = false;
  /** A 404 to every id: the service's, or another's. */
  noIdIsThere: 'own' | 'foreign' | null = null;
  /** The integer ids that the service always fails at, and how. */
  readonly failsAt = new Map<number, Outage>();
  /** Whether a question for one distinct id is answered as if nothing had been asked. */
  ignoresFilter = false;
  batches: BatchWay = 'none';
  /** Persons who live and whom the list does not show, as it may do with those that came back. */
  readonly hidden = new Set<string>();
  /** How many calls were made, by their names. */
  readonly calls: string[] = [];
  private made = 0;

  create(distinctIds = 1): ModelPerson {
    this.made += 1;
    const number = this.made;
    const person = {
      uuid: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
      id: number,
      distinctIds: Array.from({ length: distinctIds }, (_value, index) => `d${number}-${index}`),
      time: number,
      plan: 'free',
    };
    this.persons.unshift(person);
    return person;
  }

  /** Hides so many persons from the list. */
  hide(at: number, count: number): void {
    const from = at % Math.max(1, this.persons.length);
    for (const { uuid } of this.persons.slice(from, from + count)) this.hidden.add(uuid);
  }

  update(at: number): void {
    const person = this.persons[at % Math.max(1, this.persons.length)];
    if (person) person.plan = person.plan === 'free' ? 'pro' : 'free';
  }

  delete(at: number): void {
    const [person] = this.persons.splice(at % Math.max(1, this.persons.length), 1);
    if (person) this.gone.set(person.uuid, 'deleted');
  }

  merge(at: number, into: number): void {
    const loser = this.persons[at % Math.max(1, this.persons.length)];
    const survivor = this.persons[into % Math.max(1, this.persons.length)];
    if (!loser || !survivor || loser === survivor) return;
    this.persons = this.persons.filter((person) => person !== loser);
    survivor.distinctIds.push(...loser.distinctIds);
    survivor.time = Math.min(survivor.time, loser.time);
    this.persons.sort((a, b) => b.time - a.time);
    this.gone.set(loser.uuid, 'merged');
  }

  split(at: number): void {
    const person = this.persons[at % Math.max(1, this.persons.length)];
    for (const distinctId of person?.distinctIds.splice(1) ?? []) this.create(0).distinctIds.push(distinctId);
  }

  /** The service as the client sees it. */
  get service(): Service {
    return {
      requestCount: () => 0,
      call: async (name, args = {}) => {
        await Promise.resolve();
        this.calls.push(name);
        if (this.outage !== null) throw outageError(this.outage);
        const {
          params = {},
          query = {},
          body: sent = {},
        } = args as {
          params?: { id?: number | string };
          query?: Record<string, unknown>;
          body?: { uuids?: string[]; distinct_ids?: string[] };
        };
        if (this.projectIsGone)
          throw new AppError('no project', { code: name === 'persons.list' ? 'refused' : 'rejected', status: 404 });
        if (name.startsWith('persons.batch_by_')) return { status: 200, body: this.batch(sent), date: undefined };
        const body = name === 'persons.list' ? this.list(query) : this.retrieve(params.id);
        return { status: 200, body, date: undefined };
      },
    };
  }

  private list(query: Record<string, unknown>): unknown {
    const distinctId = query['distinct_id'];
    const all = this.listIsEmpty ? [] : this.persons.filter(({ uuid }) => !this.hidden.has(uuid));
    const found =
      distinctId === undefined || this.ignoresFilter
        ? all
        : this.persons.filter(({ distinctIds }) => distinctIds.some((held) => held === distinctId));
    const offset = Number(query['offset'] ?? 0);
    const end = offset + Number(query['limit'] ?? 100);
    const next = end < found.length ? `http://service/?offset=${end}` : null;
    return { count: found.length, next, previous: null, results: found.slice(offset, end).map(shown) };
  }

  private batch({ uuids, distinct_ids: distinctIds = [] }: { uuids?: string[]; distinct_ids?: string[] }): unknown {
    if (this.batches === 'none') throw new AppError('no such path', { code: 'refused', status: 404 });
    if (this.batches === 'fails') throw outageError(500);
    const owners = new Map(
      this.persons.flatMap((person) => (uuids ? [person.uuid] : person.distinctIds).map((key) => [key, person])),
    );
    const found = (uuids ?? distinctIds).slice(0, 200).flatMap((key): [string, unknown][] => {
      const person = owners.get(key);
      return person ? [[key, shown({ ...person, distinctIds: person.distinctIds.slice(0, 10) })]] : [];
    });
    if (found.length === 0) return { results: {} };
    switch (this.batches) {
      case 'map':
        return { results: Object.fromEntries(found) };
      case 'list':
        return { results: found.map(([, row]) => row) };
      case 'nobody':
        return { results: {} };
      case 'first':
        return { results: Object.fromEntries(found.slice(0, -1)) };
      case 'last':
        return { results: Object.fromEntries(found.slice(1)) };
      case 'second':
        return { results: Object.fromEntries(found.filter((_each, index) => index % 2 === 0)) };
      case 'stranger':
        return { results: { ...Object.fromEntries(found), [strangerUuid]: { uuid: strangerUuid } } };
      case 'page':
        return '<html>';
    }
  }

  private retrieve(id: number | string | undefined): unknown {
    const fault = this.failsAt.get(Number(id));
    if (fault !== undefined) throw outageError(fault);
    const person = this.persons.find((candidate) => String(candidate.id) === String(id));
    if (!person || this.noIdIsThere)
      throw new AppError('no person', { code: 'rejected', status: 404, isForeign: this.noIdIsThere === 'foreign' });
    return shown(person);
  }
}

const strangerUuid = 'ffffffff-0000-4000-8000-000000000000';

function shown({ uuid, id, distinctIds, time, plan }: ModelPerson): unknown {
  const createdAt = new Date(Date.UTC(2026, 0, 1) + time * 1000).toISOString();
  return {
    uuid,
    id,
    name: `person ${id}`,
    distinct_ids: [...distinctIds],
    properties: { plan },
    created_at: createdAt,
  };
}

function outageError(outage: Outage): AppError {
  if (outage === 'unreachable') return new AppError('no answer', { code: 'unreachable' });
  return new AppError('refused', { code: outage === 401 || outage === 403 ? 'refused' : 'service', status: outage });
}
