import type { AppendBlobClient, ContainerClient } from '@azure/storage-blob';
import type { Instance } from '@payonce/jobs/instance';
import { inTime } from '../platform/blobRequests.ts';
import type { Journal } from './auditTrail.ts';

/**
 * The journal as append blobs of lines of JSON: one for each instance and ten minutes (UTC). An append blob takes 50,000 blocks
 * (https://learn.microsoft.com/azure/storage/blobs/scalability-targets), more than one instance writes in that time.
 */
export function blobJournal(
  container: ContainerClient,
  { name: instance, clock }: Pick<Instance, 'name' | 'clock'>,
): Journal {
  let open: { name: string; blob: AppendBlobClient } | undefined;

  return {
    async append(lines) {
      const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const [day = '', time = ''] = new Date(clock.now()).toISOString().split('T');
      const name = `${day}/${encodeURIComponent(instance)}-${time.slice(0, 4).replace(':', '')}0.jsonl`;
      if (open?.name !== name) {
        const blob = container.getAppendBlobClient(name);
        await blob.createIfNotExists(inTime());
        open = { name, blob };
      }
      await open.blob.appendBlock(bytes, bytes.length, inTime());
    },
  };
}
