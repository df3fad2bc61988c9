import { request } from 'node:http';

// Asks a local port for /healthz and /readyz, again and again for as many milliseconds as it is told. Prints how long the
// slowest answer took, and how many questions had no answer.
const [port, forMs] = process.argv.slice(2).map(Number);

function ask(path: string): Promise<number | null> {
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const beganAt = performance.now();
  const sent = request({ host: '127.0.0.1', port, path, agent: false, timeout: 20_000 }, (response) => {
    response.resume().on('end', () => resolve(performance.now() - beganAt));
  });
  sent.on('timeout', () => sent.destroy());
  sent.on('error', () => resolve(null));
  sent.end();
  return promise;
}

const until = performance.now() + (forMs ?? 0);
const took: (number | null)[] = [];
while (performance.now() < until) took.push(await ask('/healthz'), await ask('/readyz'));
const answered = took.filter((ms) => ms !== null);
process.stdout.write(
  JSON.stringify({
    asked: took.length,
    unanswered: took.length - answered.length,
    slowestMs: Math.round(Math.max(...answered)),
  }),
);
