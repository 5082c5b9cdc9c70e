/** The keys of a lock that is split into `count` parts, each of which one process may hold: `{base}/0`, `{base}/1`, … */
export function shardKeys(base: string, count: number): string[] {
  return Array.from({ length: count }, (_, shard) => `${base}/${shard}`);
}

/** The key of one stage of one thing, `{resourceId}#{stage}`; different pairs never share a key. */
export function workItemKey(resourceId: string, stage: string): string {
  return `${escapePart(resourceId)}#${escapePart(stage)}`;
}

function escapePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('#', '%23');
}
