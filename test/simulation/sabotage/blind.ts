/** Guards that the simulation cannot see when they are switched off, and why. */
export const outOfSight: Readonly<Record<string, string>> = {};
