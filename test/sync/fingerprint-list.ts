import type { PagedDataset } from '../../src/contract/datasets.ts';

/** What is wrong with a row: it cannot be read, or only down to some depth. */
type Fault = 'none' | 'time' | 'ids' | 'key' | 'deep';

/** A row of the list. Equal fields make equal bytes. */
export type ListRow = { n: number; ids: readonly string[]; note: string; big: boolean; fault: Fault };

/** How a page is written. Only the first two are split into rows. */
export const pageForms = ['plain', 'spaced', 'twice', 'nested', 'escaped', 'marked', 'odd row'] as const;
export type PageForm = (typeof pageForms)[number];

export type Change =
  | { do: 'insert'; count: number; ids: readonly string[] }
  | { do: 'delete' | 'note' | 'longer' | 'big' | 'back' | 'repeat' | 'late'; at: number }
  | { do: 'fault'; at: number; fault: Fault }
  | { do: 'ids'; at: number; ids: readonly string[] }
  | { do: 'reverse' };

/** A list of the service, newest first unless it was reversed, which keeps every version of its rows. */
export class FingerprintList {
  private rows: ListRow[] = [];
  private readonly versions = new Map<number, ListRow[]>();
  private readonly dataset: PagedDataset;
  private created = 0;

  constructor(dataset: PagedDataset, size: number) {
    this.dataset = dataset;
    for (let n = 0; n < size; n += 1) this.insert([`id ${n}`]);
  }

  apply(change: Change): void {
    if (change.do === 'insert') for (let n = 0; n < change.count; n += 1) this.insert(change.ids);
    else if (change.do === 'reverse') this.rows.reverse();
    else {
      const place = this.rows.length === 0 ? -1 : change.at % this.rows.length;
      const row = this.rows[place];
      if (row) this.change(place, row, change);
    }
  }

  private change(place: number, row: ListRow, change: Exclude<Change, { do: 'insert' | 'reverse' }>): void {
    const put = (changed: Partial<ListRow>): void => {
      this.rows[place] = { ...row, ...changed };
      this.versions.get(row.n)?.push(this.rows[place]);
    };
    switch (change.do) {
      case 'delete':
        this.rows.splice(place, 1);
        return;
      case 'note':
        return put({ note: `${(Number(row.note) + 1) % 10}` });
      case 'longer':
        return put({ note: `${row.note}0` });
      case 'big':
        return put({ big: !row.big });
      case 'back': {
        const versions = this.versions.get(row.n) ?? [];
        return put(versions[(change.at >> 3) % versions.length] ?? {});
      }
      case 'repeat':
        this.rows.splice((place * 7) % this.rows.length, 0, this.versions.get(row.n)?.[0] ?? row);
        return;
      case 'late':
        this.rows.push(...this.rows.splice(place, 1));
        return;
      case 'fault':
        return put({ fault: change.fault });
      case 'ids':
        return put({ ids: change.ids });
    }
  }

  private insert(ids: readonly string[]): void {
    const row: ListRow = { n: (this.created += 1), ids, note: '1', big: false, fault: 'none' };
    this.versions.set(row.n, [row]);
    this.rows.unshift(row);
  }

  /** The keys that the list shows, as identifiers of it are fenced by them. */
  keyAt(at: number): string {
    const row = this.rows[at % Math.max(1, this.rows.length)];
    return uuidOf(row?.n ?? 0);
  }

  /** The answer to a window. */
  page(offset: number, limit: number, form: PageForm): Buffer {
    const rows = this.rows.slice(offset, offset + limit).map((row) => this.rowText(row));
    if (form === 'odd row' && rows.length > 0) rows[rows.length - 1] = 'null';
    const end = offset + limit;
    const next = end < this.rows.length ? JSON.stringify(`http://service.invalid/?offset=${end}`) : 'null';
    const head = `{"count":${this.rows.length},"next":${next},`;
    const list = `"results":[${rows.join(',')}]`;
    switch (form) {
      case 'twice':
        return Buffer.from(`${head}"results":[{"no":1}],${list}}`);
      case 'nested':
        return Buffer.from(`${head}"about":{"results":[{"no":1}]},${list}}`);
      case 'escaped':
        return Buffer.from(`${head}"re\\u0073ults":[{"no":1}],"about":"\\"results",${list}}`);
      case 'spaced':
        return Buffer.from(`${head}\n "results" : [ ${rows.join(' ,\n\t')}\r\n ] , "previous": null }\n`);
      case 'marked':
      case 'odd row':
      case 'plain':
        return Buffer.from(`${head}${list}}`);
    }
  }

  private rowText({ n, ids, note, big, fault }: ListRow): string {
    const at = (second: number): string =>
      `2025-01-01T00:${String(Math.floor(second / 60)).padStart(2, '0')}:${String(second % 60).padStart(2, '0')}.000001Z`;
    // Two neighbours are of the same moment.
    const time = JSON.stringify(fault === 'time' ? 'never' : at(Math.floor(n / 2)));
    const key = fault === 'key' ? '5' : JSON.stringify(uuidOf(n));
    const list = fault === 'ids' ? '{"not":"a list"}' : JSON.stringify(ids);
    const size = big ? '12345678901234567890' : '1';
    const properties = `{"note":"ünï ${note}","size":${size}${fault === 'deep' ? ',"deep":[[[[[1]]]]]' : ''}}`;
    if (this.dataset === 'persons')
      return `{"id":${n},"name":"} ]\\"","distinct_ids":${list},"properties":${properties},"created_at":${time},"uuid":${key}}`;
    const person = `{"id":${n % 5},"distinct_ids":${JSON.stringify(ids)},"properties":${properties},"created_at":"2024-01-01T00:00:00Z","uuid":${JSON.stringify(uuidOf(n % 5))}}`;
    const viewers = fault === 'ids' ? '{"not":"a list"}' : '[]';
    return `{"id":${key},"distinct_id":"made by ${n % 7}","viewers":${viewers},"start_time":${time},"person":${person}}`;
  }
}

/** The key of a row of the list, and of every person that it embeds. */
function uuidOf(n: number): string {
  return `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
}
