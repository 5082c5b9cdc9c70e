import { useState } from 'preact/hooks';

/** Takes one file, dropped or chosen. */
export function DropFile({ choose }: { choose: (file: File) => void }) {
  const [over, setOver] = useState(false);
  const take = (files: FileList | null | undefined) => {
    const [file] = files ?? [];
    if (file !== undefined) choose(file);
  };
  return (
    <label
      class={`drop ${over ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files);
      }}
    >
      <span>Drop a CSV or JSON file here, or choose one</span>
      <input
        type="file"
        accept=".csv,.json,text/csv,application/json"
        onChange={(event) => {
          take(event.currentTarget.files);
          event.currentTarget.value = '';
        }}
      />
    </label>
  );
}
