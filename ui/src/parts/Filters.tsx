import { useEffect, useRef } from 'preact/hooks';
import { daysAfter, periodName, periodNames, periodOf } from '../format/periods.ts';
import { go, type Place, withFilters } from '../hooks/location.ts';

/** Labels by value. */
type Options = Readonly<Record<string, string>>;

type Field = {
  name: string;
  label: string;
  /** `chip`: a link leads to it, and it can only be removed. */
  kind: 'text' | 'date' | 'chip' | Options;
  /** Shown while the URL has no value. */
  preset?: string;
};

/** A range of days, chosen by its name or by its ends. */
export interface PeriodFilter {
  label: string;
  from: { name: string; label: string };
  to: { name: string; label: string };
  /** True if the day of `to` belongs to the range. */
  includesTo: boolean;
  /** The range of a URL that names none. */
  none: string;
}

export type Filter = Field | PeriodFilter;

type Change = (changes: Record<string, string | undefined>) => void;

/** The filters of a list, and those in force as chips. Each change goes into the URL and begins the list again. */
export function Filters({ place, filters }: { place: Place; filters: readonly Filter[] }) {
  const change: Change = (changes) => go(withFilters(place, { ...changes, page: undefined }));
  const fields = filters.flatMap((one): Field[] =>
    'kind' in one ? [one] : [one.from, one.to].map((end) => ({ ...end, kind: 'date' as const })),
  );
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {filters.map((one) =>
          'kind' in one ? (
            <FieldOf key={one.name} of={one} place={place} change={change} />
          ) : (
            <PeriodOf key={one.label} of={one} place={place} change={change} />
          ),
        )}
      </form>
      <Chips fields={fields} place={place} change={change} />
    </search>
  );
}

function FieldOf({ of, place, change }: { of: Field; place: Place; change: Change }) {
  const { name, label, kind, preset = '' } = of;
  const value = place.query.get(name) ?? preset;
  if (kind === 'chip') return null;
  return (
    <div class="filter">
      <label for={`filter-${name}`}>{label}</label>
      {typeof kind === 'string' ? (
        <TypedFilter name={name} kind={kind} value={value} apply={(text) => change({ [name]: text })} />
      ) : (
        <Choice name={name} value={value} options={kind} choose={(text) => change({ [name]: text })} />
      )}
    </div>
  );
}

function Choice({
  name,
  value,
  options,
  choose,
}: {
  name: string;
  value: string;
  options: Options;
  choose: (value: string) => void;
}) {
  return (
    <select
      id={`filter-${name}`}
      name={name}
      value={value}
      onChange={(event) => choose(event.currentTarget.value)}
    >
      {Object.entries(options).map(([of, text]) => (
        <option key={of} value={of}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** Values of a choice with their labels, behind one for all. */
export function allOr<Value extends string>(
  values: readonly Value[],
  labelOf: (value: Value) => string = (value) => value,
): Options {
  return { '': 'all', ...Object.fromEntries(values.map((value) => [value, labelOf(value)])) };
}

const custom = 'custom';

function PeriodOf({ of, place, change }: { of: PeriodFilter; place: Place; change: Change }) {
  const { label, from, to, includesTo, none } = of;
  const [first, last] = [from, to].map(({ name }) => (place.query.get(name) ?? '').slice(0, 10));
  const today = new Date().toISOString().slice(0, 10);
  const given =
    first && last
      ? (periodName({ from: first, before: includesTo ? daysAfter(last, 1) : last }, today) ?? custom)
      : first || last
        ? custom
        : '';
  function choose(name: string): void {
    const period = periodNames.find((one) => one === name);
    if (name === custom) document.getElementById(`filter-${from.name}`)?.focus();
    else if (period === undefined) change({ [from.name]: undefined, [to.name]: undefined });
    else {
      const { from: begin, before } = periodOf(period, today);
      change({ [from.name]: begin, [to.name]: includesTo ? daysAfter(before, -1) : before });
    }
  }
  const options = { ...allOr(periodNames), '': none, [custom]: 'custom …' };
  return (
    <>
      <div class="filter">
        <label for={`filter-${label}`}>{label}</label>
        <Choice name={label} value={given} options={options} choose={choose} />
      </div>
      {[from, to].map((end) => (
        <FieldOf key={end.name} of={{ ...end, kind: 'date' }} place={place} change={change} />
      ))}
    </>
  );
}

/** The filters in force: each is removed by a click. */
function Chips({ fields, place, change }: { fields: readonly Field[]; place: Place; change: Change }) {
  const active = fields.flatMap(({ name, label, kind }) => {
    const value = place.query.get(name) ?? '';
    if (value === '') return [];
    const shown = typeof kind === 'string' ? undefined : kind[value];
    return [{ name, text: `${label}: ${shown ?? value}` }];
  });
  if (active.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters in force">
      {active.map(({ name, text }) => (
        <li key={name}>
          <button type="button" onClick={() => change({ [name]: undefined })}>
            <span class="hidden">Remove </span>
            {text} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
      {active.length > 1 && (
        <li>
          <button
            type="button"
            onClick={() => change(Object.fromEntries(active.map(({ name }) => [name, undefined])))}
          >
            Remove all
          </button>
        </li>
      )}
    </ul>
  );
}

/** The year 2 is a year of this century whose other digits are not typed yet. */
const firstYear = 1970;

/**
 * A field that belongs to the person who types: the page writes into it only when the URL has another value. It applies at
 * Enter or when it is left, and a date that is picked by mouse at once.
 */
function TypedFilter({
  name,
  kind,
  value,
  apply,
}: {
  name: string;
  kind: 'text' | 'date';
  value: string;
  apply: (text: string) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  const typing = useRef(false);
  useEffect(() => {
    if (field.current !== null) field.current.value = value;
  }, [value]);

  function applied(): void {
    if (field.current === null || field.current.validity.badInput) return;
    const text = field.current.value.trim();
    if (
      text === value ||
      (kind === 'date' && text !== '' && Number(text.slice(0, text.indexOf('-'))) < firstYear)
    )
      return;
    apply(text);
  }

  return (
    <input
      {...(kind === 'date' ? { type: 'date' } : {})}
      id={`filter-${name}`}
      name={name}
      ref={field}
      onKeyDown={({ key }) => {
        typing.current = true;
        if (key === 'Enter') applied();
      }}
      onPointerDown={() => {
        typing.current = false;
      }}
      onChange={() => typing.current || applied()}
      onBlur={applied}
    />
  );
}
