import { scaleBand, scaleLinear } from 'd3-scale';
import { counted, countText } from '../format/amountText.ts';

const size = { width: 720, height: 150, bottom: 20, left: 44, top: 8 };

/** Invoices paid per hour, as bars; the same figures as a table for those who do not see them. */
export function PaidChart({ hours }: { hours: readonly { hour: string; count: number }[] }) {
  const x = scaleBand(
    hours.map(({ hour }) => hour),
    [size.left, size.width],
  ).padding(0.2);
  const most = Math.max(1, ...hours.map(({ count }) => count));
  const y = scaleLinear([0, most], [size.height - size.bottom, size.top]).nice(3);
  const floor = size.height - size.bottom;
  const total = hours.reduce((sum, { count }) => sum + count, 0);
  const ticks = y.ticks(3).filter(Number.isInteger);
  return (
    <figure class="chart">
      <figcaption>
        Paid per hour <strong>{countText(total)}</strong> in 24 h
      </figcaption>
      <svg
        viewBox={`0 0 ${size.width} ${size.height}`}
        role="img"
        aria-label={`${counted(total, 'invoice')} paid in the last 24 hours; the table below has each hour`}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={size.left} x2={size.width} y1={y(tick)} y2={y(tick)} />
            <text x={size.left - 6} y={y(tick) + 4} text-anchor="end">
              {countText(tick)}
            </text>
          </g>
        ))}
        {hours.map(({ hour, count }, index) => (
          <g key={hour}>
            <rect class="bar" x={x(hour)} width={x.bandwidth()} y={y(count)} height={floor - y(count)}>
              <title>{`${hour.slice(11, 16)} UTC: ${countText(count)}`}</title>
            </rect>
            {index % 4 === 3 && (
              <text x={(x(hour) ?? 0) + x.bandwidth() / 2} y={size.height - 4} text-anchor="middle">
                {hour.slice(11, 16)}
              </text>
            )}
          </g>
        ))}
      </svg>
      <details>
        <summary>As a table</summary>
        <table class="plain">
          <caption class="hidden">Invoices paid per hour</caption>
          <thead>
            <tr>
              <th scope="col">Hour (UTC)</th>
              <th scope="col" class="right">
                Paid
              </th>
            </tr>
          </thead>
          <tbody>
            {hours.map(({ hour, count }) => (
              <tr key={hour}>
                <td>{hour.slice(0, 16).replace('T', ' ')}</td>
                <td class="right">{countText(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}
