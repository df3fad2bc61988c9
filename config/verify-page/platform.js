// What verify.mjs takes from Node.js, for a worker of a browser: bytes, files that were chosen, hashes and signatures.

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const refuse = (why) => {
  throw new RangeError(why);
};

const [encoder, decoder] = [new TextEncoder(), new TextDecoder('utf-8', { ignoreBOM: true })];

/** The bytes of a text. Base64 that is not spelt as it should be gives none: verify.mjs compares it with its one spelling. */
function bytesIn(text, encoding) {
  if (encoding === undefined) return encoder.encode(text);
  if (encoding === 'hex') return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/** The part of Node's Buffer that verify.mjs uses. */
export class Bytes extends Uint8Array {
  static from(source, encoding) {
    return new Bytes(typeof source === 'string' ? bytesIn(source, encoding) : source);
  }
  static alloc(size) {
    return new Bytes(size);
  }
  static allocUnsafe(size) {
    return new Bytes(size);
  }
  static concat(parts) {
    const whole = new Bytes(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
  equals(other) {
    if (this.length !== other.length) return false;
    for (let at = 0; at < this.length; at += 1) if (this[at] !== other[at]) return false;
    return true;
  }
  toString(encoding) {
    if (encoding === 'hex') return hexOf(this);
    if (encoding === undefined || encoding === 'utf8') return decoder.decode(this);
    let characters = '';
    for (const byte of this) characters += String.fromCharCode(byte);
    if (encoding === 'latin1') return characters;
    const base64 = btoa(characters);
    return encoding === 'base64' ? base64 : base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  }
  readUIntBE(at, length) {
    if (!(length >= 1 && length <= 6 && at + length <= this.length)) refuse('not within the bytes');
    return this.subarray(at, at + length).reduce((sum, byte) => sum * 256 + byte, 0);
  }
  readBigUInt64BE(at) {
    return new DataView(this.buffer, this.byteOffset).getBigUint64(at);
  }
}

const primes = [];
for (let number = 2; primes.length < 64; number += 1)
  if (primes.every((prime) => number % prime !== 0)) primes.push(number);
/** The first 32 bits of the fraction of a root. A cube root is found in whole numbers: a floating one has too few digits. */
function fractionOf(prime, degree) {
  const wanted = BigInt(prime) << BigInt(32 * degree);
  let root = 0n;
  for (let bit = 1n << 36n; bit > 0n; bit >>= 1n) if ((root + bit) ** BigInt(degree) <= wanted) root += bit;
  return Number(root & 0xffffffffn) | 0;
}
const sha256Begin = primes.slice(0, 8).map((prime) => fractionOf(prime, 2));
const sha256Rounds = Int32Array.from(primes, (prime) => fractionOf(prime, 3));
const schedule = new Int32Array(64);

/** Takes a block of 64 bytes into the state of SHA-256 (FIPS 180-4, 6.2.2). */
function takeBlock(state, bytes, start) {
  for (let at = 0; at < 16; at += 1) {
    const from = start + 4 * at;
    schedule[at] = (bytes[from] << 24) | (bytes[from + 1] << 16) | (bytes[from + 2] << 8) | bytes[from + 3];
  }
  for (let at = 16; at < 64; at += 1) {
    const x = schedule[at - 15];
    const y = schedule[at - 2];
    const small = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const large = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    schedule[at] = (schedule[at - 16] + small + schedule[at - 7] + large) | 0;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let at = 0; at < 64; at += 1) {
    const sumE = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const first = (h + sumE + ((e & f) ^ (~e & g)) + sha256Rounds[at] + schedule[at]) | 0;
    const sumA = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const second = (sumA + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

/** A SHA-256 that takes bytes piece by piece, as Node's does. */
export function sha256Hash() {
  const state = Int32Array.from(sha256Begin);
  const block = new Uint8Array(64);
  let length = 0;
  const hash = {
    update(bytes) {
      let at = 0;
      while (at < bytes.length) {
        const filled = length % 64;
        const taken = Math.min(64 - filled, bytes.length - at);
        if (taken === 64) takeBlock(state, bytes, at);
        else {
          block.set(bytes.subarray(at, at + taken), filled);
          if (filled + taken === 64) takeBlock(state, block, 0);
        }
        at += taken;
        length += taken;
      }
      return hash;
    },
    digest() {
      const end = new Bytes(64 - ((length + 8) % 64) + 8);
      end[0] = 0x80;
      const view = new DataView(end.buffer);
      view.setBigUint64(end.length - 8, BigInt(length) * 8n);
      hash.update(end);
      const digest = new Bytes(32);
      const words = new DataView(digest.buffer);
      for (let at = 0; at < 8; at += 1) words.setInt32(4 * at, state[at]);
      return digest;
    },
  };
  return hash;
}

const hashNames = { sha1: 'SHA-1', sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' };
/** The curves that WebCrypto knows, by their name in DER; and the bytes of a number of each. */
const curves = {
  '06082a8648ce3d030107': ['P-256', 32],
  '06052b81040022': ['P-384', 48],
  '06052b81040023': ['P-521', 66],
};

/** A signature of ECDSA as WebCrypto takes it, of the DER that certificates have; undefined for what is no such signature. */
function plainSignature(der, length, derParts) {
  try {
    const numbers = derParts(derParts(der, '30')[0], '02 02').map((number) => {
      const isPositive = number.length > 0 && number[0] < 0x80;
      const isMinimal = number[0] !== 0 || number[1] >= 0x80 || number.length === 1;
      const digits = number[0] === 0 ? number.subarray(1) : number;
      if (!isPositive || !isMinimal || digits.length > length) refuse('not a number of the curve');
      return Bytes.concat([Bytes.alloc(length - digits.length), digits]);
    });
    return Bytes.concat(numbers);
  } catch {
    return undefined;
  }
}

/**
 * Whether a signature is good, by WebCrypto. What is no key signs nothing. Throws for what this browser cannot check, which is
 * no verdict.
 */
async function isSignedBy({ key, format }, digest, bytes, signature, derParts) {
  let [algorithm, signed] = [{ name: 'Ed25519' }, signature];
  if (format === 'der') {
    const hash = hashNames[digest];
    algorithm = { name: 'RSASSA-PKCS1-v1_5', hash };
    const [keyAlgorithm] = derParts(derParts(key, '30')[0], '30 03');
    const [kind, parameters] = derParts(keyAlgorithm, '06* ..');
    if (kind.toString('hex') === '06072a8648ce3d0201') {
      const [namedCurve, length] = curves[parameters.toString('hex')] ?? [];
      if (namedCurve === undefined)
        throw new Error('the key of a time stamp is on a curve that browsers do not know; verify.mjs checks it');
      algorithm = { name: 'ECDSA', hash, namedCurve };
      signed = plainSignature(signature, length, derParts);
    }
  }
  if (signed === undefined) return false;
  const imported = await crypto.subtle
    .importKey(format === 'der' ? 'spki' : 'jwk', key, algorithm, false, ['verify'])
    .catch((error) => {
      if (error.name === 'DataError') return undefined;
      throw new Error(
        `this browser cannot check a signature of ${algorithm.name} (${error.message}); take a newer one, or verify.mjs`,
      );
    });
  return imported !== undefined && crypto.subtle.verify(algorithm, imported, signed, bytes);
}

/**
 * Hashes and signatures, as verify.mjs asks for them: at once. WebCrypto answers later, so a run is told something in the meantime,
 * and its outcome is thrown away; `open` has what it asked and what finds the answer. A run that asks nothing new is the true one.
 */
export function cryptoOf(answers, open, partsOf) {
  const ask = (question, find, meanwhile) => {
    if (answers.has(question)) return answers.get(question);
    open.set(question, find);
    return meanwhile;
  };
  return {
    createHash(name) {
      const pieces = [];
      if (name === 'sha256') return sha256Hash();
      const hash = {
        update: (bytes) => pieces.push(Bytes.from(bytes)) && hash,
        digest() {
          const bytes = Bytes.concat(pieces);
          const find = async () => new Bytes(await crypto.subtle.digest(hashNames[name], bytes));
          return ask(`${name} ${hexOf(bytes)}`, find, Bytes.alloc(0));
        },
      };
      return hash;
    },
    createPublicKey: (key) => key,
    verify(digest, bytes, key, signature) {
      const question = JSON.stringify([
        digest,
        key.format,
        key.key.x ?? hexOf(key.key),
        hexOf(bytes),
        hexOf(signature),
      ]);
      // What a run holds may be changed after it.
      const copies = [Bytes.from(bytes), Bytes.from(signature)];
      return ask(question, () => isSignedBy(key, digest, ...copies, partsOf()), true);
    },
  };
}

/** The chosen files, by path, as verify.mjs reads them. Small ones are read once, so that a run sees what the one before saw. */
export function filesOf(files, onRead) {
  const reader = new FileReaderSync();
  const folders = new Set();
  for (const path of files.keys())
    for (let end = path.indexOf('/'); end !== -1; end = path.indexOf('/', end + 1)) folders.add(path.slice(0, end));
  const kept = new Map();
  const bytesOf = (path) => {
    if (!kept.has(path)) kept.set(path, new Bytes(reader.readAsArrayBuffer(files.get(path))));
    return kept.get(path);
  };
  return {
    bytesOf,
    existsSync: (path) => files.has(path) || folders.has(path),
    statSync(path) {
      if (!files.has(path) && !folders.has(path)) throw new Error(`there is no ${path}`);
      return { isFile: () => files.has(path), isDirectory: () => folders.has(path) };
    },
    readdirSync(folder) {
      const inside = [...files.keys()].filter((path) => path.startsWith(`${folder}/`));
      return [...new Set(inside.map((path) => path.slice(folder.length + 1).split('/')[0]))];
    },
    readFileSync: (path, encoding) => (encoding === undefined ? bytesOf(path) : bytesOf(path).toString(encoding)),
    openSync: (path) => ({ file: files.get(path), at: 0 }),
    readSync(open, buffer) {
      const piece = new Uint8Array(reader.readAsArrayBuffer(open.file.slice(open.at, open.at + buffer.length)));
      buffer.set(piece);
      open.at += piece.length;
      onRead(open.at / open.file.size);
      return piece.length;
    },
    closeSync() {},
  };
}
