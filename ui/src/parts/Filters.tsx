import { go, type Place, withFilters } from '../hooks/location.ts';

export interface Filter {
  name: string;
  label: string;
  kind: 'text' | 'date' | { options: readonly (string | readonly [value: string, label: string])[] };
  /** What it shows while the URL says nothing. */
  preset?: string;
}

/** What narrows a list. Each change goes into the URL and begins the list again. */
export function Filters({ place, filters }: { place: Place; filters: readonly Filter[] }) {
  const change = (name: string, value: string) => go(withFilters(place, { [name]: value, page: undefined }));
  return (
    <search>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {filters.map(({ name, label, kind, preset = '' }) => {
          const value = place.query.get(name) ?? preset;
          return (
            <div key={name} class="filter">
              <label for={`filter-${name}`}>{label}</label>
              {typeof kind === 'string' ? (
                <input
                  {...(kind === 'date' ? { type: 'date' } : {})}
                  id={`filter-${name}`}
                  name={name}
                  value={value}
                  key={value}
                  onChange={(event) => change(name, event.currentTarget.value.trim())}
                />
              ) : (
                <select
                  id={`filter-${name}`}
                  name={name}
                  value={value}
                  onChange={(event) => change(name, event.currentTarget.value)}
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
