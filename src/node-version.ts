import { stderr, versions, exit } from 'node:process';

// Imported before anything else: a package that needs a newer Node would fail with words that nobody understands.
const [major = 0, minor = 0] = versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 12)) {
  stderr.write(
    `analytics-mirror needs Node 24.12 or newer and this is ${versions.node}; run it as \`npm run --silent mirror -- …\`\n`,
  );
  exit(2);
}
