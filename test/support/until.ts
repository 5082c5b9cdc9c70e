const pollMs = 100;

/** Polls until `holds`; returns that value. @throws {Error} with the last value, after `withinMs` milliseconds */
export async function until<T>(
  look: () => Promise<T>,
  holds: (value: T) => boolean,
  { withinMs = 50_000 } = {},
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    if (performance.now() > deadline)
      throw new Error(`still ${JSON.stringify(value)} after ${withinMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
