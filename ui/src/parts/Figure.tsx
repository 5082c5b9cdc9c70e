import { countText } from '../format/amountText.ts';
import { useChanged } from '../hooks/changed.ts';
import { Link } from './Link.tsx';

/** One number of the overview, which leads to what it counts. */
export function Figure({
  name,
  count,
  to,
  note,
  tone = 'calm',
}: {
  name: string;
  count: number;
  to: string;
  note?: string;
  tone?: 'calm' | 'good' | 'warn' | 'bad';
}) {
  const changed = useChanged(count);
  return (
    <li class={`figure ${count === 0 ? 'calm' : tone} ${changed ? 'changed' : ''}`}>
      <Link to={to} class="figure-body">
        <span class="name">{name}</span>
        <span class="count">{countText(count)}</span>
        {note !== undefined && <span class="note">{note}</span>}
      </Link>
    </li>
  );
}
