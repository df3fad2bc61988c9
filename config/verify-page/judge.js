// The worker that judges: it runs verify.mjs over the files of one choice.

import { Bytes, cryptoOf, filesOf, sha256Hash } from './platform.js';

/** How often a ledger is read at most, each time with more signatures known. */
const runsMax = 100;
/** So much of what verify.mjs prints is shown. */
const [linesMax, charactersMax] = [20_000, 10_000];

/** What the command of verify.mjs says of files: its exit code and its lines. */
async function judge({ args, files }, onRead) {
  let reading = 0;
  const chosen = filesOf(files, (share) => onRead({ share, reading }));
  const answers = new Map();
  for (let run = 0; run < runsMax; run += 1) {
    reading = run + 1;
    const open = new Map();
    const lines = [];
    const print = (line) => lines.push(line);
    const path = { join: (...parts) => parts.join('/') };
    const node = { fs: chosen, path, url: {}, crypto: cryptoOf(answers, open, () => verifier.derParts) };
    const verifier = verifierOf({ node, Buffer: Bytes, console: { log: print, error: print } });
    const outcome = await verifier.main([...args]).then(
      (code) => ({ code }),
      (error) => ({ code: 2, reason: error.message }),
    );
    if (open.size === 0) {
      const named = args.filter((path) => files.has(path));
      return { ...outcome, lines, digests: named.map((path) => digestOf(chosen.bytesOf(path))) };
    }
    for (const [question, find] of open) answers.set(question, await find());
  }
  throw new Error('its signatures contradict each other too often');
}

const digestOf = (bytes) => sha256Hash().update(bytes).digest().toString('hex');

/** What a page can show of lines: a hostile file can have millions of them. */
function shortened(lines) {
  const short = lines.map((line) => (line.length > charactersMax ? `${line.slice(0, charactersMax)} …` : line));
  const left = short.length - linesMax;
  if (left <= 0) return short;
  return [...short.slice(0, linesMax - 1_000), `… ${left} lines are left out here …`, ...short.slice(-1_000)];
}

/** How many problems a line of verify.mjs tells of: it prints the first ones, and how many more there are. */
const problemsIn = (line) => Number(/^problem: and (\d+) more$/.exec(line)?.[1] ?? 1);

async function answer(task) {
  const onRead = (read) => postMessage({ read });
  const said = await judge(task, onRead).catch((error) => ({ code: 2, reason: error.message, lines: [] }));
  const problems = said.lines.filter((line) => line.startsWith('problem: ')).map(problemsIn);
  postMessage({ ...said, problems: problems.reduce((sum, count) => sum + count, 0), lines: shortened(said.lines) });
}

/** Answers each choice that the page sends. */
export function startWorker() {
  addEventListener('message', ({ data }) => void answer(data));
}
