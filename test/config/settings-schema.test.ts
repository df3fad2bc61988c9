import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml';
import { z } from 'zod';
import { Settings } from '../../src/config/settings.ts';

type Schema = { properties?: Record<string, Schema>; required?: string[]; [key: string]: unknown };

/** A schema in which every setting may be left out: a file has only what differs from the defaults. */
function withoutRequired(schema: Schema): Schema {
  const { required: _required, properties, ...rest } = schema;
  if (!properties) return rest;
  const inner = Object.entries(properties).map(([name, setting]) => [name, withoutRequired(setting)]);
  return { ...rest, properties: Object.fromEntries(inner) as Record<string, Schema> };
}

/** Each setting's sentence and value in the file of defaults, by the setting's path. */
function defaultsIn(map: YAMLMap, path = '', before: string | null | undefined = map.commentBefore) {
  const found = new Map<string, { description?: string; default?: unknown }>();
  let description: string | undefined;
  for (const [index, { key, value }] of map.items.entries()) {
    if (!isScalar(key)) continue;
    const name = `${path}${String(key.value)}`;
    // The words above the first setting of a group belong to that setting.
    const comment = (key.commentBefore ?? (index === 0 ? before : null))?.split('\n\n').at(-1);
    // What stands below another without words of its own shares its words.
    description = comment?.replaceAll(/\s+/g, ' ').trim() ?? description;
    if (isMap(value)) for (const [inner, told] of defaultsIn(value, `${name}.`)) found.set(inner, told);
    const known =
      isMap(value) && value.items.length > 0 ? {} : { default: (value as YAMLMap | null)?.toJSON() as unknown };
    found.set(name, { ...(description ? { description } : {}), ...known });
  }
  return found;
}

const document = parseDocument(readFileSync('config/default.yaml', 'utf8'));
const defaults = isMap(document.contents) ? defaultsIn(document.contents) : new Map<string, object>();

/** A schema with what the file of defaults says of each setting. */
function explained({ properties, ...schema }: Schema, path = ''): Schema {
  const inner = Object.entries(properties ?? {}).map(([name, setting]) => [
    name,
    explained(setting, `${path}${name}.`),
  ]);
  const told = defaults.get(path.slice(0, -1)) ?? {};
  return {
    ...told,
    ...schema,
    ...(properties ? { properties: Object.fromEntries(inner) as Record<string, Schema> } : {}),
  };
}

/** The JSON Schema of a configuration file, for editors. */
function fileSchema(): Schema {
  const settings = explained(
    withoutRequired(z.toJSONSchema(Settings, { io: 'input', unrepresentable: 'any' }) as Schema),
  );
  const { properties = {} } = settings;
  const own = ['service', 'budget', 'persons', 'recordings', 'playlists', 'export', 'erasure', 'schedule'];
  const ownSettings = Object.fromEntries(own.map((name) => [name, { $ref: `#/properties/${name}` }]));
  const project = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      apiKeyFile: { type: 'string' },
      dataDir: { type: 'string' },
      ...ownSettings,
    },
    required: ['name'],
    additionalProperties: false,
  };
  return {
    ...settings,
    title: 'Settings of analytics-mirror',
    properties: { ...properties, projects: { type: 'array', items: project } },
  };
}

it('config/settings.schema.json is the schema of the settings (npm exec -- vitest -u writes it)', async () => {
  // Not every reader of schemas knows the classes of Unicode. The program itself is stricter.
  const controls = String.raw`\\u0000-\\u001f\\u007f-\\u009f`;
  const text = `${JSON.stringify(fileSchema(), null, 2)}\n`
    .replaceAll(String.raw`\\P{Cc}`, `[^${controls}]`)
    .replaceAll(String.raw`\\p{C}\\p{Zl}\\p{Zp}`, String.raw`${controls}\\u2028\\u2029`);
  expect(text).not.toMatch(/\\p\{/i);
  await expect(text).toMatchFileSnapshot('../../config/settings.schema.json');
});

it('every setting that stands in the file of defaults is explained, and has its default', () => {
  const { properties = {} } = fileSchema();
  const leaves = (schema: Schema, path: string): [string, Schema][] =>
    schema.properties
      ? Object.entries(schema.properties).flatMap(([name, inner]) => leaves(inner, `${path}.${name}`))
      : [[path, schema]];
  const { projects: _projects, ...all } = properties;
  const settings = Object.entries(all).flatMap(([name, schema]) => leaves(schema, name));
  expect(settings.length).toBeGreaterThan(60);
  expect(settings.filter(([, schema]) => !('default' in schema)).map(([path]) => path)).toEqual([]);
  const told = settings.filter(([, schema]) => typeof schema['description'] === 'string');
  expect(told.length / settings.length).toBeGreaterThan(0.9);
});
