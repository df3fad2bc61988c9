import { versions } from 'node:process';

// Both entries load this first: on an older Node, another module would fail with an error that does not name the cause. So this file
// has only what Node 18 can read.

const [major = 0, minor = 0] = versions.node.split('.').map(Number);

/** That this Node is too old for the program; undefined where it is not. */
export const oldNode: string | undefined =
  major < 24 || (major === 24 && minor < 12)
    ? `analytics-mirror needs Node 24.12 or newer, and this is ${versions.node}`
    : undefined;
