import { describe, expect, it } from 'vitest';
import { stagesOf } from './dockerfile.ts';
import { blockOf, headingsWithLines, linesOf, readPage, sectionOf, typedInstead } from './page.ts';

const words = `# Page
## 1. First
Say \`analytics-mirror status --check\`, not \`mirror.db\`.
\`\`\`sh
one \\
  two
cat > file <<'END'
inside \\
END
three
\`\`\`
### Below
\`\`\`yaml
a: 1
\`\`\`
## 2. Second
| where | what |
|---|---|
| a place | \`other words …\` (more) |
`;

describe('a page of the tutorial', () => {
  it('has lines in its order, joined as a person types them, and commands in sentences', () => {
    const document = "cat > file <<'END'\ninside \\\nEND";
    const typed = ['analytics-mirror status --check', 'one \\\n  two', document, 'three'];
    expect(linesOf(sectionOf(words, '1. First'))).toEqual(typed);
    expect(linesOf(sectionOf(words, 'Below'))).toEqual([]);
    expect(headingsWithLines(words)).toEqual(['1. First']);
  });

  it('has blocks of other languages, and a table of what to type', () => {
    expect(blockOf(sectionOf(words, '1. First'), 'yaml')).toBe('a: 1\n');
    expect(typedInstead(sectionOf(words, '2. Second'))).toEqual(new Map([['a place', 'other words']]));
  });

  it('is missed where it has changed', () => {
    expect(() => sectionOf(words, '3. Third')).toThrow('no heading "3. Third"');
    expect(() => blockOf(sectionOf(words, '2. Second'), 'yaml')).toThrow('no block of yaml');
  });
});

it('the Dockerfile has two stages, the second with what a container is told', () => {
  const [build, image, ...others] = stagesOf(readPage('Dockerfile'));
  expect(others).toEqual([]);
  expect([build?.from, build?.name, image?.from]).toEqual(['node:24-slim', 'build', 'node:24-slim']);
  const told = ['ENV', 'COPY', 'RUN', 'USER', 'VOLUME', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'];
  expect(image?.instructions.map(({ name }) => name)).toEqual(expect.arrayContaining(told));
  expect(build?.instructions.find(({ name }) => name === 'RUN')?.text).not.toContain('#');
});
