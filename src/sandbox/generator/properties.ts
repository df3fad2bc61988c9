import type { SeededRandom } from './seeded-random.ts';

/** JSON text of one person's properties. `email` is null for a person without an address. */
type PropertyKind = (random: SeededRandom, email: string | null, isHostile: boolean) => string;

/** Properties as JSON text, and the e-mail in them; null if they have none. */
export type GeneratedProperties = { properties: string; email: string | null };

/**
 * The properties of a person. The kind follows from the id, so that any 24 persons in a row show every kind: flat,
 * nested, null, empty, no object, deep, unicode keys, unsafe keys, exact numbers, escapes and long text. Hostile numbers
 * and escapes are legal JSON that many programs cannot read; they cost no further choice of `random`.
 */
export function generateProperties(
  random: SeededRandom,
  id: number,
  { email, hostile }: { email: string; hostile: boolean },
): GeneratedProperties {
  const kind = kinds[id % kinds.length] ?? flat;
  const known = withEmail.has(kind) && !random.oneIn(6) ? email : null;
  return { properties: kind(random, known, hostile), email: known };
}

const flat: PropertyKind = (random, email) =>
  `{${emailField(email)}"plan":"${random.pick(['free', 'pro', 'team', 'enterprise'])}","country":"${random.pick(countries)}",` +
  `"visits":${random.int(0, 5000)},"score":${random.int(0, 10_000) / 100},"opted_in":${random.oneIn(2)},` +
  `"$browser":"${random.pick(['Firefox', 'Safari', 'Chrome'])}","$browser_version":${random.int(80, 140)},` +
  `"$initial_referrer":"${random.pick(['$direct', 'https://example.org/?q=analytics&lang=de'])}",` +
  `"referred_by":null,"signed_up_at":"2024-${pad(random.int(1, 12))}-${pad(random.int(1, 28))}T08:30:00Z"}`;

const nested: PropertyKind = (random, email) =>
  `{${emailField(email)}"company":{"name":"Société Générale d'Essai №${random.int(1, 900)}","size":${random.int(1, 90_000)},` +
  `"address":{"city":"Zürich","geo":{"lat":${random.int(-90, 90)}.3769,"lng":${random.int(-180, 180)}.5417}}},` +
  `"tags":["${random.pick(['beta', 'vip', 'churned'])}","naïve"],"devices":[{"os":"iOS","seen":[2023,2024]},{}]}`;

const arrays: PropertyKind = (random, email) =>
  `{${emailField(email)}"matrix":[[1,[2,[3,[${random.int(4, 99)},[]]]]],{"a":null}],"mixed":[true,null,"x",1.5,{}]}`;

const deep: PropertyKind = (random, email) =>
  `{${emailField(email)}"level":${'{"level":'.repeat(24)}["bottom",${random.int(0, 9)}]${'}'.repeat(25)}`;

const unicodeKeys: PropertyKind = (random, email) =>
  `{${emailField(email)}"città":"Forlì","名前":"太郎","ключ":${random.int(0, 99)},"مفتاح":"قيمة","🔑‍👩":"🏳️‍🌈","e\u0301":"combining"}`;

const beyond = '"huge":123456789012345678901234567890,"exponent":1.5E+400,';
const exactNumbers: PropertyKind = (random, email, isHostile) =>
  `{${emailField(email)}"above_2_53":9007199254740993,"int64":-9223372036854775808,${isHostile ? beyond : ''}` +
  `"precise":0.1000000000000000055511151231257827,"tiny":4.9e-324,"zero":-0.0,"price":${random.int(1, 99)}.10}`;

const unreadable = String.raw`"lone_surrogate":"\ud800","reversed_pair":"\udc00\ud800","nul":"a\u0000b",`;
const escapes: PropertyKind = (random, _email, isHostile) =>
  `{${isHostile ? unreadable : ''}` +
  String.raw`"quotes":"\"\\\/","controls":"\b\f\n\r\t\u001f","separators":"\u2028\u2029","turns":${random.int(0, 9)}}`;

const unsafeKeys: PropertyKind = (random, email) =>
  `{${emailField(email)}"":"empty key","__proto__":{"polluted":true},"constructor":"text","a.b[0]":${random.int(0, 9)},"toString":null}`;

const longText: PropertyKind = (random, email) =>
  `{${emailField(email)}"note":"${'Fünf Wörter für lange Notizen. '.repeat(random.int(50, 150))}"}`;

/** The rare kinds. A flat one stands beside each, so that most persons are flat and every kind appears. */
const rareKinds: readonly PropertyKind[] = [
  nested,
  () => 'null',
  arrays,
  unicodeKeys,
  exactNumbers,
  nested,
  escapes,
  () => '{}',
  deep,
  unsafeKeys,
  () => '["not","an","object"]',
  longText,
];
const kinds = rareKinds.flatMap((kind) => [flat, kind]);
const withEmail = new Set([flat, nested, arrays, deep, unicodeKeys, exactNumbers, unsafeKeys, longText]);

const countries = ['AT', 'BR', 'DE', 'FR', 'GB', 'IN', 'JP', 'KE', 'US'] as const;

function emailField(email: string | null): string {
  return email === null ? '' : `"email":"${email}",`;
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
