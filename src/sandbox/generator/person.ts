import type { NewPerson } from '../store/person-row.ts';
import { generateProperties } from './properties.ts';
import { microsBeforeBase, type SeededRandom } from './seeded-random.ts';

/**
 * One person with this id. `previous` is the person before; sometimes both have the same time. `hostile` properties hold
 * what many programs cannot read.
 */
export function generatePerson(
  random: SeededRandom,
  id: number,
  { previous, hostile }: { previous?: NewPerson | undefined; hostile: boolean },
): NewPerson {
  const usual = `${random.pick(firstNames)} ${random.pick(lastNames)}`;
  const name = random.oneIn(12) ? random.pick(unusualNames) : usual;
  const ascii = asciiName(usual);
  // Now and then two people share one address, as colleagues and families do.
  const address = id % 60 === 2 ? 'shared.inbox@example.org' : `${ascii}.${id}@${random.pick(domains)}`;
  const { properties, email } = generateProperties(random, id, { email: address, hostile });
  return {
    id,
    uuid: random.uuid(),
    name,
    createdAtMicros: createdAtMicros(random, id, previous),
    distinctIds: distinctIds(random, id, email === address && id % 60 !== 2 ? email : null),
    properties,
    email,
  };
}

const domains = ['example.com', 'example.org', 'mail.example.net'] as const;

function createdAtMicros(random: SeededRandom, id: number, previous: NewPerson | undefined): number {
  if (id % 25 === 4 && previous) return previous.createdAtMicros;
  if (id % 1000 === 7) return -random.int(1, 40_000_000_000_000);
  return microsBeforeBase(random, 3 * 365);
}

/** One to four distinct ids, unique by the id in them: accounts, e-mails, anonymous ids, text that needs escaping. */
function distinctIds(random: SeededRandom, id: number, email: string | null): string[] {
  const account = id % 19 === 3 ? `ид ${id}/ü?&#%"👩‍🚀` : `user_${id}`;
  const ids = [account];
  if (email !== null && random.oneIn(2)) ids.push(email);
  if (random.oneIn(2)) ids.push(random.uuid());
  if (random.oneIn(4)) ids.push(`$device:${id}`);
  return ids;
}

const firstNames = (
  'Anna Ben Chloé Dagmar Emre Fátima Giulia Håkon Inês Jürgen Kateřina Łukasz Maya Noël Oğuz ' +
  'Priya Quentin Renée Søren Thảo Uma Václav Wanjiru Zoë'
).split(' ');
const lastNames = (
  'Anderson Brontë Çelik Dvořák Eriksson Fernández García Hansen Ibrahim Jønsson Kowalski ' +
  'López Müller Nguyễn O’Connor Pérez Quist Rossi Smith Şahin Wójcik'
).split(' ');

/** Names that programs get wrong: other scripts, right to left, joined emoji, combining marks, markup, length. */
const unusualNames = [
  '山田 太郎',
  '김민준',
  '王小明',
  'محمد الأحمد',
  'שרה כהן',
  'Анна Каренина',
  'อรทัย ศรีสุข',
  'अनिका शर्मा',
  '👩‍👩‍👧‍👦 Family account',
  '🏳️‍🌈 Rainbow 👨🏽‍🚀',
  'Zoe\u0308 with a combining mark',
  'Robert"); DROP TABLE persons;--',
  '<script>alert("name")</script> & Sons',
  '=HYPERLINK("name"),\nsecond line',
  'Hubert Blaine Wolfeschlegelsteinhausenbergerdorff '.repeat(5).trim(),
  '',
] as const;

const asciiNames = new Map<string, string>();

function asciiName(name: string): string {
  let ascii = asciiNames.get(name);
  if (ascii === undefined) {
    const letters = name
      .normalize('NFKD')
      .toLowerCase()
      .replaceAll(' ', '.')
      .replace(/[^a-z.]/g, '');
    asciiNames.set(name, (ascii = letters));
  }
  return ascii;
}
