/** The `known` name that a wrong name most likely stands for, if one is close: another case, cut off, or a typo. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const given = plain(name);
  if (given === '') return undefined;
  const sameStart = known.find((each) => plain(each).startsWith(given) || given.startsWith(plain(each)));
  if (sameStart !== undefined) return sameStart;
  const [nearest] = known
    .map((each) => ({ each, distance: editDistance(given, plain(each)) }))
    .filter(({ each, distance }) => distance <= Math.min(2, each.length / 3))
    .toSorted((a, b) => a.distance - b.distance);
  return nearest?.each;
}

function plain(name: string): string {
  return name
    .slice(0, 50)
    .toLowerCase()
    .replace(/[\s_-]/g, '');
}

/** Levenshtein distance. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [line, letter] of one.split('').entries()) {
    const next = [line + 1];
    for (let column = 1; column < row.length; column++) {
      const kept = (row[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(kept, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
