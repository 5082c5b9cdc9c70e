import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId } from 'preact/hooks';

/** The faults that the app has found in the fields of a dialog. */
export interface Faults {
  /** Field of the request and fault. */
  errors: readonly { field: string; error: string }[];
  /** Fields that show their faults themselves. */
  shown: Set<string>;
}

export const FaultsContext = createContext<Faults>({ errors: [], shown: new Set() });

interface FieldProps {
  /** Name of the field in the request. */
  name: string;
  label: ComponentChildren;
  value: string;
  change: (text: string) => void;
  isTime?: boolean;
  inputMode?: 'decimal' | 'text';
  placeholder?: string;
  maxLength?: number;
}

/** A labelled field of a dialog, which shows what the app finds wrong with it. */
export function Field({ name, label, value, change, isTime = false, ...input }: FieldProps) {
  const { errors, shown } = useContext(FaultsContext);
  const id = useId();
  const own = errors.filter(({ field }) => field === name);
  useEffect(() => {
    shown.add(name);
    return () => void shown.delete(name);
  }, [shown, name]);
  return (
    <label class="field">
      {label}
      <input
        {...(isTime ? { type: 'datetime-local' as const } : {})}
        {...{ ...input, value }}
        autocomplete="off"
        aria-invalid={own.length > 0}
        aria-describedby={own.length > 0 ? id : undefined}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {own.length > 0 && (
        <span class="wrong" id={id}>
          {own.map(({ field, error }) => `${field}: ${error}`).join('; ')}
        </span>
      )}
    </label>
  );
}

/** A box of a dialog to tick. */
export function Check({
  label,
  checked,
  change,
}: {
  label: string;
  checked: boolean;
  change: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => change(event.currentTarget.checked)} />
      {label}
    </label>
  );
}
