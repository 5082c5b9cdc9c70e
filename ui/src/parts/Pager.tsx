import { countText } from '../format/amountText.ts';
import { go, type Place, withFilters } from '../hooks/location.ts';

/** State in the history of a page that Next has led to. */
const reached = 'by Next';

/**
 * Previous and Next of a list. The URL holds where the page begins. A list knows only how to go on, so the way back is the
 * browser's history; a page that was opened by its link leads back to the first one.
 */
export function Pager({
  place,
  continuation,
  shown,
}: {
  place: Place;
  continuation: string | null;
  shown: number;
}) {
  const first = place.query.get('page') === null;
  if (first && continuation === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <button
        type="button"
        disabled={first}
        onClick={() => {
          if (history.state === reached) history.back();
          else go(withFilters(place, { page: undefined }));
          focusHeading();
        }}
      >
        Previous
      </button>
      <span>{countText(shown)} on this page</span>
      <button
        type="button"
        disabled={continuation === null}
        onClick={() => {
          if (continuation === null) return;
          go(withFilters(place, { page: continuation }), { state: reached });
          focusHeading();
        }}
      >
        Next
      </button>
    </nav>
  );
}

/** The buttons go away while the next page loads; without this the focus would be nowhere. */
function focusHeading(): void {
  document.querySelector('h1')?.focus();
}
