import { expect, it, test, vi } from 'vitest';
import { attackOn, expressionsOf, sources, type Expression } from './expressions.ts';

const found = sources.map(expressionsOf);
const once = (all: readonly Expression[]): Expression[] => [
  ...new Map(all.map((one) => [`/${one.pattern}/${one.flags}`, one])).values(),
];
const literals = once(found.flatMap((file) => file.literals));

/** How the expressions come to be that a file makes from texts: most are made when the file is read. */
const waysToMake: Record<string, () => Promise<unknown>> = {
  'src/bucket/follow-plan.ts': () => import('../src/bucket/follow-plan.ts'),
  'src/ledger/target.ts': () => import('../src/ledger/target.ts'),
  'src/snapshot/verify.ts': () => import('../src/snapshot/verify.ts'),
  'src/cli/program.ts': () => import('../src/cli/program.ts'),
  'src/client/refusal.ts': async () => {
    const { refusalError } = await import('../src/client/refusal.ts');
    const { endpoints } = await import('../src/contract/endpoints.ts');
    for (const endpoint of Object.values(endpoints))
      refusalError(endpoint, {
        status: 302,
        body: '',
        retryAfterMs: undefined,
        retryAfterMaxMs: 1,
        nowMs: 0,
        path: '/a',
        location: '/b',
      });
  },
};

/** The expressions that a file makes from texts while something is done. */
async function madeBy(path: string, act: () => Promise<unknown>): Promise<Expression[]> {
  const made: Expression[] = [];
  const Original = RegExp;
  vi.resetModules();
  globalThis.RegExp = new Proxy(Original, {
    construct(target, args: [string, string?], newTarget) {
      const { source, flags } = Reflect.construct(target, args, newTarget) as RegExp;
      if (new Error().stack?.split('\n')[2]?.includes(path) === true) made.push({ path, pattern: source, flags });
      return new Original(...args);
    },
  });
  try {
    await act();
  } finally {
    globalThis.RegExp = Original;
  }
  return once(made);
}

test('the expressions of all sources are found, and the files that make them from texts', () => {
  expect(literals.length).toBeGreaterThan(150);
  expect(
    found
      .filter(({ made }) => made > 0)
      .map(({ path }) => path)
      .toSorted(),
  ).toEqual(Object.keys(waysToMake).toSorted());
  const source =
    "const a = 8 / 2 / 1; // '/x/'\nconst b = [/a+[/]$/g, `${/\\/\\//}`, '/no/', new RegExp(`${a}+`), RegExp('c')];";
  const { literals: own, made } = expressionsOf({ path: 'planted.ts', text: `${source}\ntype T = typeof b;` });
  expect(own.map(({ pattern, flags }) => `/${pattern}/${flags}`).toSorted()).toEqual(['/\\/\\//', '/a+[/]$/g']);
  expect(made).toBe(2);
});

test.each([
  String.raw`"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?`,
  String.raw`<script id="x">(.*?)</script>`,
  String.raw`(Expected .* but got \d+): .*$`,
  String.raw`\s*-?\d`,
  String.raw`0+$`,
  String.raw`^(?:\d+|[a-f\d]+)*$`,
  String.raw`^(\w+\s?)+:$`,
  String.raw`[^@\s]+@[^@\s]+\.[^@\s]+`,
  String.raw`^\s*(.*?)\s*$`,
])('the cost of /%s/ is seen to grow with the square of a text, or faster', (pattern) => {
  expect(attackOn({ pattern, flags: 's' })).toMatch(/^\{"head":/);
});

it.each(literals.map(({ path, pattern, flags }) => [path, pattern, flags] as const))(
  'the cost grows no faster than the text (%s: /%s/%s)',
  (_path, pattern, flags) => {
    expect(attackOn({ pattern, flags })).toBeUndefined();
  },
);

it.each(Object.entries(waysToMake))('nor does that of the expressions that %s makes', async (path, act) => {
  const made = await madeBy(path, act);
  expect(made.length).toBeGreaterThan(0);
  for (const expression of made) expect(attackOn(expression)).toBeUndefined();
});
