import { expect, it } from 'vitest';
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

/** The JSON Schema of a configuration file, for editors. */
function fileSchema(): Schema {
  const settings = withoutRequired(z.toJSONSchema(Settings, { io: 'input', unrepresentable: 'any' }) as Schema);
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
  const text = `${JSON.stringify(fileSchema(), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot('../../config/settings.schema.json');
});
