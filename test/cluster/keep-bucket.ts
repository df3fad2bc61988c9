import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import type { StoreWorld } from './store-world.ts';

const Bucket = 'state';

/** All objects of a bucket as they are now, or those of some keys. Returns what puts the bucket back to them. */
export async function keepBucket({ client }: StoreWorld, only = /./): Promise<() => Promise<void>> {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
  const objects = await Promise.all(
    Contents.filter(({ Key = '' }) => only.test(Key)).map(async ({ Key }) => {
      const { Body, Metadata } = await client.send(new GetObjectCommand({ Bucket, Key }));
      return { Key, Body: (await Body?.transformToByteArray()) ?? '', Metadata: Metadata ?? {} };
    }),
  );
  return async () => {
    const { Versions = [], DeleteMarkers = [] } = await client.send(new ListObjectVersionsCommand({ Bucket }));
    for (const { Key, VersionId } of [...Versions, ...DeleteMarkers].filter(({ Key: key = '' }) => only.test(key)))
      await client.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
    for (const object of objects) await client.send(new PutObjectCommand({ Bucket, ...object }));
  };
}
