import { expect, it } from 'vitest';
import { LiveOptions } from '../../src/sandbox/live/live-data.ts';
import { runCliHere } from '../cli/run-cli.ts';

const options = Object.entries(LiveOptions.shape).map(([name, { def, description }]) => ({
  name,
  value: String(def.defaultValue),
  description,
}));

it('each option of the live profile stands in the help, with its default and what it does', async () => {
  const { stdout: help } = await runCliHere(['sandbox', '--help']);
  expect(options.length).toBeGreaterThan(5);
  for (const { name, value, description } of options) expect(help).toContain(`  ${name} (${value}): ${description}\n`);
});
