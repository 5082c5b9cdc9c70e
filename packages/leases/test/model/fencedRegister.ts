/**
 * The resource that leases protect in the model: a store that takes writes with a fencing token and refuses
 * one smaller than it has seen, as the claim transaction does.
 */
export interface FencedRegister {
  write(fence: number): 'accepted' | 'fencedOut';
  /** The largest fence that it has seen; undefined before the first write. */
  seen(): number | undefined;
}

export function fencedRegister(): FencedRegister {
  let seen: number | undefined;
  return {
    seen: () => seen,
    write(fence) {
      if (fence < (seen ?? 0)) return 'fencedOut';
      seen = fence;
      return 'accepted';
    },
  };
}
