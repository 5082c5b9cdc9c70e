import { countText } from '../format/amountText.ts';

/** Request units above which an answer says what it cost: the database has them for payments, too. */
const muchRequestUnits = 100;

/** Cost of an answer in request units, if it is high. */
export function Cost({ of }: { of: { requestUnits: number } | undefined }) {
  if (of === undefined || of.requestUnits <= muchRequestUnits) return null;
  return (
    <span class="quiet">This cost the database {countText(Math.round(of.requestUnits))} request units.</span>
  );
}
