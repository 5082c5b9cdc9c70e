import { OnHold } from './notNow.ts';
import type { Stage } from './workItem.ts';

/** The same stage, which does nothing while `whyHeld` gives a reason: its work items wait, and no try of them counts. */
export function heldStage(stage: Stage, whyHeld: () => Promise<string | undefined>): Stage {
  return {
    ...stage,
    async run(input, context) {
      const why = await whyHeld();
      if (why !== undefined) throw new OnHold(why);
      return stage.run(input, context);
    },
  };
}
