import { join } from 'node:path';
import { expect, test } from 'vitest';
import { collectPages } from '../../src/bucket/list-pages.ts';
import { freshFolder } from '../mirror/open-test-mirror.ts';
import { bucketAt } from './follow-world.ts';

const pageOf = (marker: string): string =>
  `<?xml version="1.0"?><ListVersionsResult><IsTruncated>true</IsTruncated><NextKeyMarker>${marker}</NextKeyMarker></ListVersionsResult>`;

test('a list whose pages lead to one another ends', async () => {
  let asked = 0;
  const bucket = await bucketAt((_request, response) => {
    asked += 1;
    response.end(pageOf(asked % 2 === 0 ? 'a' : 'b'));
  });
  await expect(bucket.listVersions()).rejects.toMatchObject({
    code: 'service',
    message: expect.stringMatching(/has no end/) as string,
  });
  expect(asked).toBe(3);
});

test('a list of ever new pages without items ends', async () => {
  let asked = 0;
  const page = () => Promise.resolve({ IsTruncated: true, NextKeyMarker: String((asked += 1)) });
  await expect(collectPages(page, () => [])).rejects.toMatchObject({
    code: 'service',
    message: expect.stringMatching(/has no end/) as string,
  });
  expect(asked).toBe(1_000);
});

test('an answer without end is read into memory as far as a page may go', async () => {
  let sent = 0;
  const bucket = await bucketAt((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/xml' });
    const chunk = Buffer.alloc(1 << 20, ' ');
    const send = (): void => {
      while (!response.destroyed && sent < 200 << 20) {
        sent += chunk.length;
        if (!response.write(chunk)) return void response.once('drain', send);
      }
    };
    response.write('<?xml version="1.0"?><ListVersionsResult>');
    send();
  });
  await expect(bucket.listVersions()).rejects.toMatchObject({
    code: 'oversize',
    message: expect.stringMatching(/2097152 bytes/) as string,
  });
  // What the sockets hold besides.
  expect(sent).toBeLessThan(64 << 20);
});

test('an object without a length is not fetched to the disk', async () => {
  const bucket = await bucketAt((_request, response) => {
    response.write('some');
    response.end('thing');
  });
  await expect(bucket.fetch('state/project', join(freshFolder(), 'to'))).rejects.toMatchObject({ code: 'oversize' });
});
