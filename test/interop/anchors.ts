import { equal, match, ok } from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Sqlite from 'better-sqlite3';
import { systemClock } from '../../src/core/clock.ts';
import { consistencyProof, rootOf } from '../../src/ledger/merkle-proof.ts';
import { inclusionProof } from '../ledger/inclusion-proof.ts';
import { leafHash } from '../../src/ledger/merkle.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { lifeOf, plantKeys } from '../ledger/ledger-fixture.ts';

// Anchors that others have written: OpenSSL's time-stamp authority, and a witness (litewitness), which has to refuse a fork.
// What they and Go's libraries for signed notes and logs make of our files. `.ci/anchors` installs what it needs.

process.umask(0o077);
const programs = process.env['ANCHOR_PROGRAMS'] ?? '';
const keys = fileURLToPath(new URL('../anchor/keys', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mirror-interop-'));
const dataDir = join(folder, 'data');
const ledger = join(dataDir, 'ledger');
const children: ChildProcess[] = [];

/** Runs a program to its end, which has to come with a code. Returns what it printed. */
function run(program: string, args: readonly string[], options: { input?: string; code?: number } = {}): string {
  const { input, code = 0 } = options;
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    cwd: root,
    ...(input === undefined ? {} : { input }),
  });
  equal(status, code, `${program} ${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout;
}

/** Starts a program, and resolves with the first line of its standard error that a pattern matches. */
async function start(program: string, args: readonly string[], pattern: RegExp): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  for await (const line of createInterface(child.stderr)) {
    const [, found] = pattern.exec(line) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(`${program} ended`);
}

/** A time-stamp authority: OpenSSL's, behind HTTP. */
async function startAuthority(): Promise<string> {
  const settings = join(folder, 'tsa.cnf');
  writeFileSync(join(folder, 'serial'), '01\n');
  writeFileSync(
    settings,
    `[tsa]\ndefault_tsa=own\n[own]\nserial=${folder}/serial\nsigner_cert=${keys}/authority-ec.pem\nsigner_key=${keys}/authority-ec.key\n` +
      'signer_digest=sha384\ndefault_policy=1.2.3.4.1\ndigests=sha256\naccuracy=secs:1\nordering=no\ntsa_name=yes\ness_cert_id_chain=no\n',
  );
  const server = createServer((request, response) => {
    void request.toArray().then((pieces) => {
      const [query, reply] = [join(folder, 'query'), join(folder, 'reply')];
      writeFileSync(query, Buffer.concat(pieces as Buffer[]));
      run('openssl', ['ts', '-reply', '-config', settings, '-queryfile', query, '-out', reply]);
      return response.writeHead(200, { 'content-type': 'application/timestamp-reply' }).end(readFileSync(reply));
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A witness that knows the ledger's keys. */
async function startWitness(): Promise<{ url: string; key: string }> {
  const [socket, database, key] = [join(folder, 'agent'), join(folder, 'witness.db'), join(folder, 'witness')];
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
  children.push(agent);
  run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const added = spawnSync('ssh-add', [key], { env: { ...process.env, SSH_AUTH_SOCK: socket }, encoding: 'utf8' });
  equal(added.status, 0, added.stderr);
  const fingerprint = run('ssh-keygen', ['-l', '-f', key]).split(' ')[1] ?? '';
  const db = new Sqlite(database);
  db.exec('CREATE TABLE log (origin TEXT PRIMARY KEY, tree_size INTEGER NOT NULL, tree_hash TEXT NOT NULL)');
  db.exec('CREATE TABLE key (origin TEXT NOT NULL, key TEXT NOT NULL, FOREIGN KEY(origin) REFERENCES log(origin))');
  for (const [index, vkey] of vkeys().entries()) {
    const [origin] = vkey.split('+');
    if (index === 0) db.prepare('INSERT INTO log VALUES (?, 0, ?)').run(origin, rootOf([]).toString('base64'));
    db.prepare('INSERT INTO key VALUES (?, ?)').run(origin, vkey);
  }
  db.close();
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const args = ['-name', 'witness.test/interop', '-db', database, '-ssh-agent', socket, '-key', fingerprint];
  const vkey = await start(join(programs, 'litewitness'), [...args, '-listen', `127.0.0.1:${port}`], /vkey=(\S+)/);
  await new Promise((resolve) => setTimeout(resolve, 500));
  return { url: `http://127.0.0.1:${port}`, key: vkey };
}

function vkeys(): string[] {
  return readFileSync(join(ledger, 'public-keys.txt'), 'utf8').trim().split('\n');
}

function grow(n: number, epoch: number): void {
  openLedger(dataDir, systemClock).append(lifeOf(n, epoch).flat());
}

try {
  mkdirSync(dataDir);
  plantKeys(dataDir);
  grow(1, 1);
  openLedger(dataDir, systemClock).rotateKey();
  const [authority, witness] = [await startAuthority(), await startWitness()];
  const anchors = [
    { timeStampAuthority: authority, certificates: join(keys, 'authority-root.pem') },
    { witness: witness.url, key: witness.key },
  ];
  /** Has the ledger anchored by the command, asynchronously: the authority is in this process. */
  const anchor = async (code: number): Promise<string> => {
    const args = [
      'audit',
      'anchor',
      '--set',
      `dataDir=${dataDir}`,
      '--set',
      `audit.anchors=${JSON.stringify(anchors)}`,
    ];
    const child = spawn(process.execPath, ['src/main.ts', ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    const printed = (await child.stdout.toArray()).join('');
    equal(await ended, code, printed);
    return printed;
  };
  match(await anchor(0), /^anchored .*\nanchored .*20 entries\n$/);
  const older = join(folder, 'older');
  cpSync(ledger, older, { recursive: true });
  grow(2, 2);
  match(await anchor(0), /has cosigned 39 entries\n$/);

  const stamps = readdirSync(join(ledger, 'time-stamps'));
  equal(stamps.length, 2);
  for (const file of stamps) {
    const note = readFileSync(join(ledger, 'checkpoints', `${file.split('-')[0]}.txt`), 'utf8');
    writeFileSync(join(folder, 'text'), `${note.split('\n').slice(0, 3).join('\n')}\n`);
    const token = ['-token_in', '-in', join(ledger, 'time-stamps', file)];
    const verify = ['ts', '-verify', '-data', join(folder, 'text'), ...token];
    run('openssl', [...verify, '-CAfile', join(keys, 'authority-root.pem')]);
    writeFileSync(join(folder, 'text'), note);
    run('openssl', [...verify, '-CAfile', join(keys, 'authority-root.pem')], { code: 1 });
  }
  process.stdout.write(`openssl: ${stamps.length} time stamps\n`);

  const lines = readFileSync(join(ledger, 'entries.jsonl'), 'utf8').trim().split('\n');
  const leaves = lines.map((line) => leafHash(Buffer.from(line)));
  const encoded = (hashes: readonly Buffer[]): string[] => hashes.map((hash) => hash.toString('base64'));
  const sizes = readdirSync(join(ledger, 'checkpoints')).map((file) => Number(file.replace('.txt', '')));
  const [firstKey, secondKey] = vkeys();
  const task = {
    witness: witness.key,
    checkpoints: sizes.map((size) => ({
      note: readFileSync(join(ledger, 'checkpoints', `${String(size).padStart(9, '0')}.txt`), 'utf8'),
      key: size < 20 ? firstKey : secondKey,
      cosigned: size >= 20,
    })),
    inclusions: lines.map((line, index) => ({
      index,
      line: Buffer.from(line).toString('base64'),
      proof: encoded(inclusionProof(leaves, index)),
    })),
    consistencies: sizes.slice(0, -1).map((size) => encoded(consistencyProof(leaves, size))),
  };
  const check = join(programs, 'check-notes');
  process.stdout.write(`Go: ${run(check, [], { input: JSON.stringify(task) })}`);
  const forged = { ...task, consistencies: task.consistencies.map((proof) => proof.toReversed()) };
  run(check, [], { input: JSON.stringify(forged), code: 1 });

  const policy = {
    policy: 'analytics-mirror/anchor-policy@1',
    public_key: firstKey,
    max_age_seconds: 3600,
    time_stamps: { needed: 1, authorities: [readFileSync(join(keys, 'authority-root.pem'), 'utf8')] },
    witnesses: { needed: 1, keys: [witness.key] },
  };
  writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
  const alone = ['docs/verifier/verify.mjs', ledger, '--policy', join(folder, 'policy.json')];
  match(run(process.execPath, alone), /\nOK\n$/);

  // The operator puts an older ledger back, and goes on with another past, signed with the right key.
  rmSync(ledger, { recursive: true });
  cpSync(older, ledger, { recursive: true });
  match(await anchor(4), /\nrefused .*has seen 39 entries; this ledger has 20/);
  for (const [index, n] of [3, 4].entries()) grow(n, index + 2);
  match(await anchor(4), /\nrefused .*has seen other entries/);
  ok(!readFileSync(join(ledger, 'checkpoints/000000058.txt'), 'utf8').includes('witness.test'));
  process.stdout.write('litewitness: a fork and an older ledger are refused\n');
} finally {
  for (const child of children) child.kill();
  rmSync(folder, { recursive: true, force: true });
}
