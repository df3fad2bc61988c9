import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  PutObjectLockConfigurationCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { sha256 } from '../../src/core/digest.ts';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import { startStore, storeKeys } from '../bucket/real-store.ts';

// A real store (versitygw, on loopback) beside the real command: publish, delta, erase 100 people, list versions and uploads,
// Object Lock. `.ci/bucket` builds the store.

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mirror-bucket-'));
const keys = storeKeys;
Object.assign(process.env, keys);

const endpoint = await startStore(folder);
const client = new S3Client({ endpoint: endpoint.url, region: 'us-east-1', forcePathStyle: true });
const sandbox = await startSandbox({ persons: 800, recordings: 40, seed: 7, port: 0 });
try {
  await client.send(new CreateBucketCommand({ Bucket: 'versioned' }));
  await client.send(
    new PutBucketVersioningCommand({ Bucket: 'versioned', VersioningConfiguration: { Status: 'Enabled' } }),
  );
  await client.send(new CreateBucketCommand({ Bucket: 'plain' }));
  await client.send(new CreateBucketCommand({ Bucket: 'locked', ObjectLockEnabledForBucket: true }));
  await client.send(
    new PutObjectLockConfigurationCommand({
      Bucket: 'locked',
      ObjectLockConfiguration: {
        ObjectLockEnabled: 'Enabled',
        Rule: { DefaultRetention: { Mode: 'COMPLIANCE', Days: 100 } },
      },
    }),
  );
  for (const bucket of ['locked', 'versioned', 'plain']) await tell(bucket);
} finally {
  await sandbox.close();
  endpoint.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** The whole story in a bucket. */
async function tell(bucket: string): Promise<void> {
  const dataDir = join(folder, `data-${bucket}`);
  const mirror = (args: readonly string[], code: number | undefined = 0) => run(dataDir, bucket, args, code);
  const isLocked = bucket === 'locked';
  await mirror(['sync']);
  await mirror(['export']);
  equalToFolder(await stand(bucket), dataDir, isLocked);
  sandbox.act({ do: 'create', distinct_ids: [`someone-for-${bucket}`] });
  await mirror(['sync']);
  await mirror(['export', '--kind', 'delta']);
  await mirror(['export']);
  equalToFolder(await stand(bucket), dataDir, isLocked);

  const before = new Set((await stand(bucket)).objects.map(({ Key = '' }) => Key));
  const uuids = (
    (await mirror(['query', 'SELECT uuid FROM persons ORDER BY uuid LIMIT 100']))['rows'] as [string][]
  ).flat();
  equal(uuids.length, 100);
  const list = join(folder, 'people.csv');
  writeFileSync(list, `kind,value\n${uuids.map((uuid) => `uuid,${uuid}\n`).join('')}`);
  await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `mirror/${[...before][1]?.slice(7)}` }));
  await client.send(new PutObjectCommand({ Bucket: bucket, Key: 'mirror/notes.txt', Body: 'not of this program' }));
  await mirror(['erase', 'add', '--file', list, '--basis', 'objection', '--by', 'the-test', '--keep-events']);
  const told = await mirror(['reconcile']);
  const { foreign, locked, error } = told['bucket'] as {
    foreign: string[];
    locked: { until: string }[];
    error: unknown;
  };
  equal(error, null);
  deepEqual(foreign, ['notes.txt']);
  equal(locked.length > 0, isLocked, `${bucket}: ${locked.length} locked`);
  const after = await stand(bucket);
  deepEqual(after.uploads, []);
  const gone = [...before].filter((key) => !filesOf(dataDir).has(key));
  ok(gone.length > 2, 'parts were rewritten');
  if (!isLocked) {
    equalToFolder({ ...after, objects: after.objects.filter(({ Key }) => Key !== 'mirror/notes.txt') }, dataDir);
    equal(after.objects.filter(({ Key = '' }) => gone.includes(Key)).length, 0);
  } else ok(locked.every(({ until }) => Date.parse(until) > Date.now() + 90 * 86_400_000));
  const doctor = await mirror(['doctor'], undefined);
  const check = (doctor['findings'] as { check: string; state: string; detail: string }[]).find(
    (each) => each.check === 'bucket',
  );
  ok(check, 'the bucket is checked');
  equal(check.state, 'warning', check.detail);
  match(check.detail, isLocked ? /COMPLIANCE, 100 days/ : /conditions are kept; 1 not of this program/);

  await mirror(['reconcile']);
  const [request] = (await mirror(['erase', 'list', '--all']))['requests'] as { id: string; state: string }[];
  const certificate = JSON.stringify(await mirror(['audit', 'certificate', request?.id ?? '']));
  match(
    certificate,
    isLocked ? /"result":"locked".*"until":"20/ : /"target":"bucket","result":"absent"|"result":"absent"/,
  );
  await mirror(['audit', 'verify']);
  process.stdout.write(
    `${bucket}: 100 people erased, ${after.objects.length} versions left, ${locked.length} locked\n`,
  );
}

/** Runs the command to its end, and returns what it says. No key may show. */
async function run(
  dataDir: string,
  bucket: string,
  args: readonly string[],
  code: number | undefined,
): Promise<Record<string, unknown>> {
  const set = [
    `export.destination=s3://${bucket}/mirror`,
    `export.s3.endpoint=${endpoint.url}`,
    'export.s3.region=us-east-1',
    'export.s3.forcePathStyle=true',
    'budget.windows=[]',
    'budget.recordings.windows=[]',
    'export.partRows=400',
    'deletions.confirmAfterSeconds=0',
  ].flatMap((setting) => ['--set', setting]);
  const env = {
    PATH: process.env['PATH'],
    ...keys,
    MIRROR_BASE_URL: sandbox.url,
    MIRROR_PROJECT_ID: sandbox.projectId,
    MIRROR_API_KEY: sandbox.apiKey,
    MIRROR_DATA_DIR: dataDir,
    MIRROR_LOG_LEVEL: 'debug',
  };
  const command = [join(root, 'src/main.ts'), ...args, '--json', ...set];
  const { status, stdout, stderr } = await new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) =>
    execFile(process.execPath, command, { cwd: folder, env, maxBuffer: 1e9, timeout: 240_000 }, (error, out, err) =>
      resolve({ status: error === null ? 0 : error.code, stdout: out, stderr: err }),
    ),
  );
  if (code !== undefined)
    equal(status, code, `${bucket}: ${args.join(' ')}\n${stdout.slice(-3000)}\n${stderr.slice(-3000)}`);
  ok(!`${stdout}${stderr}`.includes(keys.AWS_SECRET_ACCESS_KEY) && !/X-Amz-Signature/i.test(stderr), 'a secret shows');
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function stand(Bucket: string) {
  const {
    Versions = [],
    DeleteMarkers = [],
    IsTruncated,
  } = await client.send(new ListObjectVersionsCommand({ Bucket }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
  equal(IsTruncated ?? false, false);
  return { objects: [...Versions, ...DeleteMarkers], uploads: Uploads, versions: Versions };
}

function filesOf(dataDir: string): Map<string, string> {
  const below = join(dataDir, 'snapshots');
  const paths = readdirSync(below, { recursive: true, encoding: 'utf8' }).filter((path) =>
    statSync(join(below, path)).isFile(),
  );
  return new Map(paths.map((path) => [`mirror/${path}`, sha256(readFileSync(join(below, path)))]));
}

/** Each file once, in one version; with a lock, each file. */
function equalToFolder(
  { objects }: Pick<Awaited<ReturnType<typeof stand>>, 'objects'>,
  dataDir: string,
  isLocked = false,
): void {
  const names = new Set(objects.map(({ Key = '' }) => Key));
  const files = new Set(filesOf(dataDir).keys());
  if (!isLocked) equal(objects.length, files.size);
  deepEqual(new Set([...names].filter((name) => !isLocked || files.has(name))), files);
}
