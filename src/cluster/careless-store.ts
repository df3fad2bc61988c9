import { writeFileSync } from 'node:fs';
import type { Bucket } from '../bucket/bucket.ts';
import { sha256 } from '../core/digest.ts';
import { AppError } from '../core/errors.ts';
import { draftFile } from './entry-store.ts';

/** Put to see what the store refuses; the next commit removes it. */
const probeFile = 'probe';

/** Throws `refused` for a store that takes what a condition forbids: it would let a holder that lost the project write over the next one's state. */
export async function refuseCareless(bucket: Bucket, dataDir: string): Promise<void> {
  using from = draftFile(dataDir);
  writeFileSync(from.path, 'x', { mode: 0o600 });
  const probe = { path: probeFile, from: from.path, bytes: 1, sha256: sha256('x') };
  await bucket.put({ ...probe, over: null }, '');
  const another = '"00000000000000000000000000000000"';
  for (const over of [null, another])
    if (await bucket.put({ ...probe, over }, ''))
      throw new AppError(`the store of ${bucket.location} ignores the conditions of requests`, {
        code: 'refused',
        hint: 'use a store that keeps to If-Match and If-None-Match: else two machines would write over each other',
      });
}
