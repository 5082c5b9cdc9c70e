/** Does something with each item, `atOnce` at a time, in their order. Rejects with the first failure. */
export async function inTurns<T>(
  items: readonly T[],
  atOnce: number,
  act: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
    }),
  );
}
