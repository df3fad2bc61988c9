import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alertKinds } from '../src/config/alert-kinds.ts';
import { dataset, datasets, mirroredDatasets, pagedDatasets, publishedDatasets } from '../src/contract/datasets.ts';
import { identifierKinds } from '../src/contract/identity.ts';
import { Person, RecordingPerson } from '../src/contract/resources.ts';
import { alertOf } from '../src/worker/alerts.ts';
import { wordsOf } from './pages.ts';

const migrations = new URL('../src/mirror/migrations/', import.meta.url);
const schema = readdirSync(migrations)
  .map((name) => readFileSync(new URL(name, migrations), 'utf8'))
  .join('\n');

/** The rows of a page's tables of which the first cell is these words in code. */
function rowsOf(page: string, first: string): string[] {
  return wordsOf(page)
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.split(' | ')[0]?.includes(`\`${first}\``));
}

/** Persons with one more field. */
const withNickname = (nickname: (typeof Person.shape)['name']) =>
  dataset({ ...datasets.persons, resource: Person.extend({ nickname }) });

describe('recipe: a field', () => {
  it('a personal text becomes a column of the mirror and of the files, which scans search', () => {
    const { fields, publishedFields } = withNickname(Person.shape.name);
    const nickname = { name: 'nickname', kind: 'text', role: 'personal', column: 'nickname' };
    expect(fields).toContainEqual(nickname);
    expect(publishedFields).toContainEqual(nickname);
  });

  it('a text that is neither personal nor declared not to be is refused', () => {
    expect(() => withNickname(RecordingPerson.shape.distinct_ids)).toThrow(/nickname is neither personal nor/);
  });

  it('each field of persons stands in the page of the data', () => {
    const [table, columns] = rowsOf('docs/data.md', 'persons');
    for (const { name } of datasets.persons.fields) expect(table).toMatch(new RegExp(`\\b${name}\\b`));
    for (const { column } of datasets.persons.publishedFields) expect(columns).toMatch(new RegExp(`\\b${column} `));
  });
});

describe('recipe: a list', () => {
  it.each(mirroredDatasets)('%s has a table, a table of what a pass has seen, and a row in the page', (name) => {
    expect(schema).toContain(`CREATE TABLE ${name} (`);
    expect(schema).toContain(`CREATE TABLE ${name}_seen (`);
    if (!pagedDatasets.some((paged) => paged === name)) return;
    expect(schema).toContain(`CREATE TABLE ${name}_shown (`);
    expect(schema).toContain(`CREATE TRIGGER ${name}_shown_changed AFTER UPDATE ON ${name}`);
    expect(schema).toContain(`CREATE TRIGGER ${name}_shown_removed AFTER DELETE ON ${name}`);
    expect(rowsOf('docs/data.md', name)).not.toEqual([]);
    expect(wordsOf('docs/commands.md')).toMatch(new RegExp(`^\\| \`sync .*\\b${name}\\b`, 'm'));
  });
});

describe('recipe: a dataset that the mirror makes', () => {
  it.each(publishedDatasets)('%s is a target, has its columns in the page, and can be named to export', (name) => {
    expect(wordsOf('docs/verifier/RECORDS.md')).toContain(`\`${name}\``);
    expect(rowsOf('docs/data.md', name)).not.toEqual([]);
    expect(wordsOf('docs/commands.md')).toMatch(new RegExp(`^\\| \`export .*\\b${name}\\b`, 'm'));
  });
});

describe('recipe: an identifier kind', () => {
  it.each(identifierKinds)('%s is in the CHECK of the fence and in the record of a fence', (kind) => {
    const [, fence = ''] = schema.split('CREATE TABLE fence (');
    expect(fence.split(';')[0]).toContain(`'${kind}'`);
    expect(wordsOf('docs/verifier/RECORDS.md')).toContain(`\`${kind}\``);
  });
});

describe('recipe: an alert', () => {
  it.each(alertKinds)('%s says what to do, and has a row in the page', (kind) => {
    expect(alertOf(kind, 'planted').todo).not.toBe('');
    expect(rowsOf('docs/operations/alerts.md', kind)).toHaveLength(1);
  });
});
