import { scaleBand, scaleLinear } from 'd3-scale';
import { counted, countText } from '../format/amountText.ts';

const size = { width: 720, height: 150, bottom: 20, left: 72, top: 8 };

/** Invoices paid per day, as bars; the same counts as a table for those who do not see them. */
export function PaidChart({ days }: { days: readonly { day: string; count: number }[] }) {
  const x = scaleBand(
    days.map(({ day }) => day),
    [size.left, size.width],
  ).padding(0.2);
  const most = Math.max(1, ...days.map(({ count }) => count));
  const y = scaleLinear([0, most], [size.height - size.bottom, size.top]).nice(3);
  const floor = size.height - size.bottom;
  const total = days.reduce((sum, { count }) => sum + count, 0);
  const ticks = y.ticks(3).filter(Number.isInteger);
  return (
    <figure class="chart">
      <figcaption>
        Paid per day <strong>{countText(total)}</strong> in {days.length} days
      </figcaption>
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={`${counted(total, 'invoice')} paid in the last ${days.length} days; the table below has each day`}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={size.left} x2={size.width} y1={y(tick)} y2={y(tick)} />
            <text x={size.left - 6} y={y(tick) + 4} text-anchor="end">
              {countText(tick)}
            </text>
          </g>
        ))}
        {days.map(({ day, count }, index) => (
          <g key={day}>
            <rect class="bar" x={x(day)} width={x.bandwidth()} y={y(count)} height={floor - y(count)}>
              <title>{`${day}: ${countText(count)}`}</title>
            </rect>
            {index % 2 === 1 && (
              <text x={(x(day) ?? 0) + x.bandwidth() / 2} y={size.height - 4} text-anchor="middle">
                {day.slice(5)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <details>
        <summary>As a table</summary>
        <table class="plain">
          <caption class="hidden">Invoices paid per day</caption>
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" class="right">
                Paid
              </th>
            </tr>
          </thead>
          <tbody>
            {days.map(({ day, count }) => (
              <tr key={day}>
                <td>{day}</td>
                <td class="right">{countText(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
