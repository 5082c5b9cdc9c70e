import type { PatchOperation } from '@azure/cosmos';
import type { Condition, Patch } from './documentStore.ts';

/** The body of a patch request: what to change, and on what condition. */
export function patchBody(patch: Patch): { condition?: string; operations: PatchOperation[] } {
  const { where = [] } = patch;
  return {
    ...(where.length === 0 ? {} : { condition: conditionOf(where) }),
    operations: patchOperations(patch),
  };
}

/** At most ten of them (https://learn.microsoft.com/azure/cosmos-db/partial-document-update-faq). */
function patchOperations({ set = {}, remove = [], increment = {}, append }: Patch): PatchOperation[] {
  return [
    ...Object.entries(set).map(([path, value]) => ({ op: 'set' as const, path: pathOf(path), value })),
    ...remove.map((path) => ({ op: 'remove' as const, path: pathOf(path) })),
    ...Object.entries(increment).map(([path, value]) => ({ op: 'incr' as const, path: pathOf(path), value })),
    ...(append === undefined
      ? []
      : [{ op: 'add' as const, path: `${pathOf(append.path)}/-`, value: append.value }]),
  ];
}

/** Conditions take no parameters, so values are written as JSON literals, which end no string early. */
function conditionOf(where: readonly Condition[]): string {
  const terms = where.map(({ path, is, value }) => `c.${path} ${is} ${JSON.stringify(value)}`);
  return `from c where ${terms.join(' and ')}`;
}

function pathOf(path: string): string {
  return `/${path.replaceAll('.', '/')}`;
}
