import { guards } from '../../guards/guards.ts';
import { type Sabotage, sabotages } from './sabotages.ts';

/** Guards of test/guards, switched off. Those that are switched off in the same way are one. */
export const guardsOff: readonly Sabotage[] = [
  ...new Map(
    guards.map((guard) => {
      const { tests: _, caughtBy: __, name, ...edit } = guard;
      return [JSON.stringify(edit), { name, edits: [edit] }];
    }),
  ).values(),
];

/** Everything that is put into the app to see whether the simulation notices. */
export const catalogue: readonly Sabotage[] = [...guardsOff, ...sabotages];

/** @throws {Error} if none or several have such a name */
export function sabotageNamed(part: string): Sabotage {
  const exact = catalogue.filter(({ name }) => name === part);
  const found = exact.length > 0 ? exact : catalogue.filter(({ name }) => name.includes(part));
  const [only] = found;
  if (only === undefined || found.length > 1)
    throw new Error(`expected the name of one fault, got "${part}", which fits ${found.length}`);
  return only;
}
