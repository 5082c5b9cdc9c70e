import { amountText } from '../format/amountText.ts';

export function Amount({ amountMinor, currency }: { amountMinor: number; currency: string }) {
  return (
    <span class="amount">
      {amountText(amountMinor, currency)} <abbr>{currency}</abbr>
    </span>
  );
}
