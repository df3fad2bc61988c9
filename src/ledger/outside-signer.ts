import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError, systemCode } from '../core/errors.ts';
import { isSignedBy, privateKeyOf, publicKeyOf, signBytes } from './note.ts';
import { openFile } from '../core/open-file.ts';

/** An Ed25519 key that is not in the data folder. */
export type OutsideSigner = { publicKey: Buffer; sign: (content: Buffer) => Buffer };

/** A key of which the seed is known: 32 bytes. */
export function seedSigner(seed: Buffer): OutsideSigner {
  const privateKey = privateKeyOf(seed);
  return { publicKey: publicKeyOf(privateKey), sign: (content) => signBytes(content, privateKey) };
}

const signatureBytes = 64;
/** More than a signature in base64 with white space around it. */
const outputBytesMax = 1000;

/** A program that signs, the key that confirms what it signs, and the environment that it gets. */
export type SigningProgram = {
  command: readonly string[];
  publicKey: Buffer;
  environment: Readonly<Record<string, string | undefined>>;
  timeoutMs?: number;
};

/**
 * A key that a program signs with, such as that of a token or of a key service. The program gets the bytes on standard input, and
 * writes the signature to standard output: 64 bytes, or their base64 and perhaps a newline. It is run without a shell, and
 * without this program's own secrets. A signature that the public key does not confirm is refused, as is no answer in time.
 */
export function commandSigner(program: SigningProgram): OutsideSigner {
  const { command, publicKey } = program;
  const refuse = (what: string): AppError =>
    new AppError(`the program of \`audit.signer\`, ${command[0]}, ${what}`, {
      code: 'storage',
      hint: 'run it by hand; docs/operations/signing-key.md says what it gets and what it has to print',
    });
  return {
    publicKey,
    sign: (content) => {
      const { problem, printed } = runProgram(program, content);
      if (problem !== undefined) throw refuse(problem);
      const isRaw = printed.length === signatureBytes;
      const signature = isRaw ? printed : Buffer.from(printed.toString('latin1').trim(), 'base64');
      if (signature.length !== signatureBytes) throw refuse('printed no Ed25519 signature');
      if (!isSignedBy(content, signature, { name: '', publicKey }))
        throw refuse('printed a signature that `publicKey` does not confirm');
      return signature;
    },
  };
}

/** Runs a program on content. Its input and output are files: sockets, as Node makes them, cannot be opened as /dev/stdin. */
function runProgram(
  { command: [program = '', ...args], environment, timeoutMs = 20_000 }: SigningProgram,
  content: Buffer,
): { problem: string | undefined; printed: Buffer } {
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('MIRROR_')));
  using folder = mkdtempDisposableSync(join(tmpdir(), 'analytics-mirror-sign-'));
  const [input, output] = [join(folder.path, 'input'), join(folder.path, 'output')];
  writeFileSync(input, content);
  using from = openFile(input);
  using to = openFile(output, 'w');
  const { status, error } = spawnSync(program, args, {
    env,
    stdio: [from.descriptor, to.descriptor, 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const code = systemCode(error);
  const printed = statSync(output).size > outputBytesMax ? Buffer.alloc(0) : readFileSync(output);
  if (code === 'ETIMEDOUT') return { problem: `did not sign within ${timeoutMs / 1000} seconds`, printed };
  if (code !== undefined) return { problem: `cannot be run (${code})`, printed };
  return { problem: status === 0 ? undefined : `ended with ${status ?? 'a signal'}`, printed };
}
