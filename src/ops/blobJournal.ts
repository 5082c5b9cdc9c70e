import type { AppendBlobClient, ContainerClient } from '@azure/storage-blob';
import type { Instance } from '@payonce/jobs/instance';
import { inTime } from '../platform/blobRequests.ts';
import type { Journal } from './audit.ts';

/** Blocks that an append blob can have (https://learn.microsoft.com/azure/storage/blobs/scalability-targets). */
const mostBlocks = 50_000;

/** The journal as append blobs of lines of JSON: one for each day (UTC) and instance, and another once that is full. */
export function blobJournal(
  container: ContainerClient,
  { name: instance, clock }: Pick<Instance, 'name' | 'clock'>,
  most = mostBlocks,
): Journal {
  let open: { day: string; part: number; blob: AppendBlobClient; blocks: number } | undefined;

  return {
    async append(lines) {
      const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      if (open?.day !== day) open = await opened(day, 0);
      while (open.blocks >= most) open = await opened(day, open.part + 1);
      const into = open;
      const { blobCommittedBlockCount = 0 } = await into.blob.appendBlock(bytes, bytes.length, inTime());
      into.blocks = blobCommittedBlockCount;
    },
  };

  async function opened(day: string, part: number) {
    const name = `${day}/${encodeURIComponent(instance)}${part === 0 ? '' : `-${part}`}.jsonl`;
    const blob = container.getAppendBlobClient(name);
    const { succeeded } = await blob.createIfNotExists(inTime());
    const blocks = succeeded ? 0 : ((await blob.getProperties(inTime())).blobCommittedBlockCount ?? 0);
    return { day, part, blob, blocks };
  }
}
