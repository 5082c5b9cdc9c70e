import { useEffect, useRef } from 'preact/hooks';
import { go, type Place, withFilters } from '../hooks/location.ts';

export interface Filter {
  name: string;
  label: string;
  kind: 'text' | 'date' | { options: readonly (string | readonly [value: string, label: string])[] };
  /** Shown while the URL has no value. */
  preset?: string;
}

/** The filters of a list. Each change goes into the URL and begins the list again. */
export function Filters({ place, filters }: { place: Place; filters: readonly Filter[] }) {
  const change = (changes: Record<string, string>) => go(withFilters(place, { ...changes, page: undefined }));
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {filters.map(({ name, label, kind, preset = '' }) => {
          const value = place.query.get(name) ?? preset;
          return (
            <div key={name} class="filter">
              <label for={`filter-${name}`}>{label}</label>
              {typeof kind === 'string' ? (
                <TypedFilter
                  name={name}
                  kind={kind}
                  value={value}
                  apply={(text) => change({ [name]: text })}
                />
              ) : (
                <select
                  id={`filter-${name}`}
                  name={name}
                  value={value}
                  onChange={(event) => change({ [name]: event.currentTarget.value })}
                >
                  {kind.options.map((option) => {
                    const [of, text] = typeof option === 'string' ? [option, option] : option;
                    return (
                      <option key={of} value={of}>
                        {text}
                      </option>
                    );
                  })}
                </select>
              )}
            </div>
          );
        })}
      </form>
    </search>
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
