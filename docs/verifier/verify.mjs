#!/usr/bin/env node
// Verifies a ledger of analytics-mirror without analytics-mirror: one file, Node.js 18 or later, nothing to install.
//
//   node verify.mjs <ledger folder> [--public-key FILE] [--checkpoint FILE] [--receipt FILE] [--policy FILE] [--certificate FILE]…
//   node verify.mjs <bundle, page of a certificate, or receipt> [--public-key FILE] [--policy FILE]
//
// Key and checkpoint are what was kept elsewhere: a line of public-keys.txt, a file of checkpoints/. Without them, a
// ledger that was replaced as a whole, or cut together with its checkpoints, cannot be told from the true one. A
// certificate is the JSON that was issued for a request: its very bytes must be on the ledger. A receipt proves that its
// request was received, and its checkpoint is one that was kept elsewhere. A policy names the time-stamp
// authorities and witnesses outside that an auditor trusts (ANCHORS.md).
// Ends with 0 when nothing is wrong, 1 when something is, 2 when it could not be run, 3 when nothing is wrong and no key,
// checkpoint or policy was given that was kept elsewhere: then the whole may have been replaced. All formats are in FORMAT.md.

import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest();
const words = (text) => text.split(' ');

// ---- What an entry may hold (RECORDS.md) ----

const matches = (pattern) => (value) => isString(value) && pattern.test(value);
const oneOf = (text) => (value) => words(text).includes(value);
const someOf = (isItem) => (value) => Array.isArray(value) && value.length > 0 && value.every(isItem);
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
/** Whether a value is an object of exactly these fields, named in order. */
const hasExactly = (value, names) => isObject(value) && Object.keys(value).sort().join(' ') === names;
const isString = (value) => typeof value === 'string';
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isHex = matches(/^[0-9a-f]{64}$/);
const isUuid = matches(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const isTimeText = matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const isTime = (value) =>
  isTimeText(value) && !Number.isNaN(Date.parse(value)) && new Date(value).toISOString() === value;
const isMachine = matches(/^[a-z0-9][a-z0-9.-]{0,62}$/);
const isTable = matches(/^[a-z_][a-z0-9_]{0,62}(\.[a-z_][a-z0-9_]{0,62}){0,2}$/);
const isFixedTarget = oneOf(
  'upstream.person upstream.events upstream.recordings upstream.playlists mirror aux bucket copies',
);
const isFileTarget = matches(
  /^snapshot:(persons|recordings|playlists|distinct_ids|playlist_recordings|deletions|passes|fence)\/\d{8}T\d{6}\.\d{3}Z\/part-\d{5,}\.parquet$/,
);
const all = (isValue, names) => Object.fromEntries(words(names).map((name) => [name, isValue]));

/** What each field may hold. */
const fields = {
  ...all(
    isCount,
    'seq epoch epoch_from epoch_to persons distinct_ids recordings quarantined files bytes needles hits',
  ),
  ...all(isCount, 'entries rows rows_before rows_removed passed_over left_out steps items token'),
  ...all(isHex, 'subject authorisation encrypted readmitted_reason note old_key new_key report signer'),
  ...all(isTime, 'at due_at events_expected_by until served_at'),
  request: isUuid,
  requests: someOf(isUuid),
  generation: (value) => isCount(value) && value > 0,
  origin: oneOf('manual upstream restore'),
  basis: oneOf(
    'consent_withdrawn objection no_longer_needed unlawful legal_obligation child_consent consumer_request ' +
      'deleted_upstream restored_backup other',
  ),
  decided_by: oneOf('data_protection_officer privacy_team legal_team support automatic'),
  identity: oneOf('logged_in answered_at_address document in_person not_checked'),
  exception: oneOf('free_expression legal_obligation public_health archiving legal_claims other'),
  delete_events: (value) => typeof value === 'boolean',
  continued: (value) => value === true,
  unnamed: (value) => value === true,
  consumer: matches(/^[a-z][a-z0-9_-]{0,39}$/),
  consumers: (value) =>
    someOf(fields.consumer)(value) && value.every((name, at) => at === 0 || value[at - 1] < name),
  seen: (value) =>
    hasFields(value, 'assurance=attested report signer tables not_covered') ||
    hasFields(value, 'assurance=observed tables not_covered'),
  attested: oneOf('attested'),
  observed: oneOf('observed'),
  expected: someOf((value) => hasFields(value, 'consumer tables')),
  tables: someOf(isTable),
  not_covered: (value) => Array.isArray(value) && value.every(isTable),
  machine: isMachine,
  copy: matches(/^[0-9a-f]{32}$/),
  machines: (value) => someOf(isMachine)(value) && value.length <= 1000,
  held_reason: oneOf('shared_identifier several_persons too_many'),
  refused_reason: oneOf('unknown_subject already_erased'),
  attention_reason: oneOf(
    'events_unconfirmed events_overdue events_queued_before events_not_queued reader_holds_wal residue_found outcome_unknown ' +
      'distinct_id_elsewhere upstream_refuses playlist_refused recreated life_exceeded restored listed_again shown_wider ' +
      'file_differs bucket_unreachable bucket_refuses bucket_locked copy_elsewhere',
  ),
  fence: someOf((value) => hasFields(value, 'kind encrypted')),
  kind: oneOf('person_uuid person_id distinct_id recording_id'),
  target: (value) => isFixedTarget(value) || isFileTarget(value),
  result: (value) => Object.hasOwn(assurancesOf, value),
  assurance: oneOf('not_verifiable asserted_by_upstream observed verified'),
  phase: oneOf('control verify'),
  outcome: oneOf('passed failed'),
  certificate: (value) => value === null || isHex(value),
  snapshots: someOf((value) => hasFields(value, 'dataset snapshot_id manifest')),
  found_snapshots: (value) => Array.isArray(value) && (value.length === 0 || fields.snapshots(value)),
  dataset: oneOf('persons recordings playlists distinct_ids playlist_recordings deletions passes fence'),
  snapshot_id: matches(/^\d{8}T\d{6}\.\d{3}Z$/),
  manifest: (value) => value === null || isHex(value),
  cause: oneOf('publication recovery adoption repair'),
  key: oneOf('fence box restore'),
  check: matches(/^[0-9a-f]{32}$/),
  part: oneOf('snapshots fence requests fence_key box_key restore_key'),
  signature: matches(/^[0-9a-f]{128}$/),
};

/** How a request was decided, as far as the operator states it. */
const decision = 'decided_by identity exception';

/** The fields of each type of record, beside type, seq and at. `a?` may be missing; `a=b` is named a and holds a b. */
const records = {
  received: 'request generation origin basis subject authorisation delete_events due_at decided_by? identity? exception?',
  asked: 'request generation subject authorisation due_at identity?',
  answered: 'request generation',
  scoped: 'request generation persons distinct_ids recordings quarantined files',
  held: 'request generation reason=held_reason',
  approved: 'request generation',
  amended: 'request generation basis authorisation? decided_by? identity? exception?',
  refused: 'request generation reason=refused_reason',
  cancelled: 'request generation',
  fencing: 'request generation epoch fence continued? served_at?',
  fenced: 'request generation epoch',
  intent: 'requests target',
  result: 'requests target result assurance rows_before? rows_removed? until? machines?',
  scan: 'requests phase files bytes needles hits passed_over? left_out?',
  locally_verified: 'request generation consumers? expected?',
  awaiting_upstream: 'request generation events_expected_by',
  attention: 'request generation target reason=attention_reason',
  reopened: 'request generation reason=attention_reason unnamed?',
  certified: 'request generation certificate',
  sealed: 'request generation',
  readmitted: 'request generation reason=readmitted_reason entries',
  acknowledged: 'request generation consumer note? seen?',
  replayed: 'epoch_from epoch_to rows',
  drill: 'outcome steps report',
  publishing: 'snapshots',
  published: 'cause snapshots=found_snapshots',
  key_bound: 'key check',
  differs: 'part items',
  mended: 'part items',
  key_rotated: 'old_key new_key signature',
  taken_over: 'machine token copy',
  copy_made: 'machine copy',
  copy_gone: 'copy',
  copy_forgotten: 'copy',
};

/** What each target can come to; any other target is a published file. */
const resultsOf = {
  'upstream.person': 'deleted already_absent still_present not_verifiable',
  'upstream.events': 'kept confirmed partly_deleted unconfirmed not_queued not_verifiable',
  'upstream.recordings':
    'deleted absent deletion_requested not_applicable not_deletable_via_api not_deletable_by_key still_present not_verifiable',
  'upstream.playlists': 'removed not_applicable not_deletable_by_key still_present not_verifiable',
  mirror: 'purged',
  aux: 'purged',
  bucket: 'absent locked',
  copies: 'absent',
  file: 'rewritten file_gone',
};
/** How far each result can be believed. */
const assurancesOf = {
  deleted: 'observed',
  already_absent: 'observed',
  still_present: 'observed',
  kept: 'observed',
  absent: 'observed not_verifiable',
  not_applicable: 'observed not_verifiable',
  removed: 'observed not_verifiable',
  confirmed: 'asserted_by_upstream',
  partly_deleted: 'asserted_by_upstream',
  deletion_requested: 'asserted_by_upstream not_verifiable',
  not_verifiable: 'not_verifiable',
  unconfirmed: 'not_verifiable',
  not_queued: 'not_verifiable',
  not_deletable_via_api: 'not_verifiable',
  not_deletable_by_key: 'not_verifiable',
  purged: 'verified observed',
  rewritten: 'verified',
  file_gone: 'observed',
  locked: 'observed',
};

/** Whether a target can have ended as a record says. */
function isPossibleEnd({ target, result, assurance, until, machines }) {
  return (
    words(resultsOf[isFixedTarget(target) ? target : 'file']).includes(result) &&
    words(assurancesOf[result]).includes(assurance) &&
    (until === undefined || words('locked partly_deleted').includes(result)) &&
    (machines === undefined || target === 'copies')
  );
}

/** Whether a value is an object with these fields, good ones, and no others. */
function hasFields(value, shape) {
  if (!isObject(value)) return false;
  const wanted = words(shape).map((field) => field.replace('?', '').split('='));
  const isKnown = (key) => wanted.some(([name]) => name === key);
  const isGood = ([name, kind = name], at) =>
    Object.hasOwn(value, name) ? fields[kind](value[name]) : words(shape)[at].includes('?');
  return Object.keys(value).every(isKnown) && wanted.every(isGood);
}

/** Canonical JSON (RFC 8785). Throws for what no entry holds, and for what nests deep. */
function canonicalJson(value, depth = 0) {
  if (value === null || typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  if (typeof value === 'string' && !/\p{Surrogate}/u.test(value)) return JSON.stringify(value);
  if (depth === 100) throw new TypeError('too deep');
  if (Array.isArray(value)) return `[${value.map((each) => canonicalJson(each, depth + 1)).join(',')}]`;
  if (!isObject(value)) throw new TypeError('not a value of an entry');
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${canonicalJson(key)}:${canonicalJson(value[key], depth + 1)}`).join(',')}}`;
}

const attempt = (act) => {
  try {
    return act();
  } catch {
    return undefined;
  }
};

/** A longer line is no entry. */
const lineMax = 2 ** 20;

/** The entry in a line's bytes, or what is wrong with them. */
function readEntry(line) {
  if (line.length > lineMax) return 'too_long';
  const entry = attempt(() => JSON.parse(line.toString('utf8')));
  if (entry === undefined) return 'not_json';
  const canonical = attempt(() => Buffer.from(canonicalJson(entry)));
  if (!canonical?.equals(line)) return 'not_canonical';
  const { type, ...rest } = isObject(entry) ? entry : {};
  const isRecord = typeof type === 'string' && Object.hasOwn(records, type);
  const isGood = isRecord && hasFields(rest, `seq at ${records[type]}`) && (type !== 'result' || isPossibleEnd(rest));
  return isGood ? entry : 'not_in_schema';
}

// ---- Which records may follow which (RECORDS.md) ----

const executing = 'fenced verified reopened';
/** The phases of a request in which a record may come, and the phase it leads to, if to another. */
const steps = {
  scoped: ['received scoped held approved fencing reopened', 'scoped'],
  held: ['scoped held approved fencing', 'held'],
  approved: ['scoped held approved', 'approved'],
  amended: [`received scoped held approved fencing ${executing}`],
  refused: ['received scoped held approved fencing refused', 'refused'],
  cancelled: ['received asked scoped held approved fencing cancelled', 'cancelled'],
  answered: ['asked answered', 'answered'],
  fencing: [`scoped held approved fencing ${executing}`, 'fencing'],
  fenced: ['fencing fenced', 'fenced'],
  locally_verified: [executing, 'verified'],
  awaiting_upstream: [executing],
  attention: [`received scoped held approved fencing ${executing} certified sealed`],
  reopened: [`${executing} certified sealed`, 'reopened'],
  certified: ['verified certified', 'certified'],
  sealed: ['certified refused cancelled sealed', 'sealed'],
  readmitted: [`${executing} certified sealed`],
  acknowledged: [`${executing} certified sealed`],
};

/** A certificate says of each of these how it ended. */
const certifiedTargets = words(
  'upstream.person upstream.events upstream.recordings upstream.playlists mirror',
);

/**
 * Takes record after record; returns what is wrong with one. A request of which one is wrong is judged no further. `isAlone`:
 * the records are those of one request only, so that epochs may be missing between them.
 */
export function recordOrder({ isAlone = false } = {}) {
  const requests = new Map();
  const broken = new Set();
  const manifests = new Map();
  /** What stands of each copy of a cluster that is not gone: `copy_made` or `copy_forgotten`. The holder's is its own. */
  const copies = new Map();
  let ownCopy;
  let epoch = 0;

  function takeTarget(request, { type, target, result, assurance }) {
    const { phase, intents, results, ended } = request;
    if (!words(executing).includes(phase)) return 'wrong_order';
    if (type === 'intent') {
      intents.add(target);
      if (target.startsWith('upstream.') || words('bucket copies').includes(target)) return undefined;
      // What was scanned before says nothing of what is there after this.
      return void Object.assign(request, { isClean: false, phase: phase === 'verified' ? 'fenced' : phase });
    }
    const isDestructive = words('deleted removed purged rewritten deletion_requested').includes(result);
    // A result may be said again: a kill comes between writing it and acting upon it.
    const isExpected = intents.has(target) || results.get(target) === result;
    if (isDestructive && !isExpected) return 'result_without_intent';
    if (words('mirror aux').includes(target) && assurance === 'verified' && !request.isControlled)
      return 'verified_without_control';
    if (target === 'copies' && !isAlone && isCopyElsewhere(assurance)) return 'copy_elsewhere';
    intents.delete(target);
    ended.add(target);
    return void results.set(target, result);
  }

  /** Whether a machine that does not hold the project has a copy; or had one, for a result that is `observed`. */
  function isCopyElsewhere(assurance) {
    return [...copies].some(
      ([copy, stands]) => copy !== ownCopy && (stands === 'copy_made' || assurance === 'observed'),
    );
  }

  function takeCopy({ type, copy }) {
    if (type === 'taken_over') ownCopy = copy;
    if (type === 'copy_gone') copies.delete(copy);
    else if (type !== 'copy_forgotten') copies.set(copy, 'copy_made');
    else if (copies.has(copy)) copies.set(copy, type);
  }

  function takeStep(request, record) {
    const { type, generation, certificate, reason } = record;
    const { phase, isFenced, isOverdue, intents } = request;
    const [phases, next] = steps[type];
    const isNext = type === 'reopened' && phase !== 'reopened';
    if (generation !== request.generation + (isNext ? 1 : 0)) return 'wrong_generation';
    const isException =
      (type === 'sealed' && isOverdue) ||
      (type === 'certified' && certificate === null && words(executing).includes(phase));
    if (!isException && !words(phases).includes(phase)) return 'wrong_order';
    if ((type === 'refused' || type === 'cancelled') && isFenced) return 'wrong_order';
    const isContinued = type === 'fencing' && record.continued;
    if (isContinued && phase !== 'fencing') return 'wrong_order';
    if (type === 'fencing' && (isAlone ? record.epoch <= epoch : record.epoch !== epoch + 1)) return 'wrong_epoch';
    if ((isContinued || type === 'fenced') && record.epoch !== request.epoch) return 'wrong_epoch';
    const saysClean = type === 'locally_verified' || (type === 'certified' && certificate !== null);
    if (saysClean && !request.isClean) return 'verified_without_scan';
    if (type === 'certified' && certificate !== null) {
      if (intents.size > 0) return 'certified_with_open_intent';
      if (!certifiedTargets.every((target) => request.ended.has(target))) return 'certified_without_target';
    }
    if (generation > request.generation) request.results.clear();
    request.generation = generation;
    if (next && !(type === 'scoped' && isFenced)) request.phase = next;
    if (type === 'fencing') request.epoch = record.epoch;
    if (type === 'fenced') request.isFenced = true;
    if (type === 'fenced' || type === 'reopened') request.isClean = false;
    if (type === 'attention' && reason === 'life_exceeded') request.isOverdue = true;
    return undefined;
  }

  function takeFor(id, record) {
    const { type, generation, phase, files, needles, hits } = record;
    const request = requests.get(id);
    if (type === 'received' || type === 'asked') {
      if (request) return 'received_twice';
      if (generation !== 1) return 'wrong_generation';
      const none = { intents: new Set(), ended: new Set(), results: new Map() };
      return void requests.set(id, { phase: type, generation, ...none });
    }
    if (!request) return 'unknown_request';
    if (type === 'intent' || type === 'result') return takeTarget(request, record);
    if (type !== 'scan') return takeStep(request, record);
    // A scan that looked for nothing, or nowhere, shows nothing.
    if (phase === 'verify') request.isClean = hits === 0 && files > 0 && needles > 0;
    else if (hits > 0) request.isControlled = true;
    return undefined;
  }

  /** What is published was about to be; after a kill, what stood before may stand still. What was found is not judged. */
  function takeSnapshots({ type, cause, snapshots }) {
    let found;
    for (const { dataset, snapshot_id: id, manifest } of snapshots) {
      const name = `${dataset}/${id}`;
      const { stands = null, intended } = manifests.get(name) ?? {};
      const isIntended =
        intended !== undefined && (manifest === intended || (cause === 'recovery' && manifest === stands));
      if (type === 'published' && !isIntended && !words('adoption repair').includes(cause))
        found = 'published_without_intent';
      manifests.set(name, type === 'published' ? { stands: manifest } : { stands, intended: manifest });
    }
    return found;
  }

  return (record) => {
    if (record.type === 'publishing' || record.type === 'published') return takeSnapshots(record);
    if (record.type === 'replayed')
      return record.epoch_from <= record.epoch_to && record.epoch_to <= epoch ? undefined : 'wrong_epoch';
    if (record.copy) return takeCopy(record);
    // Of no request.
    if (!record.requests && !record.request) return undefined;
    let found;
    for (const id of record.requests ?? [record.request]) {
      const problem = broken.has(id) ? undefined : takeFor(id, record);
      if (problem) broken.add(id);
      found ??= problem;
    }
    if (record.type === 'fenced' && (isAlone || record.epoch === epoch + 1)) epoch = record.epoch;
    return found;
  };
}

// ---- The tree (RFC 6962, section 2.1) ----

function merkleTree() {
  let size = 0;
  const peaks = []; // the roots of the perfect subtrees, largest first
  return {
    /** Appends a leaf, by its hash. */
    append(leaf) {
      let peak = leaf;
      for (let rest = size; rest % 2 === 1; rest = (rest - 1) / 2)
        peak = sha256(Buffer.of(1), peaks.pop(), peak);
      peaks.push(peak);
      size += 1;
    },
    size: () => size,
    root: () =>
      size === 0 ? sha256() : peaks.reduceRight((right, left) => sha256(Buffer.of(1), left, right)),
  };
}

// ---- Keys and checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint) ----

/** The bytes of a base64 text in its one spelling; undefined for any other. */
function fromBase64(text = '') {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
}

/** The types of signatures: of a note's text, and of a witness (c2sp.org/tlog-cosignature). */
const [noteType, witnessType] = [Buffer.of(1), Buffer.of(4)];
const keyId = ({ name, raw }, type = noteType) => sha256(Buffer.from(`${name}\n`), type, raw).subarray(0, 4);
const vkey = (key, type = noteType) =>
  `${key.name}+${keyId(key, type).toString('hex')}+${Buffer.concat([type, key.raw]).toString('base64')}`;

/** The key of a vkey text; undefined when it is none, in its one spelling. */
function readVkey(line, type = noteType) {
  const [, name, encoded] = /^([^+\s]+)\+[0-9a-f]{8}\+(.+)$/.exec(line) ?? [];
  const key = { name, raw: Buffer.from(encoded ?? '', 'base64').subarray(1) };
  return key.raw.length === 32 && vkey(key, type) === line ? key : undefined;
}

/** The name that a ledger's first key gives it. */
const ledgerName = ({ raw }) => `analytics-mirror/${sha256(raw).toString('hex').slice(0, 32)}`;

/** The keys in a text, one vkey on a line, all of one name; undefined when it is no such list. */
function readVkeys(text) {
  if (!text.endsWith('\n')) return undefined;
  const keys = text
    .slice(0, -1)
    .split('\n')
    .map((line) => readVkey(line));
  return keys.every((key) => key && key.name === keys[0].name) ? keys : undefined;
}

/** The points of a small order, without their signs: any text can be signed by one of these (RFC 8032, 5.1.7), and libraries differ. */
const smallOrder = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
];

function hasSmallOrder(point) {
  const unsigned = Buffer.from(point);
  unsigned[31] &= 0x7f;
  return smallOrder.includes(unsigned.toString('hex'));
}

function isSignedBy(bytes, signature, { raw }) {
  if (hasSmallOrder(raw) || hasSmallOrder(signature.subarray(0, 32))) return false;
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') };
  return verifySignature(null, bytes, createPublicKey({ key: jwk, format: 'jwk' }), signature);
}

function readCheckpoint(note) {
  const end = note.lastIndexOf('\n\n') + 1;
  if (end === 0 || !note.endsWith('\n')) return undefined;
  const text = note.slice(0, end);
  const signatures = note
    .slice(end + 1, -1)
    .split('\n')
    .map((line) => {
      const [, name, encoded] = /^— ([^+\s]+) (.+)$/.exec(line) ?? [];
      return { name, bytes: fromBase64(encoded) };
    });
  const [, origin, size, encoded] = /^([^\n]+)\n(0|[1-9]\d{0,14})\n([^\n]+)\n$/.exec(text) ?? [];
  const root = fromBase64(encoded);
  if (root?.length !== 32 || !signatures.every(({ bytes }) => bytes?.length > 4)) return undefined;
  return { text, origin, size: Number(size), root, signatures };
}

/** Whether a checkpoint has a signature of that key, and each one that says so is. Those of others are left aside. */
function isCheckpointSignedBy({ text, signatures }, key) {
  const isOwn = ({ name, bytes }) => name === key.name && bytes.subarray(0, 4).equals(keyId(key));
  const isGood = ({ bytes }) => bytes.length === 68 && isSignedBy(Buffer.from(text), bytes.subarray(4), key);
  const own = signatures.filter(isOwn);
  return own.length > 0 && own.every(isGood);
}

// ---- Anchors outside: cosignatures and time stamps (ANCHORS.md) ----

/**
 * When a witness cosigned a checkpoint, in seconds, the earliest where it did so more than once; undefined where it did not;
 * NaN where a line that says to be its own is not.
 */
function cosignedAt({ text, signatures }, witness) {
  const isOwn = ({ name, bytes }) =>
    name === witness.name && bytes.subarray(0, 4).equals(keyId(witness, witnessType));
  const times = signatures.filter(isOwn).map(({ bytes }) => {
    const time = bytes.length === 76 ? Number(bytes.readBigUInt64BE(4)) : NaN;
    const signed = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
    return Number.isSafeInteger(time) && isSignedBy(signed, bytes.subarray(12), witness) ? time : NaN;
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The elements that DER bytes consist of. Throws for any other bytes. */
function derItems(bytes) {
  const items = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at];
    const first = bytes[at + 1];
    const more = first > 0x80 ? first - 0x80 : 0;
    const start = at + 2 + more;
    const length = more ? bytes.readUIntBE(at + 2, more) : first;
    const isMinimal = !more || (length >= 0x80 && bytes[at + 2] !== 0);
    const end = start + length;
    if ((tag & 0x1f) === 0x1f || first === 0x80 || !isMinimal || !(end <= bytes.length)) throw new Error('not DER');
    items.push({ tag, content: bytes.subarray(start, end), raw: bytes.subarray(at, end) });
    at = end;
  }
  return items;
}

/**
 * The content of each element in DER bytes, which have to have these tags in this order. A tag with `?` may be missing; one
 * with `*` is given whole, and so is that of an element of any tag, `..`; `…` takes all that follow.
 */
export function derParts(bytes, shape) {
  const items = derItems(bytes);
  const parts = words(shape).map((word) => {
    if (word === '…') return items.splice(0);
    const isThere = word === '..' ? items.length > 0 : items[0]?.tag === Number.parseInt(word, 16);
    if (!isThere && !word.includes('?')) throw new Error('not the right element');
    const item = isThere ? items.shift() : undefined;
    return word === '..' || word.includes('*') ? item?.raw : item?.content;
  });
  if (items.length > 0) throw new Error('more elements');
  return parts;
}

const oids = {
  signedData: '2a864886f70d010702',
  timeStampInfo: '2a864886f70d0109100104',
  contentType: '2a864886f70d010903',
  messageDigest: '2a864886f70d010904',
  certificate: '2a864886f70d010910020c',
  certificateV2: '2a864886f70d010910022f',
  uses: '551d0f',
  keyUse: '551d25',
  timeStamping: '2b06010505070308',
  constraints: '551d13',
  nameConstraints: '551d1e',
};
const digests = {
  '2b0e03021a': 'sha1',
  '608648016503040201': 'sha256',
  '608648016503040202': 'sha384',
  '608648016503040203': 'sha512',
};
const keyKinds = { '2a864886f70d010101': 'rsa', '2a8648ce3d0201': 'ec' };
/** By the algorithm of a signature: the kind of key, and the digest where the algorithm has one of its own. */
const signatureAlgorithms = {
  '2a864886f70d010101': ['rsa'],
  '2a864886f70d01010b': ['rsa', 'sha256'],
  '2a864886f70d01010c': ['rsa', 'sha384'],
  '2a864886f70d01010d': ['rsa', 'sha512'],
  '2a8648ce3d040302': ['ec', 'sha256'],
  '2a8648ce3d040303': ['ec', 'sha384'],
  '2a8648ce3d040304': ['ec', 'sha512'],
};

const demand = (isSo, what) => {
  if (!isSo) throw new Error(what);
};

/** The entry for the algorithm that DER bytes name, without parameters or with none (NULL). */
function algorithmIn(bytes, table) {
  const [oid, parameters] = derParts(bytes, '06 05?');
  const found = table[oid.toString('hex')];
  demand(found && !parameters?.length, 'another algorithm');
  return found;
}

/** Critical extensions that this verifier judges, or that cannot make a certificate less than it is: the uses of a key, policies. */
const knownExtensions = [oids.constraints, oids.keyUse, oids.uses, '551d20'];

const isTrue = (bytes) => bytes?.equals(Buffer.of(0xff)) === true;
const bitsIn = (bytes) => {
  demand(bytes[0] === 0, 'bits that fill no bytes');
  return bytes.subarray(1);
};

/** A certificate (RFC 5280) in DER bytes. Throws for any other bytes. */
function readCertificate(raw) {
  const [whole] = derParts(raw, '30');
  const [signed, algorithm, signature] = derParts(whole, '30* 30 03');
  const [, serial, inner, issuer, validity, subject, key, , , listed] = derParts(
    derParts(signed, '30')[0],
    'a0? 02* 30 30* 30 30* 30* 81? 82? a3?',
  );
  const [from, until, ...others] = derItems(validity).map(({ tag, content }) => timeIn(content, tag === 0x17));
  demand(inner.equals(algorithm) && until !== undefined && others.length === 0, 'no certificate');
  const extensions = new Map();
  const items = listed ? derItems(derParts(listed, '30')[0]) : [];
  for (const item of items) {
    const [oid, critical, value] = derParts(item.content, '06 01? 04');
    extensions.set(oid.toString('hex'), { isCritical: isTrue(critical), value });
  }
  const partsOf = (oid, shape) => (extensions.has(oid) ? derParts(extensions.get(oid).value, shape) : []);
  const [purposes] = partsOf(oids.keyUse, '30');
  const isTimeStamping = purposes && derParts(purposes, '06 …')[0].toString('hex') === oids.timeStamping;
  const isAlone = purposes && derItems(purposes).length === 1;
  const [constraints] = partsOf(oids.constraints, '30');
  const [isAuthority, below] = constraints ? derParts(constraints, '01? 02?') : [];
  const [uses = Buffer.of(0, 0x04)] = partsOf(oids.uses, '03');
  const isTwice = extensions.size < items.length;
  const [keyAlgorithm, keyBits] = derParts(derParts(key, '30')[0], '30 03');
  const kind = keyKinds[derParts(keyAlgorithm, '06 …')[0].toString('hex')];
  const [modulus] = kind === 'rsa' ? derParts(derParts(bitsIn(keyBits), '30')[0], '02 02') : [];
  return {
    ...{ raw, signed, algorithm, signature: bitsIn(signature), issuer, subject, from, until, key, kind },
    sid: Buffer.concat([issuer, serial]),
    isForTimeStamps: !isTwice && extensions.get(oids.keyUse)?.isCritical === true && isTimeStamping && isAlone,
    isAuthority: isTrue(isAuthority) && ((uses[1] ?? 0) & 0x04) !== 0,
    /** How many others may stand between it and the certificate of a time stamp. */
    pathMax: below ? below.readUIntBE(0, Math.min(below.length, 6)) : Infinity,
    isLong: kind === 'ec' || (modulus !== undefined && BigInt(`0x${modulus.toString('hex')}`) >= 2n ** 2047n),
    hasUnjudged:
      isTwice ||
      extensions.has(oids.nameConstraints) ||
      [...extensions].some(([oid, { isCritical }]) => isCritical && !knownExtensions.includes(oid)),
  };
}

/** Whether bytes are signed with the key of a certificate, by a digest and the algorithm in DER bytes. */
function isSignedByCertificate(bytes, signature, { algorithm, digest, certificate }) {
  const [kind, own = digest] = algorithmIn(algorithm, signatureAlgorithms);
  if (own === undefined || (digest ?? own) !== own || kind !== certificate.kind) return false;
  const key = createPublicKey({ key: certificate.key, format: 'der', type: 'spki' });
  return verifySignature(own, bytes, key, signature);
}

/** A time stamp that may be wrong by more says too little. */
const accuracySeconds = 60;

/** The time, in seconds, that a GeneralizedTime of DER says, or a UTCTime; its fraction is left out. */
function timeIn(bytes, isShort = false) {
  const said = bytes.toString('latin1');
  const century = isShort ? (said < '5' ? '20' : '19') : '';
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z$/.exec(century + said) ?? [];
  const [year, month, day, ...clock] = parts.map(Number);
  const time = Date.UTC(year, month - 1, day, ...clock) / 1000;
  const text = parts.length === 6 && new Date(time * 1000).toISOString().slice(0, 19);
  demand(text && text.replace(/\D/g, '') === parts.join(''), 'not a time');
  return time;
}

/**
 * The time stamp (RFC 3161) in the DER bytes of a token, in itself right: signed by the certificate that it carries, which may
 * sign nothing but time stamps. Undefined for any other bytes. Whether the certificate is to be trusted is another question.
 */
export function readTimeStamp(token) {
  return attempt(() => {
    const [contentInfo] = derParts(token, '30');
    const [type, wrapped] = derParts(contentInfo, '06 a0');
    const [signedData] = derParts(wrapped, '30');
    const [version, digestAlgorithms, content, certificates, , signers] = derParts(signedData, '02 31 30 a0 a1? 31');
    const [infoType, wrappedInfo] = derParts(content, '06 a0');
    const [info] = derParts(wrappedInfo, '04');
    demand(type.toString('hex') === oids.signedData && infoType.toString('hex') === oids.timeStampInfo, 'no time stamp');
    const [signer] = derParts(signers, '30');
    const [signerVersion, sid, digestAlgorithm, signed, algorithm, signature] = derParts(signer, '02 30 30 a0 30 04 a1?');
    const digest = algorithmIn(digestAlgorithm, digests);
    const isNamed = derItems(digestAlgorithms).some(
      ({ tag, content: named }) => tag === 0x30 && named.equals(digestAlgorithm),
    );
    demand(version.toString('hex') === '03' && signerVersion.toString('hex') === '01' && isNamed, 'another version');
    const digestOf = (name, bytes) => createHash(name).update(bytes).digest();

    const attributes = new Map();
    for (const { tag, content: attribute } of derItems(signed)) {
      const [oid, values] = derParts(attribute, '06 31');
      demand(tag === 0x30 && !attributes.has(oid.toString('hex')), 'an attribute twice');
      attributes.set(oid.toString('hex'), values);
    }
    const [saidType] = derParts(attributes.get(oids.contentType), '06');
    const [saidDigest] = derParts(attributes.get(oids.messageDigest), '04');
    demand(saidType.equals(infoType) && saidDigest.equals(digestOf(digest, info)), 'another content');

    const carried = derItems(certificates).map(({ raw }) => readCertificate(raw));
    const certificate = carried.find((each) => each.sid.equals(sid));
    demand(certificate?.isForTimeStamps, 'no certificate for time stamps');
    const named = [oids.certificate, oids.certificateV2].filter((oid) => attributes.has(oid));
    demand(named.length > 0, 'no certificate named');
    for (const oid of named) {
      const [list] = derParts(derParts(attributes.get(oid), '30')[0], '30 30?');
      const isSecond = oid === oids.certificateV2;
      const [first, hash] = derParts(derItems(list)[0].content, isSecond ? '30? 04 30?' : '04 30?');
      const by = !isSecond ? 'sha1' : first ? algorithmIn(first, digests) : 'sha256';
      demand(digestOf(by, certificate.raw).equals(isSecond ? hash : first), 'another certificate');
    }
    const by = { algorithm, digest, certificate };
    demand(digest !== 'sha1' && isSignedByCertificate(derSet(signed), signature, by), 'not signed');

    const [stamp] = derParts(info, '30');
    const [stampVersion, , imprint, , time, accuracy, , nonce] = derParts(stamp, '02 06 30 02 18 30? 01? 02? a0? a1?');
    const [seconds = Buffer.of(0)] = accuracy ? derParts(accuracy, '02? 80? 81?') : [];
    demand(seconds.length === 1 && seconds[0] <= accuracySeconds, 'a time that is not exact');
    const [imprintAlgorithm, imprinted] = derParts(imprint, '30 04');
    const isSha256 = algorithmIn(imprintAlgorithm, digests) === 'sha256';
    demand(stampVersion.toString('hex') === '01' && isSha256, 'another version or digest');
    return { imprint: imprinted.toString('hex'), time: timeIn(time), nonce, certificate, carried };
  });
}

/** Attributes as they are signed: as a set of their own. */
function derSet(content) {
  const length = content.length.toString(16);
  const long = Buffer.from(length.length % 2 ? `0${length}` : length, 'hex');
  return Buffer.concat([
    Buffer.of(0x31),
    content.length < 0x80 ? Buffer.of(content.length) : Buffer.concat([Buffer.of(0x80 + long.length), long]),
    content,
  ]);
}

/**
 * Whether the certificate of a time stamp is a trusted one, or was issued by one through those that the token carries: each valid at
 * its time, with a key that is long enough, with nothing that is not judged, and with no more below it than it allows. What is trusted
 * needs no signature of its own; of the others it is by SHA-2.
 */
export function isTrusted({ certificate, carried, time }, trusted) {
  const isSame = (a) => (b) => a.raw.equals(b.raw);
  let present = certificate;
  for (let between = -1; between < 8; between += 1) {
    const { from, until, isLong, hasUnjudged, pathMax, issuer, algorithm, signed, signature } = present;
    if (time < from || time > until || !isLong || hasUnjudged || between > pathMax) return false;
    if (trusted.some(isSame(present))) return true;
    const isIssuer = (other) =>
      other.isAuthority &&
      issuer.equals(other.subject) &&
      attempt(() => isSignedByCertificate(signed, signature, { algorithm, certificate: other }));
    const next = trusted.find(isIssuer) ?? carried.find((other) => isIssuer(other) && !isSame(present)(other));
    if (!next) return false;
    present = next;
  }
  return false;
}

/** The certificates in a text (PEM). Throws for a text without any. */
export function readCertificates(pem) {
  const blocks = [...pem.matchAll(/-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----/g)];
  demand(blocks.length > 0, 'no certificate');
  return blocks.map(([, encoded]) => readCertificate(fromBase64(encoded.replaceAll(/\s/g, ''))));
}

/** A policy. Throws for a text that is none. */
export function readPolicy(text) {
  const policy = attempt(() => JSON.parse(text));
  const { from_entry: from = 0, ...rest } = isObject(policy) ? policy : {};
  demand(hasExactly(rest, 'max_age_seconds policy public_key time_stamps witnesses'), 'this is no policy');
  const { public_key: key, max_age_seconds: age, time_stamps: stamps, witnesses } = rest;
  const authorities = attempt(() => stamps.authorities.map(readCertificates));
  const keys = attempt(() => witnesses.keys.map((line) => readVkey(line, witnessType)));
  const isNeeded = ({ needed }, list) => isCount(needed) && needed <= list.length;
  demand(policy.policy === 'analytics-mirror/anchor-policy@1', 'this is no policy of a known version');
  demand(hasExactly(stamps, 'authorities needed') && authorities, 'the authorities of the policy are wrong');
  demand(hasExactly(witnesses, 'keys needed') && keys?.every(Boolean), 'the witnesses of the policy are wrong');
  demand(new Set(witnesses.keys).size === keys.length, 'a witness stands twice in the policy');
  demand(isNeeded(stamps, authorities) && isNeeded(witnesses, keys), 'the policy needs more than it names');
  demand(stamps.needed + witnesses.needed > 0, 'the policy needs no anchor');
  demand(typeof key === 'string' && readVkey(key) && isCount(from) && isCount(age), 'the policy is wrong');
  return { key, from, age, authorities, keys, needed: [stamps.needed, witnesses.needed] };
}

/** So much may an entry be dated after its anchor, in seconds: clocks differ. */
const clockSeconds = 300;

const imprintOf = ({ text }) => sha256(Buffer.from(text)).toString('hex');

/** The time stamps that are right, and of one of the checkpoints. Each of the others is reported. */
function goodTimeStamps(stamps, claims, report) {
  const imprints = new Set(claims.flatMap(({ checkpoint }) => (checkpoint ? [imprintOf(checkpoint)] : [])));
  return stamps.flatMap(({ where, token }) => {
    const stamp = token && readTimeStamp(token);
    if (stamp && imprints.has(stamp.imprint)) return [stamp];
    report(where, 'bad_time_stamp');
    return [];
  });
}

/** The time, in seconds, at which a checkpoint had all anchors that a policy needs; undefined where it has not. */
function anchoredAt(checkpoint, timeStamps, { authorities, keys, needed }) {
  const own = timeStamps.filter((stamp) => stamp.imprint === imprintOf(checkpoint));
  const earliest = (times) => (times.length === 0 ? undefined : Math.min(...times));
  const kinds = [
    authorities.map((trusted) => earliest(own.filter((stamp) => isTrusted(stamp, trusted)).map(({ time }) => time))),
    keys.map((key) => cosignedAt(checkpoint, key)),
  ];
  const times = kinds.map((all) => all.filter((time) => time >= 0).sort((a, b) => a - b));
  if (needed.some((count, kind) => times[kind].length < count)) return undefined;
  return Math.max(...needed.flatMap((count, kind) => (count === 0 ? [] : [times[kind][count - 1]])));
}

/** What is wrong with an entry that was anchored at a time, by a policy. */
function anchorProblem({ seq, ms }, anchored, { from, age }) {
  const time = ms / 1000;
  if (seq < from || Number.isNaN(time)) return undefined;
  if (anchored - time > age) return 'anchored_late';
  return time - anchored > clockSeconds ? 'dated_after_anchor' : undefined;
}

/** Judges a ledger by a policy. `claims`: the good checkpoints; `times`: when each entry was appended, in milliseconds. */
function judgeAnchors({ claims, times, timeStamps, policy, now }, report) {
  for (const { where, checkpoint } of claims)
    if (policy.keys.some((key) => Number.isNaN(cosignedAt(checkpoint, key)))) report(where, 'bad_cosignature');
  const anchors = claims
    .map(({ size, checkpoint }) => ({ size, at: anchoredAt(checkpoint, timeStamps, policy) }))
    .filter(({ at }) => at !== undefined)
    .sort((a, b) => b.size - a.size);
  let anchored = Infinity;
  for (const [index, { size, at }] of anchors.entries()) {
    anchored = Math.min(anchored, at);
    const found = new Map();
    for (let seq = anchors[index + 1]?.size ?? 0; seq < size; seq += 1) {
      const problem = anchorProblem({ seq, ms: times[seq] }, anchored, policy);
      if (problem && !found.has(problem)) found.set(problem, seq);
    }
    for (const [problem, seq] of found) report(`entry ${seq}`, problem);
  }
  const covered = anchors[0]?.size ?? 0;
  if (covered >= times.length) return;
  report.warning(`entry ${covered}`, 'unanchored_entries');
  const oldest = times.slice(covered).reduce((least, ms) => (ms < least ? ms : least), Infinity);
  if (covered === 0) report('ledger', 'nothing_anchored');
  else if (now - oldest > policy.age * 1000) report(`entry ${covered}`, 'unanchored_for_long');
}

// ---- Certificates (PROOFS.md) ----

/** Results that say that a target was not reached, or in part only. */
const left = words('not_deletable_via_api not_deletable_by_key kept still_present locked partly_deleted not_queued');
const evidences = words('not_reached not_verifiable asserted_by_upstream observed verified');
const unprovable = words('service_event_store service_backups downstream_copies operator_backups block_device');

/** Folds the entries of the wanted requests, one after the other, into what a certificate says of them. */
function requestHistories(wanted) {
  const histories = new Map();
  const takeFor = (id, entry) => {
    if (entry.type === 'received') {
      const { request, generation, origin, basis, subject, authorisation, due_at } = entry;
      const about = { request, generation, origin, basis, subject, authorisation, received_at: entry.at, due_at };
      const maps = words('targets consumers acknowledged').map((map) => [map, new Map()]);
      histories.set(id, { ...about, decision: picked(entry, decision), entries: { received: entry.seq }, ...Object.fromEntries(maps) });
    }
    const history = histories.get(id);
    if (!history) return;
    const { type, at } = entry;
    if (type === 'amended') {
      history.basis = entry.basis;
      history.authorisation = entry.authorisation ?? history.authorisation;
      Object.assign(history.decision, picked(entry, decision));
    }
    if (type === 'fencing') history.fencing = (entry.continued ? history.fencing : 0) + entry.fence.length;
    if (type === 'fenced') {
      history.fence = { epoch: entry.epoch, entries: history.fencing };
      history.fenced_at = at;
      history.entries.fenced = entry.seq;
    }
    if (type === 'result') {
      const { target, result, assurance, rows_before = null, rows_removed = null, until = null, machines } = entry;
      history.targets.set(target, {
        ...{ target, result, rows_before, rows_removed, ended_at: at, method: methodOf(result) },
        assurance: left.includes(result) ? 'not_reached' : assurance,
        ...(words('locked partly_deleted').includes(result) ? { until } : {}),
        ...(machines ? { machines } : {}),
      });
      if (target === 'upstream.person' && result === 'deleted') history.deleted_upstream_at = at;
    }
    if (type === 'scan') {
      const { files, passed_over = 0, bytes, needles, hits, left_out = 0 } = entry;
      const facts = { files, passed_over, bytes, needles, hits };
      history[entry.phase] = left_out === 0 ? facts : { ...facts, left_out };
    }
    if (type === 'locally_verified') {
      history.locally_verified_at = at;
      history.entries.locally_verified = entry.seq;
      for (const name of entry.consumers ?? []) {
        const { tables: expected = [] } = entry.expected?.find(({ consumer }) => consumer === name) ?? {};
        history.consumers.set(name, { ...(history.consumers.get(name) ?? nothingTold), expected });
      }
    }
    if (type === 'acknowledged') {
      const { consumer, seen } = entry;
      const isCertified = history.certified === history.generation;
      for (const told of isCertified ? [history.acknowledged] : [history.acknowledged, history.consumers]) {
        const before = told.get(consumer) ?? nothingTold;
        const last = seen ? { [seen.assurance]: { ...seen, at } } : {};
        told.set(consumer, { ...before, at, seen: { ...before.seen, ...last } });
      }
    }
    if (type === 'certified') history.certified = entry.generation;
    if (type === 'awaiting_upstream') history.events_expected_by = entry.events_expected_by;
    if (type === 'reopened') {
      history.generation = entry.generation;
      history.consumers.clear();
      history.acknowledged.clear();
      for (const gone of words('control verify locally_verified_at')) delete history[gone];
    }
  };
  return {
    take: (entry) => {
      for (const id of entry.requests ?? [entry.request]) if (wanted.has(id)) takeFor(id, entry);
    },
    of: (id) => histories.get(id),
  };
}

const nothingTold = { at: null, expected: [], seen: {} };

/** What a certificate says of a consumer: which tables were seen, how and when, and which nobody has covered. */
function consumerOf(consumer, { at, expected, seen: { attested, observed } }) {
  const all = [attested, observed].filter((one) => one !== undefined);
  const covered = all.flatMap(({ tables }) => tables);
  const named = [...expected, ...all.flatMap(({ not_covered }) => not_covered)].filter((table) => !covered.includes(table));
  const seen = all.map(({ not_covered: _left, ...one }) => one);
  return {
    ...{ consumer, acknowledged_at: at },
    ...(seen.length > 0 ? { seen } : {}),
    ...(named.length > 0 ? { not_covered: [...new Set(named)].sort() } : {}),
  };
}

/** Those of the named fields that an object has. */
const picked = (object, names) =>
  Object.fromEntries(words(names).flatMap((name) => (object[name] === undefined ? [] : [[name, object[name]]])));

/** How a target was erased. */
function methodOf(result) {
  if (words('deleted removed confirmed deletion_requested').includes(result)) return 'by_service';
  return words('purged rewritten file_gone').includes(result) ? 'below_clear' : null;
}

/** Whether a certificate states of the operator what it may, and nothing else: no ledger shows it. */
function isStated(stated) {
  const isText = matches(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u);
  const { backups_until: backups, ...rest } = isObject(stated) ? stated : {};
  if (!hasExactly(rest, 'controller deletions_list_until program service')) return false;
  const { controller, deletions_list_until: until, program, service } = rest;
  if (!isTime(until) || (Object.hasOwn(stated, 'backups_until') && !isTime(backups)) || !matches(/^\d+\.\d+\.\d+$/)(program)) return false;
  const isController =
    hasExactly(controller, 'contact name') && isText(controller.name) && (controller.contact === null || isText(controller.contact));
  const isService = hasExactly(service, 'project url') && isText(service.url) && matches(/^[\w-]{1,200}$/)(service.project);
  return (controller === null || isController) && (service === null || isService);
}

/** The certificate that follows from a history; undefined where that is not whole. */
function deriveCertificate(history, { origin, stated }) {
  const targets = [...history.targets.values()].sort(
    (a, b) => evidences.indexOf(a.assurance) - evidences.indexOf(b.assurance) || (a.target < b.target ? -1 : 1),
  );
  const { fence, fenced_at, verify, control = null, locally_verified_at, entries, received_at, due_at } = history;
  if (!fence || !verify || !locally_verified_at || targets.length === 0) return undefined;
  const ended_at = [locally_verified_at, ...targets.map((end) => end.ended_at)].sort().at(-1);
  const days = Math.ceil((Date.parse(ended_at) - Date.parse(received_at)) / 86_400_000);
  const { request, generation, origin: cause, basis, subject, authorisation } = history;
  const { events_expected_by = null, deleted_upstream_at = null } = history;
  const events = history.targets.get('upstream.events');
  const wasGone = history.targets.get('upstream.person')?.result === 'already_absent' && deleted_upstream_at === null;
  const isUnsure = !wasGone && words('not_verifiable unconfirmed').includes(events?.result);
  const isDropped = isUnsure && events_expected_by !== null && events.ended_at < events_expected_by;
  const consumers = [...history.consumers]
    .map(([consumer, told]) => consumerOf(consumer, told))
    .sort((a, b) => (a.consumer < b.consumer ? -1 : 1));
  return {
    ...history.decision,
    ...{ format_version: 1, request, generation, origin: cause, basis, subject, authorisation, received_at, due_at },
    ...{ fenced_at, locally_verified_at, deleted_upstream_at, ended_at, days: Math.max(0, days) },
    is_late: ended_at > due_at,
    weakest_assurance: targets[0].assurance,
    targets,
    scan: { control, verify },
    fence,
    ledger: { origin, entries },
    events_expected_by,
    consumers,
    not_proven: [...(isDropped ? ['wait_dropped'] : []), ...unprovable],
    stated,
  };
}

/** Adds a value to those that a map has under a key. */
const addTo = (map, key, value) => map.set(key, map.get(key) ?? []).get(key).push(value);

/**
 * Judges certificates (their bytes, by name) as the entries of the ledger of that name are taken. A certificate is good when
 * its request was certified with these very bytes, when they follow from the entries before, a checkpoint covers that, and no later entry speaks against it.
 */
function certificateJudge(certificates, origin) {
  const laterWords = new Map();
  const differing = new Map();
  const given = Object.entries(certificates).map(([name, bytes]) => {
    const named = attempt(() => JSON.parse(String(bytes)));
    const isOne = isObject(named) && isUuid(named.request) && named.format_version === 1;
    return { name, bytes, named: isOne ? named : undefined, certified: [] };
  });
  const ofRequest = new Map();
  for (const each of given) if (each.named) addTo(ofRequest, each.named.request, each);
  const histories = requestHistories(new Set(ofRequest.keys()));
  const follows = ({ named, bytes }, history) => {
    const { stated } = named;
    if (!history || !isStated(stated)) return false;
    // Where entries are damaged, what is derived may be no certificate.
    const derived = attempt(() => canonicalJson(deriveCertificate(history, { origin, stated })));
    return derived !== undefined && Buffer.from(derived).equals(bytes);
  };
  /** What the entries say against a certificate since it was first certified. Whoever has no key can append that all is mended. */
  const laterOf = ({ named, certified }, signed) => {
    const { seq: first = Infinity } = certified.find(({ isSame }) => isSame) ?? {};
    const unmended = [...differing.values()].filter(({ mendedBy = Infinity }) => mendedBy >= signed);
    const words = [...(laterWords.get(named?.request) ?? []), ...unmended.map(({ word }) => word)];
    return words.filter(({ seq }) => seq > first).sort((a, b) => a.seq - b.seq);
  };
  return {
    take(entry, seq) {
      const { type, request, generation, certificate, at, target, reason, part } = entry;
      const says = { reopened: [type, reason], attention: [type, target, reason], readmitted: [type] }[type];
      if (says && ofRequest.has(request)) addTo(laterWords, request, { seq, at, says: says.join(' ') });
      if (type === 'differs') differing.set(part, { word: { seq, at, says: `differs ${part}` } });
      if (type === 'mended' && differing.has(part)) differing.get(part).mendedBy ??= seq;
      if (type === 'certified' && certificate !== null)
        for (const each of ofRequest.get(request) ?? []) {
          if (each.named.generation !== generation) continue;
          const isSame = certificate === sha256(each.bytes).toString('hex');
          each.certified.push({ seq, isSame, isRight: isSame && follows(each, histories.of(request)) });
        }
      histories.take(entry);
    },
    /** Of each certificate that is on the ledger: the later words about it. */
    later: (signed) =>
      given.flatMap((each) => (each.certified.some(({ isSame }) => isSame) ? [[each.name, laterOf(each, signed)]] : [])),
    /** Of each certificate of a newest generation: the consumers that it names, and when the ledger says that each deleted. */
    consumers: () =>
      given.flatMap(({ name, named }) => {
        const history = histories.of(named?.request);
        if (!history || history.generation !== named.generation || !Array.isArray(named.consumers)) return [];
        return [...history.consumers.keys()].map((consumer) => {
          const told = history.acknowledged.get(consumer);
          return [name, consumer, told?.at, Object.values(told?.seen ?? {})];
        });
      }),
    /** What is wrong with each, where anything is; `signed`: how many entries a good checkpoint covers. */
    problems: (signed) =>
      given.map((each) => {
        const { name, named, certified } = each;
        const same = certified.filter(({ isSame }) => isSame);
        if (!named) return [name, 'not_a_certificate'];
        if (certified.length === 0) return [name, 'not_on_ledger'];
        if (same.length === 0) return [name, 'other_certificate'];
        const right = same.filter(({ isRight }) => isRight);
        if (right.length === 0) return [name, 'says_otherwise'];
        if (!right.some(({ seq }) => seq < signed)) return [name, 'unsigned_certificate'];
        return [name, laterOf(each, signed).length > 0 ? 'superseded' : undefined];
      }),
  };
}

// ---- The verification ----

/** What stands at a path, links followed; undefined where they lead nowhere. */
const kindAt = (path) => attempt(() => statSync(path));

const namesIn = (folder) => (kindAt(folder)?.isDirectory() ? readdirSync(folder).sort() : []);

/** The lines of a file, as they are read: of each its hash as a leaf of the tree, and its bytes, or the beginning of a long line. */
function* linesOf(path, onTorn) {
  if (!kindAt(path)?.isFile()) return;
  const file = openSync(path, 'r');
  const newLeaf = () => createHash('sha256').update(Buffer.of(0));
  try {
    const buffer = Buffer.allocUnsafe(lineMax);
    let [leaf, begun] = [newLeaf(), Buffer.alloc(0)];
    for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) {
      const chunk = buffer.subarray(0, read);
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        const piece = chunk.subarray(start, end);
        const line = begun.length === 0 ? piece : Buffer.concat([begun, piece]);
        yield { leaf: leaf.update(piece).digest(), line };
        [leaf, begun, start] = [newLeaf(), Buffer.alloc(0), end + 1];
      }
      const rest = chunk.subarray(start);
      leaf.update(rest);
      if (begun.length <= lineMax) begun = Buffer.concat([begun, rest]);
    }
    if (begun.length > 0) onTorn();
  } finally {
    closeSync(file);
  }
}

function verifyEntries(path, wantedSizes, certificates, report) {
  const tree = merkleTree();
  const order = recordOrder();
  const roots = new Map([[0, tree.root()]]);
  const times = [];
  const rotations = [];
  let expectedSeq = 0;
  let lastAt = '';
  for (const { leaf, line } of linesOf(path, () => report('ledger', 'torn_line'))) {
    const where = `entry ${tree.size()}`;
    tree.append(leaf);
    times.push(NaN);
    if (wantedSizes.has(tree.size())) roots.set(tree.size(), tree.root());
    const entry = readEntry(line);
    if (typeof entry === 'string') {
      report(where, entry);
      expectedSeq += 1;
      continue;
    }
    times[tree.size() - 1] = Date.parse(entry.at);
    if (entry.seq !== expectedSeq) report(where, 'wrong_seq');
    if (entry.at < lastAt) report.warning(where, 'clock_set_back');
    report(where, order(entry));
    certificates.take(entry, tree.size() - 1);
    if (entry.type === 'key_rotated') rotations.push({ ...entry, seq: tree.size() - 1 });
    expectedSeq = entry.seq + 1;
    lastAt = entry.at;
  }
  return { size: tree.size(), root: tree.root(), roots, times, rotations };
}

/** The keys of the ledger, each handed over to by the one before; `from` is the first size that one signs. */
function keyChain(first, rotations, report) {
  const chain = [{ ...first, from: 0 }];
  for (const { seq, old_key: oldKey, new_key: newKey, signature } of rotations) {
    const current = chain[chain.length - 1];
    const next = { name: first.name, raw: Buffer.from(newKey, 'hex'), from: seq + 1 };
    const isSigned = isSignedBy(Buffer.from(`${vkey(next)}\n`), Buffer.from(signature, 'hex'), current);
    if (isSigned && current.raw.toString('hex') === oldKey) chain.push(next);
    else report(`entry ${seq}`, 'broken_rotation');
  }
  return chain;
}

/** Judges a list of keys by the chain, and those that were kept elsewhere. The places in the chain of these. */
function judgeKeys({ keys, chain, publicKey, policy }, report) {
  if (keys[0].name !== ledgerName(keys[0])) report('public keys', 'wrong_name');
  if (!keys.every((key, at) => chain[at]?.raw.equals(key.raw))) report('public keys', 'unlisted_key');
  if (policy && vkey(keys[0]) !== policy.key) report('policy', 'wrong_public_key');
  const kept = publicKey === undefined ? [] : readVkeys(publicKey);
  const places = (kept ?? []).map((key) => chain.findIndex((link) => vkey(link) === vkey(key)));
  if (!kept) report('kept public key', 'bad_public_key');
  if (places.includes(-1)) report('kept public key', 'wrong_public_key');
  return places;
}

/** Where in the chain the key is that signs checkpoints of a size. */
const keyIndexAt = (chain, size) => chain.filter(({ from }) => from <= size).length - 1;

function checkpointProblem({ size, checkpoint }, entries, chain) {
  if (!checkpoint || size === undefined) return 'not_a_checkpoint';
  if (checkpoint.size !== size) return 'wrong_size';
  const key = chain[keyIndexAt(chain, size)];
  if (!key) return 'bad_signature';
  if (checkpoint.origin !== key.name) return 'wrong_origin';
  if (size > entries.size) return 'beyond_ledger';
  if (!isCheckpointSignedBy(checkpoint, key)) return 'bad_signature';
  return entries.roots.get(size)?.equals(checkpoint.root) ? undefined : 'wrong_root';
}

/**
 * Verifies a ledger's folder. `publicKey`, `checkpoint`: the texts that were kept elsewhere, where there are any.
 * `receipt`: the text of a receipt. `certificates`: the bytes of certificates, by name. `policy`: the text of one. `now`: the
 * present time, in milliseconds since 1970. Throws for a text that is no policy.
 */
export function verify({ folder, publicKey, checkpoint, receipt, certificates = {}, policy: policyText, now = Date.now() }) {
  const policy = policyText === undefined ? undefined : readPolicy(policyText);
  const problems = [];
  const warnings = [];
  const report = (where, problem) => problem && problems.push({ where, problem });
  report.warning = (where, problem) => warnings.push({ where, problem });
  const textOf = (name) => {
    const path = join(folder, name);
    return kindAt(path)?.isFile() ? readFileSync(path) : undefined;
  };

  const files = namesIn(join(folder, 'checkpoints'));
  const claims = files.map((file) => {
    const name = file.replace(/\.txt$/, '');
    const isName = /^\d{9,15}$/.test(name) && file === `${String(Number(name)).padStart(9, '0')}.txt`;
    const text = String(textOf(join('checkpoints', file)) ?? '');
    return {
      where: `checkpoint ${name}`,
      size: isName ? Number(name) : undefined,
      checkpoint: readCheckpoint(text),
    };
  });
  const claim = (where, note = '') => {
    const kept = readCheckpoint(note);
    claims.push({ where, size: kept?.size, checkpoint: kept });
  };
  if (checkpoint !== undefined) claim('kept checkpoint', checkpoint);

  if (receipt !== undefined) {
    const read = readReceipt(receipt);
    // A bundle is none, however good it is.
    if (!read) report('receipt, receipt', 'not_a_receipt');
    else for (const { where, problem } of verifyBundle({ text: receipt }).problems) report(`receipt, ${where}`, problem);
    const notes = new Set(read?.entries.map(({ proof }) => readProof(proof)?.note));
    for (const note of notes) claim('receipt', note);
  }

  const wantedSizes = new Set(claims.map((claim) => claim.checkpoint?.size));
  const list = textOf('public-keys.txt');
  const listed = list && readVkeys(String(list));
  const judged = certificateJudge(certificates, listed?.[0].name);
  const entries = verifyEntries(join(folder, 'entries.jsonl'), wantedSizes, judged, report);

  const isKeyNeeded = claims.length > 0 || entries.rotations.length > 0 || publicKey !== undefined || policy;
  if (!list && isKeyNeeded) report('public keys', 'no_public_key');
  if (list && !listed) report('public keys', 'bad_public_key');
  const chain = listed ? keyChain(listed[0], entries.rotations, report) : [];
  const places = listed ? judgeKeys({ keys: listed, chain, publicKey, policy }, report) : [];

  const good = claims.filter((claim) => {
    const problem = checkpointProblem(claim, entries, chain);
    report(claim.where, problem);
    return !problem;
  });
  const goodSizes = good.map(({ size }) => size);
  const isTrusted = goodSizes.some((size) => keyIndexAt(chain, size) >= Math.min(...places));
  if (places.length > 0 && !places.includes(-1) && entries.size > 0 && !isTrusted)
    report('kept public key', 'not_signed_by_key');

  const stampFiles = namesIn(join(folder, 'time-stamps'));
  const stamps = stampFiles.map((file) => {
    const token = file.endsWith('.tst') ? textOf(join('time-stamps', file)) : undefined;
    return { where: `time stamp ${file.replace(/\.tst$/, '')}`, token };
  });
  const timeStamps = goodTimeStamps(stamps, claims, report);
  if (policy) {
    judgeAnchors({ claims: good, times: entries.times, timeStamps, policy, now }, report);
  }
  const signed = goodSizes.reduce((most, size) => Math.max(most, size), 0);
  for (const [name, problem] of judged.problems(signed))
    report(`certificate ${name}`, problem);
  if (signed < entries.size) {
    report.warning(`entry ${signed}`, 'unsigned_entries');
    const isLong = now - entries.times[signed] > 86_400_000;
    if (signed === 0) report('ledger', 'nothing_signed');
    else if (isLong) report(`entry ${signed}`, 'unsigned_for_long');
  }
  if (publicKey === undefined && !policy) report.warning('ledger', 'own_keys_only');
  if (checkpoint === undefined && receipt === undefined) report.warning('ledger', 'no_kept_checkpoint');
  const { size, root } = entries;
  const counts = { size, rootHash: root.toString('hex'), checkpoints: files.length, signed };
  const consumers = judged.consumers();
  const later = judged.later(signed);
  return {
    ...{ ok: problems.length === 0, ...counts, problems, warnings },
    ...(consumers.length > 0 ? { consumers } : {}),
    ...(later.length > 0 ? { later } : {}),
  };
}

// ---- Bundles (PROOFS.md) ----

/** Whether a line is in the tree of a checkpoint, as a proof says (https://c2sp.org/tlog-proof, RFC 9162, 2.1.3.2). */
function isIncluded(line, { index, hashes }, { size, root }) {
  if (index >= size) return false;
  let [node, last, hash] = [index, size - 1, sha256(Buffer.of(0), line)];
  for (const sibling of hashes) {
    if (last === 0) return false;
    if (node % 2 === 1 || node === last) {
      hash = sha256(Buffer.of(1), sibling, hash);
      while (node % 2 === 0 && node !== 0) [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
    } else hash = sha256(Buffer.of(1), hash, sibling);
    [node, last] = [Math.floor(node / 2), Math.floor(last / 2)];
  }
  return last === 0 && hash.equals(root);
}

/** The proof in a text; undefined when it is none. */
function readProof(text) {
  const [, index, encoded, note] =
    /^c2sp\.org\/tlog-proof@v1\nindex (0|[1-9]\d{0,14})\n((?:[^\n]+\n)*)\n(.*)$/s.exec(text) ?? [];
  if (index === undefined) return undefined;
  const hashes = encoded.split('\n').slice(0, -1).map(fromBase64);
  const isGood = hashes.every((hash) => hash?.length === 32);
  return isGood ? { index: Number(index), hashes, note, checkpoint: readCheckpoint(note) } : undefined;
}

const areProved = (entries) =>
  Array.isArray(entries) &&
  entries.every((entry) => hasExactly(entry, 'line proof') && Object.values(entry).every(isString));

/** The bundle in a text: its canonical JSON and a newline, alone or within the page of a certificate. */
export function readBundle(text) {
  const begin = '<script type="application/json" id="bundle">';
  // What begins as a bundle is only ever one: what stands behind could say something else.
  const at = text.startsWith('{') ? -1 : text.indexOf(begin);
  const end = at < 0 ? -1 : text.indexOf('</script>', at);
  const json = end < 0 ? text : text.slice(at + begin.length, end);
  const bundle = attempt(() => JSON.parse(json));
  const spelt = attempt(() => `${canonicalJson(bundle)}\n`);
  const isWhole = json === (end < 0 ? spelt : spelt?.replaceAll('<', '\\u003c'));
  const names = isWhole && isObject(bundle) ? Object.keys(bundle).join() : '';
  if (!/^bundle,certificate,entries,public_keys(,time_stamps)?$/.test(names)) return undefined;
  const { certificate, entries, public_keys: keys, time_stamps: stamps = [''] } = bundle;
  const isGood = bundle.bundle === 'analytics-mirror/bundle@1' && [certificate, keys].every(isString);
  const areStamps = Array.isArray(stamps) && stamps.length > 0 && stamps.every(isString);
  return isGood && areStamps && areProved(entries) ? bundle : undefined;
}

const howOfReceipt =
  'Keep this file, and keep it secret. It proves that the request was received: the entries below are in the ledger, as their proofs and the signed checkpoint show, and `node verify.mjs` with this file checks them. The ledger holds only an HMAC of the identifier, under the key below, which is destroyed here once the request is sealed. `analytics-mirror audit open` with this file and the identifier that the request was made with shows which entry and which certificate are about it. Every holder of this file can find the identifier in a list of identifiers.';
const nothingHeld =
  'Nothing is held about a person of this identifier: not in the mirror, not in the published files that were searched, and the service knows no such person, as far as it can be asked by this identifier.';

/** The receipt in a text; undefined where it is none, or spelled otherwise, as with a field that stands twice. */
function readReceipt(text) {
  const receipt = attempt(() => JSON.parse(text));
  if (!isObject(receipt) || `${JSON.stringify(receipt, null, 2)}\n` !== text) return undefined;
  const { answer, ...rest } = receipt;
  const names = 'entries format_version how ledger public_keys received_at request subject_key';
  if (!hasExactly(rest, names) || rest.format_version !== 1 || rest.how !== howOfReceipt) return undefined;
  if (!areProved(rest.entries) || !isString(rest.public_keys)) return undefined;
  if (!isUuid(rest.request) || !isTime(rest.received_at) || !isHex(rest.subject_key)) return undefined;
  if (!Object.hasOwn(receipt, 'answer')) return receipt;
  const isAnswer =
    hasExactly(answer, 'erased_by reason refused_at says searched') &&
    hasExactly(answer.searched, 'mirror published_files service') &&
    answer.searched.mirror === true &&
    answer.searched.service === true &&
    isCount(answer.searched.published_files) &&
    (answer.erased_by === null || isUuid(answer.erased_by)) &&
    answer.says === nothingHeld;
  return isAnswer ? receipt : undefined;
}

/** Whether a receipt says what its entries say. */
function saysItsEntries({ request, ledger, received_at, answer }, entries, origin) {
  const own = entries.filter((entry) => entry.request === request);
  const [received] = own.filter(({ type }) => type === 'received' || type === 'asked');
  const [refused] = own.filter(({ type }) => type === 'refused');
  const isAnswered = answer === undefined || (refused?.at === answer.refused_at && refused.reason === answer.reason);
  return ledger === origin && received?.at === received_at && isAnswered;
}

/**
 * Verifies a bundle or a receipt, in a text: that its entries are in the ledger of its keys, in an order that is allowed, and that
 * its certificate, or what the receipt says, follows from them. `publicKey`: the text of keys that were kept elsewhere. `policy`: the text of one, by which each
 * entry has to be anchored. Throws for a text that is no policy.
 */
export function verifyBundle({ text, publicKey, policy: policyText }) {
  const policy = policyText === undefined ? undefined : readPolicy(policyText);
  const problems = [];
  const report = (where, problem) => problem && problems.push({ where, problem });
  const what = /^{\s*"format_version"/.test(text) ? 'receipt' : 'bundle';
  const receipt = what === 'receipt' ? readReceipt(text) : undefined;
  const bundle = receipt ?? (what === 'bundle' ? readBundle(text) : undefined);
  const keys = bundle && readVkeys(bundle.public_keys);
  const isKept = publicKey !== undefined || policy;
  const warnings = isKept ? [] : [{ where: what, problem: 'own_keys_only' }];
  const fail = (where, problem) => ({ ok: false, entries: 0, problems: [{ where, problem }], warnings });
  if (!bundle) return fail(what, `not_a_${what}`);
  if (!keys) return fail('public keys', 'bad_public_key');
  const named = receipt ?? attempt(() => JSON.parse(bundle.certificate));
  const judged = certificateJudge(receipt ? {} : { '': Buffer.from(bundle.certificate) }, keys[0].name);
  const order = recordOrder({ isAlone: true });
  const proved = bundle.entries.map(({ line, proof }) => ({ line: Buffer.from(line), proof: readProof(proof) }));
  const entries = proved.map(({ line }) => readEntry(line));
  const chain = keyChain(
    keys[0],
    entries.filter(({ type }) => type === 'key_rotated'),
    report,
  );
  const places = judgeKeys({ keys, chain, publicKey, policy }, report);
  let oldestKey = Infinity;
  let previous = -1;
  // Most proofs have the same checkpoint.
  const isSigned = new Map();
  const isCheckpointGood = ({ note, checkpoint }) => {
    if (!isSigned.has(note)) {
      const key = chain[keyIndexAt(chain, checkpoint.size)];
      isSigned.set(note, checkpoint.origin === key.name && isCheckpointSignedBy(checkpoint, key));
    }
    return isSigned.get(note);
  };
  const stamps = bundle.time_stamps ?? [];
  const timeStamps = goodTimeStamps(
    stamps.map((token, at) => ({ where: `time stamp ${at}`, token: fromBase64(token) })),
    proved.map(({ proof }) => ({ checkpoint: proof?.checkpoint })),
    report,
  );
  const anchors = new Map();
  const anchorOf = (checkpoint) => {
    const isForged = policy.keys.some((key) => Number.isNaN(cosignedAt(checkpoint, key)));
    return isForged ? 'bad_cosignature' : (anchoredAt(checkpoint, timeStamps, policy) ?? 'not_anchored');
  };
  const anchorProblemOf = ({ seq, at }, { note, checkpoint }) => {
    if (!anchors.has(note)) anchors.set(note, anchorOf(checkpoint));
    const anchored = anchors.get(note);
    return typeof anchored === 'string' ? anchored : anchorProblem({ seq, ms: Date.parse(at) }, anchored, policy);
  };
  for (const [at, { line, proof }] of proved.entries()) {
    const entry = entries[at];
    const where = `entry ${typeof entry === 'string' ? at : entry.seq}`;
    if (typeof entry === 'string') report(where, entry);
    else {
      const isProved =
        proof?.checkpoint &&
        proof.index === entry.seq &&
        isIncluded(line, proof, proof.checkpoint) &&
        isCheckpointGood(proof);
      if (!isProved) report(where, 'not_proved');
      else if (policy) report(where, anchorProblemOf(entry, proof));
      if (isProved) oldestKey = Math.min(oldestKey, keyIndexAt(chain, proof.checkpoint.size));
      if (entry.seq <= previous) report(where, 'wrong_seq');
      previous = entry.seq;
      const isOwn = (entry.requests ?? [entry.request]).includes(named?.request ?? null);
      if (isOwn) report(where, order(entry.requests ? { ...entry, requests: [named.request] } : entry));
      judged.take(entry, entry.seq);
    }
  }
  // Whoever holds an older key can show another past beside a true rotation to the one that was kept.
  if (places.length > 0 && Math.min(...places) > oldestKey) report('kept public key', 'not_signed_by_key');
  for (const [, problem] of judged.problems(Infinity)) report('certificate', problem);
  if (receipt && !saysItsEntries(receipt, entries, keys[0].name)) report('receipt', 'says_otherwise');
  const [[, later] = ['', []]] = judged.later(Infinity);
  const verdict = { ok: problems.length === 0, entries: entries.length, problems, warnings };
  return later.length > 0 ? { ...verdict, later } : verdict;
}

// ---- The command ----

function usage() {
  console.error(
    'usage: node verify.mjs <ledger folder> [--public-key FILE] [--checkpoint FILE] [--receipt FILE] [--policy FILE] [--certificate FILE]…\n' +
      '       node verify.mjs <bundle, page of a certificate, or receipt> [--public-key FILE] [--policy FILE]',
  );
  return 2;
}

/** The words of a certificate, as lines; without the file that has them, a note that says so. */
async function wordsOf(certificate) {
  const { certificateWords, wordsVersion } = await import('./certificate-words.mjs').catch(() => ({}));
  if (!certificateWords) return ['what the codes say in words is in certificate-words.mjs, which is not beside this file'];
  const { summary, statements, notProven } = certificateWords(certificate);
  const lines = notProven.map(
    ({ target, says, until }) => `not proven${target ? `, ${target}` : ''}: ${says}${until ? ` Until ${until}.` : ''}`,
  );
  return [`in words (version ${wordsVersion}):`, summary, ...statements, ...lines];
}

/** What a good bundle proves, in lines: the whole certificate. The words of a page around it are not checked. */
async function provedBy(text) {
  const bundle = readBundle(text);
  if (!bundle) return [];
  const certificate = JSON.parse(bundle.certificate);
  const fields = Object.entries(certificate).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${typeof one === 'string' ? one : canonicalJson(one)}`),
  );
  return [
    ...(text.startsWith('{') ? [] : ['the words of the page are not checked; what it proves is this certificate:']),
    ...fields,
    ...(await wordsOf(certificate)),
  ];
}

/** Prints a line. Names of files may hold what a terminal would take for commands. */
const say = (line) => console.log(line.replace(/\p{C}/gu, '\uFFFD'));

/** So many problems are printed, and notes. A pipe can lose the end of millions of lines, where the verdict stands. */
const placesMax = 1000;

function sayPlaces(kind, places) {
  for (const { where, problem } of places.slice(0, placesMax)) say(`${kind}: ${where}: ${problem}`);
  if (places.length > placesMax) say(`${kind}: and ${places.length - placesMax} more`);
}

async function main(args) {
  const [folder, ...rest] = args;
  const options = {};
  for (const name of ['--public-key', '--checkpoint', '--receipt', '--policy']) {
    if (!rest.includes(name)) continue;
    const [, file] = rest.splice(rest.indexOf(name), 2);
    // An empty name, as of a variable that is not set, must not pass for a key that was checked.
    if (!file) return usage();
    options[name] = readFileSync(file, 'utf8');
  }
  // A file may be named as a property that each object has.
  const certificates = Object.create(null);
  while (rest[0] === '--certificate' && rest.length > 1) {
    const [, file] = rest.splice(0, 2);
    certificates[file] = readFileSync(file);
  }
  if (!folder || !existsSync(folder) || rest.length > 0) return usage();
  const { '--public-key': publicKey, '--checkpoint': checkpoint, '--receipt': receipt, '--policy': policy } = options;
  const isBundle = statSync(folder).isFile();
  if (isBundle && (checkpoint !== undefined || receipt !== undefined || Object.keys(certificates).length > 0)) return usage();
  const text = isBundle ? readFileSync(folder, 'utf8') : '';
  // As a data folder is, which has the ledger in it: what was not seen must not pass for good.
  if (!isBundle && !words('entries.jsonl public-keys.txt checkpoints').some((name) => existsSync(join(folder, name)))) {
    console.error('there is no ledger in this folder: no entries.jsonl, public-keys.txt or checkpoints');
    return 2;
  }
  const verdict = isBundle
    ? verifyBundle({ text, publicKey, policy })
    : verify({ folder, publicKey, checkpoint, receipt, certificates, policy });
  if (isBundle) say(`${verdict.entries} entries`);
  else {
    say(`${verdict.size} entries, root ${verdict.rootHash}`);
    say(`${verdict.checkpoints} checkpoints, ${verdict.signed} entries covered by a good one`);
  }
  sayPlaces('problem', verdict.problems);
  sayPlaces('note', verdict.warnings);
  const count = Object.keys(certificates).length;
  if (count > 0) say(`${count} certificates held against the ledger`);
  for (const [name, consumer, at, seen] of verdict.consumers ?? []) {
    const tables = seen.map((one) => `, ${one.assurance} ${one.at}: ${one.tables.join(' ')}`).join('');
    say(`certificate ${name}: ${consumer}: ${at ? `acknowledged ${at}` : 'nothing acknowledged'}${tables}, by this ledger`);
  }
  const laterText = (words) => words.map(({ seq, at, says }) => `entry ${seq}, ${at}: ${says}`).join('; ') || 'none';
  if (!isBundle)
    for (const [name, words] of verdict.later ?? [])
      say(`certificate ${name}: later entries about this request: ${laterText(words)}`);
  else if (verdict.later) say(`later entries about this request: ${laterText(verdict.later)}`);
  const isSuperseded = verdict.problems.every(({ problem }) => problem === 'superseded');
  if (isBundle && !verdict.later && verdict.ok && readBundle(text))
    say('later entries about this request, and any that were left out: only the ledger shows them');
  if (isBundle && isSuperseded) for (const line of await provedBy(text)) say(line);
  const warned = verdict.warnings.map(({ problem }) => problem);
  const isAlone = warned.includes('own_keys_only') && (isBundle || warned.includes('no_kept_checkpoint'));
  const good = isAlone ? 'OK as far as it goes: nothing was given that was kept elsewhere' : 'OK';
  say(verdict.ok ? good : 'NOT OK');
  if (!verdict.ok) return 1;
  return isAlone ? 3 : 0;
}

if (process.argv[1] && pathToFileURL(realpathSync(process.argv[1])).href === import.meta.url) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 2;
  }
}
