import { randomUUID } from 'node:crypto';
import { BlobServiceClient } from '@azure/storage-blob';
import { beforeAll, expect, inject, test } from 'vitest';
import { blobArchive } from '../../src/archive/blobArchive.ts';

const container = BlobServiceClient.fromConnectionString(inject('azurite')).getContainerClient(
  `archive-${randomUUID()}`,
);
const blobs = blobArchive(container);
beforeAll(async () => void (await container.create()));

test('a file is created once: the same text is our own earlier try, another one is taken', async () => {
  expect(await blobs.create('00/created', 'a line')).toBe('stored');
  expect(await blobs.create('00/created', 'a line')).toBe('stored');
  expect(await blobs.create('00/created', 'another')).toBe('taken');
  expect(await blobs.read('00/created')).toBe('a line');
});

test('of two rewrites of one file none is lost, and a missing file stays missing', async () => {
  await blobs.create('00/rewritten', 'name');
  await Promise.all(
    ['one', 'two'].map((what) => blobs.rewrite('00/rewritten', (text) => `${text}, ${what}`)),
  );
  expect(['name, one, two', 'name, two, one']).toContain(await blobs.read('00/rewritten'));
  expect(await blobs.rewrite('00/rewritten', (text) => text)).toBe(true);
  await blobs.create('00/empty', '');
  expect(await blobs.rewrite('00/empty', (text) => text)).toBe(true);
  expect(await blobs.rewrite('00/missing', () => 'anything')).toBe(false);
  expect(await blobs.read('00/missing')).toBeUndefined();
});
