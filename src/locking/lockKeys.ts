/** The keys of a lock that is split into `count` parts, each of which one process may hold: `{base}/0`, `{base}/1`, … */
export function shardKeys(base: string, count: number): string[] {
  return Array.from({ length: count }, (_, shard) => `${base}/${shard}`);
}

/**
 * What the keys of work items begin with. There is a lock for every one of them, so those that are old are deleted (a rule
 * in infra/modules/storage.bicep): no lock whose key begins with this may have a fence, which would be lost.
 */
export const workItemPrefix = 'work-items/';

/** The key of one stage of one thing, `work-items/{resourceId}#{stage}`; different pairs never share a key. */
export function workItemKey(resourceId: string, stage: string): string {
  return `${workItemPrefix}${escapePart(resourceId)}#${escapePart(stage)}`;
}

function escapePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('#', '%23');
}
