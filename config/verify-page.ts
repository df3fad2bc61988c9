import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { Script } from 'node:vm';

// Makes docs/verifier/verify.html: verify.mjs and its words as they are, with what they take from Node.js put in by
// config/verify-page/, in one file that loads nothing. `node config/verify-page.ts` writes it.

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

/** Where the page stands. */
export const verifyPagePath = new URL('docs/verifier/verify.html', root);

/** Replaces what has to be in a text. Throws where it is not there: the page would not be what it says. */
function replaced(text: string, what: string | RegExp, by: (...found: string[]) => string): string {
  const changed = text.replace(what, by);
  if (changed === text) throw new Error(`${String(what)} is not in the source of the page`);
  return changed;
}

/** A module as a function or value that gives what is named; its exports become plain declarations. */
function moduleText(source: string, name: string, parameters: string | null, gives: string): string {
  const body = source.replaceAll(/^export /gm, '');
  const made = `() => {\n${body}\nreturn { ${gives} };\n}`;
  return parameters === null
    ? `const { ${gives} } = (${made})();`
    : `const ${name} = ({ ${parameters} }) => {${made.slice('() => {'.length)};`;
}

/** The verifier as a function of what it takes from Node.js. The end, which starts it as a command, is left out. */
function verifierText(): string {
  const source = read('docs/verifier/verify.mjs');
  const end = source.indexOf('\nif (process.argv[1] &&');
  if (end === -1) throw new Error('verify.mjs does not end with its command');
  const imports = /^import \{ (.*) \} from 'node:(\w+)';$/gm;
  const bound = replaced(
    source.slice(0, end),
    imports,
    (_line, names = '', name = '') => `const { ${names.replaceAll(' as ', ': ')} } = node.${name};`,
  );
  const spoken = replaced(bound, "import('./certificate-words.mjs')", () => 'Promise.resolve(certificateSpeech)');
  return moduleText(
    replaced(spoken, /^#!.*\n/, () => ''),
    'verifierOf',
    'node, Buffer, console',
    'main, derParts',
  );
}

function scriptText(): string {
  const parts = [
    "'use strict';",
    moduleText(read('docs/verifier/certificate-words.mjs'), '', null, 'wordsVersion, certificateWords'),
    'const certificateSpeech = { wordsVersion, certificateWords };',
    moduleText(read('docs/verifier/verdict-words.mjs'), '', null, 'verdictWords'),
    verifierText(),
    // One script has no modules: what they take from each other stands before.
    ...['platform', 'judge', 'page'].map((name) =>
      read(`config/verify-page/${name}.js`).replaceAll(/^import .*\n|^export /gm, ''),
    ),
  ];
  // What would end the element that holds it.
  const script = `\n${parts.join('\n')}`.replaceAll('</script', String.raw`<\/script`);
  if (/<!--|\bimport\b[^'`]*['(]|[\r\0]/.test(script)) throw new Error('the script of the page cannot stand in a page');
  // Throws where it is no script.
  void new Script(script);
  return script;
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** The page, made anew. It is the same from the same sources. */
export function verifyPage(): string {
  const [style, script] = [`\n${read('config/verify-page/page.css')}`, scriptText()];
  const values: Readonly<Record<string, string>> = {
    policy: [
      "default-src 'none'",
      `script-src ${hashOf(script)}`,
      `style-src ${hashOf(style)}`,
      'worker-src blob:',
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; '),
    style,
    script,
    digest: createHash('sha256').update(read('docs/verifier/verify.mjs')).digest('hex'),
  };
  return replaced(read('config/verify-page/page.html'), /\{\{(\w+)\}\}/g, (_all, name = '') => values[name] ?? '');
}

if (import.meta.main) writeFileSync(verifyPagePath, verifyPage());
