/** Mutants that change nothing that anybody could notice, by their place, and why. */
export const equivalent: Readonly<Record<string, string>> = {};
