import type { Rejection } from '../../src/importing/checkInvoice.ts';
import type { ImportRecords, ImportView } from '../../src/importing/importRecords.ts';

interface PageQuery {
  continuation?: string;
  pageSize: number;
}

const begun = { created: 0, duplicates: 0, rejected: 0, sums: {}, status: 'running' as const };

/** Records of imports in memory. A continuation is the place where the next page begins. */
export function memoryImportRecords(now: () => number): ImportRecords {
  const imports = new Map<string, { view: ImportView; rejections: Rejection[]; parts: number }>();
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
      const view: ImportView = { ...begun, importId, by, startedAt: at(), updatedAt: at() };
      const record = { view, rejections: [] as Rejection[], parts: 0 };
      imports.set(importId, record);
      return {
        importId,
        async write(progress, more) {
          record.rejections.push(...more);
          record.view = { ...record.view, ...progress, updatedAt: at() };
        },
      };
    },
    async beginFile(by, file) {
      const importId = `import-${imports.size}`;
      const view: ImportView = { ...begun, importId, by, file, startedAt: at(), updatedAt: at() };
      imports.set(importId, { view, rejections: [], parts: 0 });
      return importId;
    },
    async part(importId, part) {
      const found = imports.get(importId);
      const { file } = found?.view ?? {};
      if (found === undefined || file === undefined) return undefined;
      if (part !== found.parts) return part < found.parts ? 'repeated' : 'notNext';
      const before = found.view;
      return {
        importId,
        async write({ status, ...progress }, more) {
          found.rejections.push(...more);
          if (status === 'running') return;
          const counts = {
            created: before.created + progress.created,
            duplicates: before.duplicates + progress.duplicates,
            rejected: before.rejected + progress.rejected,
          };
          const isWhole = counts.created + counts.duplicates + counts.rejected >= file.rows;
          const reached = isWhole ? ('completed' as const) : ('running' as const);
          const sums: Record<string, number> = { ...before.sums };
          for (const [currency, sum] of Object.entries(progress.sums))
            sums[currency] = (sums[currency] ?? 0) + sum;
          const seen = status === 'stopped' ? status : reached;
          found.view = { ...before, ...counts, sums, status: seen, updatedAt: at() };
          found.parts++;
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
