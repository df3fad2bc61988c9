import { seededRandom, type SeededRandom } from '../src/sandbox/generator/seeded-random.ts';

/** A text that an expression matches, and where in it a part stands that may be repeated. */
export type Sample = { text: string; repeats: { from: number; to: number }[] };

/** The characters that a sample is made of: those in which kinds of characters differ. */
const candidates = [
  ...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)),
  ...'éß一\u00a0\u0085\u2028\u200e\ud800👩',
];

type State = { source: string; flags: string; at: number; random: SeededRandom; sample: Sample };

/**
 * Texts that a regular expression matches, the same each time. It reads the expression as it goes: alternatives, groups, classes
 * and quantifiers. Assertions are left out, so a text may be none that matches; attacks need no match.
 */
export function samplesOf(pattern: string, flags: string, count: number): Sample[] {
  return Array.from({ length: count }, (_, index) => {
    const sample: Sample = { text: '', repeats: [] };
    writeAlternatives({ source: pattern, flags, at: 0, random: seededRandom(index), sample });
    return sample;
  });
}

/** Writes one of the alternatives at `at`, and moves to the end of them: the end of the source or of the group. */
function writeAlternatives(state: State): void {
  const { sample, random } = state;
  const before = { text: sample.text, repeats: [...sample.repeats] };
  const written = [];
  for (;;) {
    Object.assign(sample, { text: before.text, repeats: [...before.repeats] });
    while (state.at < state.source.length && !'|)'.includes(state.source.charAt(state.at))) writeTerm(state);
    written.push({ ...sample });
    if (state.source[state.at] !== '|') break;
    state.at += 1;
  }
  Object.assign(sample, random.pick(written));
}

/** Writes what an atom with its quantifier matches. */
function writeTerm(state: State): void {
  const { sample, random } = state;
  const begin = state.at;
  const textBefore = sample.text;
  const from = sample.text.length;
  writeAtom(state);
  const { min, max } = readQuantifier(state);
  if (max === 1 && min === 1) return;
  const end = state.at;
  if (max > 9) sample.repeats.push({ from, to: sample.text.length });
  const wanted = Math.max(min, Math.min(max, random.int(0, 3)));
  if (wanted === 0) sample.text = textBefore;
  for (let times = 1; times < wanted; times += 1) {
    state.at = begin;
    const next = sample.text.length;
    writeAtom(state);
    if (max > 9) sample.repeats.push({ from: next, to: sample.text.length });
  }
  state.at = end;
}

function writeAtom(state: State): void {
  const { source, sample } = state;
  const rest = source.slice(state.at);
  const assertion = /^(?:\^|\$|\\[bB])/.exec(rest)?.[0];
  if (assertion !== undefined) state.at += assertion.length;
  else if (rest.startsWith('(')) {
    const opening = /^\((?:\?(?:<?[=!]|:|<\w+>))?/.exec(rest)?.[0] ?? '(';
    const before = { text: sample.text, repeats: [...sample.repeats] };
    state.at += opening.length;
    writeAlternatives(state);
    state.at += 1;
    if (/^\(\?<?[=!]/.test(opening)) Object.assign(sample, before);
  } else {
    const atom =
      /^(?:\[(?:\\.|[^\\\]])*\]|\\p\{\w+\}|\\P\{\w+\}|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\.|[^])/su.exec(rest)?.[0] ??
      '';
    state.at += atom.length;
    sample.text += characterOf(atom, state);
  }
}

const charactersOf = new Map<string, string[]>();

/** A character that an atom matches. */
function characterOf(atom: string, { flags, random }: State): string {
  const key = `${atom} ${flags}`;
  let characters = charactersOf.get(key);
  if (!characters) {
    const matches = new RegExp(`^${atom}$`, flags.replaceAll(/[gy]/g, ''));
    const literal = /^(?:\\[^\w]|[^\\[.])$/.test(atom)
      ? [atom.slice(-1)]
      : candidates.filter((each) => matches.test(each));
    charactersOf.set(key, (characters = literal.length > 0 ? literal : ['x']));
  }
  // Every other time one that others are likely to match too.
  const usual = characters.filter((each) => /[\w"\\/ :-]/.test(each));
  return random.pick(usual.length > 0 && random.oneIn(2) ? usual : characters);
}

function readQuantifier(state: State): { min: number; max: number } {
  const found = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(state.source.slice(state.at));
  if (!found) return { min: 1, max: 1 };
  state.at += found[0].length;
  const [, sign, min = '', comma, max] = found;
  if (sign !== undefined) return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
  return { min: Number(min), max: comma === '' ? Number(min) : max === '' ? Infinity : Number(max) };
}
