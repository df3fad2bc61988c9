import { expect, test } from 'vitest';
import { isAuthorized, isHostAllowed, refuseOpenAccess } from '../../src/status/access.ts';

const token = '0123456789abcdef0123456789abcdef';
const rules = { host: '0.0.0.0', allowedHosts: ['mirror.example.com', '2001:db8::7'], token };

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

test.each([
  'localhost',
  'localhost:8790',
  '127.0.0.1:8790',
  '127.8.9.10',
  '[::1]:8790',
  'LOCALHOST',
  'mirror.example.com',
  'Mirror.Example.com:443',
  '[2001:db8::7]:8790',
  '0.0.0.0:8790',
])('%s is a name of this server', (host) => {
  expect(isHostAllowed(host, rules)).toBe(true);
});

test.each([
  undefined,
  '',
  'evil.example.com',
  'mirror.example.com.evil.com',
  'evil.com/mirror.example.com',
  'localhost@evil.com',
  'localhost.evil.com',
  '127.0.0.1.evil.com',
  '10.0.0.1',
  'localhost,evil.com',
  'evil.com#localhost',
])('%s is none', (host) => {
  expect(isHostAllowed(host, rules)).toBe(false);
});

test('the password has to be the token; the user name is anything', () => {
  expect(isAuthorized(basic(`:${token}`), token)).toBe(true);
  expect(isAuthorized(basic(`prometheus:${token}`), token)).toBe(true);
  const refused = [
    undefined,
    '',
    token,
    `Bearer ${token}`,
    basic(token.slice(1)),
    basic(`a:${token}x`),
    basic('a:'),
    'Basic !',
  ];
  for (const header of refused) expect(isAuthorized(header, token)).toBe(false);
  expect(isAuthorized(basic(`a:b:${token}`), token)).toBe(false);
  expect(isAuthorized(undefined, null)).toBe(true);
});

test('nothing but loopback is served without a token, and none that is easily guessed', () => {
  for (const host of ['127.0.0.1', 'localhost', '::1', '[::1]'])
    expect(() => refuseOpenAccess({ host, allowedHosts: [], token: null })).not.toThrow();
  for (const host of ['0.0.0.0', '::', '10.0.0.1', 'example.com'])
    expect(() => refuseOpenAccess({ host, allowedHosts: [], token: null })).toThrow(/open to everyone/);
  expect(() => refuseOpenAccess({ ...rules, token: 'short' })).toThrow(/shorter than 16/);
  expect(() => refuseOpenAccess(rules)).not.toThrow();
});
