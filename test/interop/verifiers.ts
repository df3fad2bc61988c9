import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { verify, verifyBundle } from '../../docs/verifier/verify.mjs';
import { linesOf, type Case } from './damage/case.ts';
import { damaged, writeCase } from './damage/damaged.ts';
import { soundCases } from './damage/ledgers.ts';
import { randomOf } from './damage/random.ts';

// Damages ledgers, bundles and receipts, and compares what two verifiers say of them: `verify.mjs`, and the one in second-verifier/, which
// was written from the pages of docs/verifier alone. Arguments: the Python of the second, how many, the first seed.

const [python = 'python3', count = '5000', firstSeed = '1'] = process.argv.slice(2);
const second = fileURLToPath(new URL('second-verifier/verify.py', import.meta.url));
const first = fileURLToPath(new URL('../../docs/verifier/verify.mjs', import.meta.url));
/** Of so many cases one is judged by the commands too, with their exit codes. */
const commandsEach = 100;

type Verdict = {
  ok: boolean;
  problems: { where: string; problem: string }[];
  warnings: { where: string; problem: string }[];
};
/** A verdict as it is compared: in one order. */
function comparable(verdict: Verdict): string {
  const sorted = (places: Verdict['problems']): string[] =>
    [...new Set(places.map(({ where, problem }) => `${where}: ${problem}`))].toSorted();
  const { ok, size, rootHash, checkpoints, signed, entries } = verdict as Verdict & Record<string, unknown>;
  const own = { ok, size, rootHash, checkpoints, signed, entries };
  return JSON.stringify({ ...own, problems: sorted(verdict.problems), warnings: sorted(verdict.warnings) });
}

function firstVerdict({ text, certificates, kept, nowMs }: Case, folder: string): Verdict {
  if (text !== undefined) return verifyBundle({ text, publicKey: kept.publicKey });
  return verify({ folder, ...kept, certificates: Object.fromEntries(certificates), now: nowMs });
}

/** Asks the second verifier, a process of its own, case after case. */
function startSecond(): { ask: (given: Case, folder: string) => Promise<Verdict>; stop: () => void } {
  const child = spawn(python, [second, '--tasks'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async ({ text, certificates, kept, nowMs }: Case, folder: string): Promise<Verdict> => {
    const named = Object.fromEntries([...certificates].map(([name, bytes]) => [name, bytes.toString('base64')]));
    child.stdin.write(`${JSON.stringify({ text, folder, ...kept, certificates: named, now: nowMs })}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error('the second verifier ended');
    return JSON.parse(value) as Verdict;
  };
  return { ask, stop: () => child.stdin.end() };
}

/** The exit codes of both commands. They know no other time than the present one. */
function exitCodes({ text, certificates, kept }: Case, folder: string): (number | null)[] {
  const file = (name: string, content: string | Buffer): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const { publicKey, checkpoint, receipt } = kept;
  const args = [text === undefined ? folder : file('carried', text)];
  if (publicKey !== undefined) args.push('--public-key', file('kept.pub', publicKey));
  if (checkpoint !== undefined && text === undefined) args.push('--checkpoint', file('kept.txt', checkpoint));
  if (receipt !== undefined && text === undefined) args.push('--receipt', file('kept.json', receipt));
  if (text === undefined)
    for (const [name, bytes] of certificates) args.push('--certificate', file(`certificate-${name}`, bytes));
  return [
    [process.execPath, first],
    [python, second],
  ].map(([program = '', script = '']) => spawnSync(program, [script, ...args]).status);
}

/** What both say of the case of a seed; undefined where they agree. */
async function disagreement(
  given: Case,
  folder: string,
  ask: ReturnType<typeof startSecond>['ask'],
): Promise<string | undefined> {
  const said = [firstVerdict(given, folder), await ask(given, folder)].map(comparable);
  return said[0] === said[1] ? undefined : `verify.mjs: ${said[0]}\nsecond:     ${said[1]}`;
}

async function main(): Promise<void> {
  const sound = soundCases();
  const work = mkdtempSync(join(tmpdir(), 'mirror-damaged-'));
  const { ask, stop } = startSecond();
  const started = Date.now();
  const tried = new Map<string, number>();
  const codes = new Set<string>();
  let [wrong, accepted, commands] = [0, 0, 0];
  for (const each of sound) {
    writeCase(each, join(work, 'sound'));
    const found = await disagreement(each, join(work, 'sound'), ask);
    if (found !== undefined) throw new Error(`they disagree about a sound case:\n${found}`);
  }
  for (let seed = Number(firstSeed); seed < Number(firstSeed) + Number(count); seed += 1) {
    const { given, damages } = damaged(sound, randomOf(seed));
    for (const name of damages) tried.set(name, (tried.get(name) ?? 0) + 1);
    const folder = join(work, 'case');
    writeCase(given, folder);
    let found = await disagreement(given, folder, ask);
    const { ok, problems } = firstVerdict(given, folder);
    for (const { problem } of problems) codes.add(problem);
    if (ok) accepted += 1;
    if (found === undefined && seed % commandsEach === 0) {
      commands += 1;
      const [one, other] = exitCodes(given, folder);
      if (one !== other) found = `exit codes ${one} and ${other}`;
    }
    if (found === undefined) continue;
    wrong += 1;
    const kept = join(work, `seed-${seed}`);
    writeCase(given, kept);
    writeFileSync(
      join(kept, 'case.json'),
      JSON.stringify({ ...given, files: [...given.files.keys()], lines: linesOf(given).length }, null, 2),
    );
    process.stdout.write(`seed ${seed} (${damages.join(', ')}), kept in ${kept}\n${found}\n\n`);
  }
  stop();
  const seconds = ((Date.now() - started) / 1000).toFixed(0);
  process.stdout.write(
    `${count} cases from seed ${firstSeed}, ${tried.size} kinds of damage, ${codes.size} kinds of problems, ${accepted} accepted, ${commands} by the commands too: ${wrong} disagreements, ${seconds} s\n`,
  );
  if (wrong === 0) rmSync(work, { recursive: true });
  else process.exitCode = 1;
}

await main();
