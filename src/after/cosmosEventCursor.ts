import type { Container } from '@azure/cosmos';
import { formatVersion, readableDocument } from '@payonce/jobs/documents';
import { createUnlessThere, readDocument, unlessRefused } from '@payonce/jobs/documents/cosmos';
import { z } from 'zod';
import type { EventCursor } from './readEventList.ts';

const id = 'events';
const cursorSchema = z.object({ readUntil: z.int() });

/**
 * The cursor as a document of the Cosmos container `pace`, beside the schedules: like them it is about calls of the whole
 * account, there is one of it, and nothing queries it. A container of its own would cost a deployment of `infra/` first.
 */
export function cosmosEventCursor(container: Container): EventCursor {
  return {
    async read() {
      const document = await readDocument(container, id, id);
      return document === undefined
        ? undefined
        : readableDocument(document, cursorSchema, 'cursor').readUntil;
    },

    async advance(from, to) {
      if (from === undefined) {
        const document = { id, limit: id, version: formatVersion, readUntil: to };
        await createUnlessThere(container, document);
        return;
      }
      await unlessRefused(() =>
        container.item(id, id).patch({
          condition: `from c where c.readUntil = ${from}`,
          operations: [{ op: 'set', path: '/readUntil', value: to }],
        }),
      );
    },
  };
}
