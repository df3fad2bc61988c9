import { z } from 'zod';
import type { Settings } from '../config/settings.ts';
import { ConsumerName, ReaderTable } from '../contract/names.ts';
import { sha256 } from '../core/digest.ts';
import { usageError } from '../core/errors.ts';
import { readJson } from '../core/exact-json.ts';
import { isSshSignature, sshFingerprint } from '../core/ssh-signature.ts';
import type { Seen } from '../ledger/record.ts';

const count = z.int().min(0);
/** The report that the statements of `erase kit` print. */
const Report = z.strictObject({
  report: z.literal(1),
  consumer: ConsumerName,
  engine: z.enum(['postgres', 'duckdb', 'clickhouse']),
  epoch: count.nullable(),
  tables: z
    .array(
      z.strictObject({
        table: ReaderTable,
        control: count.nullable(),
        deleted: z.int().nullable(),
        left: count.nullable(),
        memory: z.record(z.string().max(40), z.union([count, z.string().max(40)])),
      }),
    )
    .min(1)
    .max(100),
});

/** The namespace under which reports are signed (`ssh-keygen -Y sign -n`). */
const namespace = 'analytics-mirror';

/** What a report shows: what was seen, and how often the fence by which it looked had risen. */
export type Attestation = { seen: Seen; epoch: number };

/**
 * Reads a consumer's signed report. Throws `usage`, in one sentence, where it proves nothing: it is none, or another consumer's, no key
 * or another one has signed it, a control row was not found, or rows are left.
 */
export function readAttestation(
  { report, signature, consumer }: { report: Buffer; signature: string; consumer: string },
  fence: Settings['export']['fence'],
): Attestation {
  const own = fence.find((one) => one.consumer === consumer);
  if (!own?.signer)
    throw usageError('export.fence names no key that signs for this consumer', 'add its signer: ssh-ed25519 AAAA…');
  if (!isSshSignature(signature, { message: report, namespace, publicKey: own.signer }))
    throw usageError(
      'the signature is not of this report and the key of this consumer',
      `sign the report as it is with that key: ssh-keygen -Y sign -n ${namespace} -f KEY report.json`,
    );
  const read = Report.safeParse(readJson(report.toString()));
  if (!read.success)
    throw usageError('the file is no report of `erase kit`', 'sign the last row that the statements print, alone');
  const { consumer: named, epoch, tables } = read.data;
  if (named !== consumer)
    throw usageError('the report is of another consumer', 'run the kit that was printed for this one');
  const blind = tables.find(({ control }) => control === null || control < 1);
  if (blind || epoch === null)
    throw usageError(
      `the report proves nothing: its control row was not found${blind ? ` in ${blind.table}` : ''}`,
      "load the newest fence, and check the key's file and the columns that --table names; then run the kit again",
    );
  const full = tables.find(({ left }) => left !== 0);
  if (full)
    throw usageError(`erased people are left in ${full.table}`, 'run the kit again when nothing loads that table');
  const covered = new Set(tables.map(({ table }) => table));
  const seen: Seen = {
    assurance: 'attested',
    report: sha256(report),
    signer: sshFingerprint(own.signer),
    tables: [...covered].toSorted(),
    not_covered: own.tables.filter((table) => !covered.has(table)).toSorted(),
  };
  return { seen, epoch };
}
