import { sha256 } from '../../src/core/digest.ts';
import { isoTime } from '../../src/core/clock.ts';

const newestMs = Date.UTC(2026, 0, 1);
const names = ['Ann Miller', 'Zoë Kravitz', 'Łukasz Żak', 'José Núñez', 'Mei Chen', '山田 太郎'] as const;
const countries = ['AT', 'BR', 'DE', 'FR', 'IN', 'JP', 'KE', 'US'] as const;
const browsers = ['Chrome', 'Firefox', 'Safari'] as const;

/** What the persons of a list are like: plain Latin, one name in three beyond Latin, or that and properties of 4 kB. */
export type Shape = 'latin' | 'mixed' | 'large';

/**
 * The person at a place of the list, newest first, as about 500 bytes of JSON (4,500 where large) in which keys are random. One in
 * twenty differs between generation 0 and 1.
 */
export function personJson(place: number, generation: number, shape: Shape): string {
  const digest = sha256(`person ${place}`);
  const name = shape === 'latin' ? `Ann Miller ${place % 97}` : (names[place % names.length] ?? names[0]);
  const more = shape === 'large' ? `"history":"${digest.repeat(64)}",` : '';
  const email = `person.${digest.slice(0, 8)}@example.com`;
  const distinctIds = [uuidOf(digest.slice(32)), ...(place % 2 === 0 ? [email] : [])];
  const visits = place + (place % 20 === 0 ? generation : 0);
  return (
    `{"id":${place + 1},"name":"${name}","distinct_ids":${JSON.stringify(distinctIds)},"properties":{"email":"${email}",` +
    `"plan":"${place % 5 === 0 ? 'enterprise' : 'free'}","country":"${countries[place % countries.length]}","visits":${visits},` +
    `"$browser":"${browsers[place % browsers.length]}","$initial_referrer":"https://example.org/?q=analytics&campaign=${digest.slice(8, 16)}",` +
    `${more}"opted_in":${place % 3 === 0},"company":{"name":"${shape === 'latin' ? 'Societe' : 'Société'} d'Essai ${place % 900}","size":${place % 5000}},"tags":["beta","vip"]},` +
    `"created_at":"${isoTime(newestMs - place * 1000).slice(0, -1)}${String(place % 1000).padStart(3, '0')}Z","uuid":"${uuidOf(digest)}"}`
  );
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
