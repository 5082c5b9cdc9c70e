/** Count, and sum of the amounts in minor units. */
export interface Figure {
  count: number;
  minor: bigint;
}

/** By name, such as `2026-10-01 EUR paid`. */
export type Figures = Map<string, Figure>;

export function count(figures: Figures, name: string, minor: number | bigint, by = 1): void {
  const { count: before, minor: sum } = figures.get(name) ?? { count: 0, minor: 0n };
  figures.set(name, { count: before + by, minor: sum + BigInt(minor) });
}

/** The figures without their days: what is counted over the whole time. */
export function overall(figures: Figures): Figures {
  const sums: Figures = new Map();
  for (const [name, figure] of figures) {
    const total = name.slice(name.indexOf(' ') + 1);
    const { count: before, minor } = sums.get(total) ?? { count: 0, minor: 0n };
    sums.set(total, { count: before + figure.count, minor: minor + figure.minor });
  }
  return sums;
}

/** The figures that a provider's ledger has too: it knows nothing of invoices that were never paid. */
export function moved(figures: Figures): Figures {
  return new Map([...figures].filter(([name]) => !name.endsWith(' declined')));
}

/** A line for each figure that is not the same on both sides. */
export function differences(
  [oneName, one]: readonly [string, Figures],
  [otherName, other]: readonly [string, Figures],
): string[] {
  const names = [...new Set([...one.keys(), ...other.keys()])].toSorted();
  return names.flatMap((name) => {
    const [a, b] = [one.get(name), other.get(name)].map(text);
    return a === b ? [] : [`${name}: ${oneName} ${a}, ${otherName} ${b}`];
  });
}

function text(figure: Figure = { count: 0, minor: 0n }): string {
  return `${figure.minor} (${figure.count})`;
}
