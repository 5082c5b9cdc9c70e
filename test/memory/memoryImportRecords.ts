import type { Rejection } from '../../src/importing/checkInvoice.ts';
import type { ImportRecords, ImportView } from '../../src/importing/importRecords.ts';

interface PageQuery {
  continuation?: string;
  pageSize: number;
}

/** Records of imports in memory. A continuation is the place where the next page begins. */
export function memoryImportRecords(now: () => number): ImportRecords {
  const imports = new Map<string, { view: ImportView; rejections: Rejection[] }>();
  const at = () => new Date(now()).toISOString();

  function pageOf<T>(all: readonly T[], { continuation = '0', pageSize }: PageQuery) {
    const from = Number(continuation);
    const items = all.slice(from, from + pageSize);
    const next = from + items.length;
    return next < all.length ? { items, continuation: `${next}` } : { items };
  }

  return {
    begin(by) {
      const importId = `import-${imports.size}`;
      const begun = { created: 0, duplicates: 0, rejected: 0, status: 'running' as const };
      const view: ImportView = { ...begun, importId, by, startedAt: at(), updatedAt: at() };
      const record = { view, rejections: [] as Rejection[] };
      imports.set(importId, record);
      return {
        importId,
        async write(progress, more) {
          record.rejections.push(...more);
          record.view = { ...record.view, ...progress, updatedAt: at() };
        },
      };
    },
    find: async (importId) => imports.get(importId)?.view,
    async list({ day, ...page }) {
      const ofDay = [...imports.values()]
        .map(({ view }) => view)
        .filter((view) => view.startedAt.startsWith(day));
      return pageOf(ofDay.toReversed(), page);
    },
    async rejected(importId, page) {
      const found = imports.get(importId);
      return found && pageOf(found.rejections, page);
    },
  };
}
