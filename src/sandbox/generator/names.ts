import type { SeededRandom } from './seeded-random.ts';

const firstNames = [
  'Anna',
  'Ben',
  'Chloé',
  'Dagmar',
  'Emre',
  'Fátima',
  'Giulia',
  'Håkon',
  'Inês',
  'Jürgen',
  'Kateřina',
  'Łukasz',
  'Maya',
  'Noël',
  'Oğuz',
  'Priya',
  'Quentin',
  'Renée',
  'Søren',
  'Thảo',
  'Uma',
  'Václav',
  'Wanjiru',
  'Zoë',
] as const;
const lastNames = [
  'Anderson',
  'Brontë',
  'Çelik',
  'Dvořák',
  'Eriksson',
  'Fernández',
  'García',
  'Hansen',
  'Ibrahim',
  'Jønsson',
  'Kowalski',
  'López',
  'Müller',
  'Nguyễn',
  'O’Connor',
  'Pérez',
  'Quist',
  'Rossi',
  'Smith',
  'Şahin',
  'Wójcik',
] as const;

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

/** A name, and an ASCII form of it for addresses. One in twelve is unusual. */
export function generateName(random: SeededRandom): { name: string; ascii: string } {
  const name = `${random.pick(firstNames)} ${random.pick(lastNames)}`;
  return { name: random.oneIn(12) ? random.pick(unusualNames) : name, ascii: asciiName(name) };
}

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
