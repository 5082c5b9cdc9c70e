import type { ComponentChildren } from 'preact';
import { Term } from './Term.tsx';

/** A line of a list of facts. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>
        <Term>{name}</Term>
      </dt>
      <dd>{children}</dd>
    </>
  );
}
