// What stands above the views: what they show, the search, the filters that are set, and the way out if nothing passes them.
import { download, writeCsv } from "./csv";
import { applyFilters, type Filters } from "./filters";
import { shortName, type Column, type Points } from "./points";
import { applySearch, readSearch } from "./search";

interface PickProps {
  label: string;
  value: string;
  options: readonly Column[];
  onPick: (name: string) => void;
}

export function Pick({ label, value, options, onPick }: PickProps) {
  return (
    <label class="pick">
      {label}
      <select value={value} onChange={(event) => onPick(event.currentTarget.value)}>
        {options.map((column) => (
          <option key={column.name} value={column.name}>
            {shortName(column.name)}
          </option>
        ))}
      </select>
    </label>
  );
}

type Scale = "linear" | "log" | null;

export function ScalePick({ scale, onScale }: { scale: Scale; onScale: (scale: Scale) => void }) {
  return (
    <label class="pick" title="The axes of the plot">
      Scale
      <select value={scale ?? ""} onChange={(event) => onScale((event.currentTarget.value || null) as Scale)}>
        <option value="">automatic</option>
        <option value="linear">linear</option>
        <option value="log">logarithmic</option>
      </select>
    </label>
  );
}

interface MenuProps {
  title: string;
  legend: string;
  options: readonly Column[];
  chosen: readonly Column[];
  onChoose: (names: string[] | null) => void; // null: the usual ones
}

/** A menu in which columns are chosen, at least one. */
export function ColumnMenu({ title, legend, options, chosen, onChoose }: MenuProps) {
  const names = chosen.map((column) => column.name);
  const toggle = (name: string) => onChoose(names.includes(name) ? names.filter((one) => one !== name) : [...names, name]);
  return (
    <details
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !event.currentTarget.open) return;
        event.stopPropagation();
        event.currentTarget.open = false;
      }}
    >
      <summary>
        {title} ({chosen.length})
      </summary>
      <fieldset>
        <legend>{legend}</legend>
        <div class="all">
          <button type="button" onClick={() => onChoose(options.map((column) => column.name))}>
            All
          </button>
          <button type="button" onClick={() => onChoose(null)}>
            Usual
          </button>
        </div>
        {options.map((column) => (
          <label key={column.name}>
            <input
              type="checkbox"
              checked={names.includes(column.name)}
              disabled={names.length === 1 && names[0] === column.name}
              onChange={() => toggle(column.name)}
            />
            {shortName(column.name)}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

interface SearchProps {
  text: string;
  problem: string | null;
  onText: (text: string) => void;
}

export function SearchField({ text, problem, onText }: SearchProps) {
  return (
    <input
      type="search"
      class={`searching${text ? " set" : ""}`}
      value={text}
      placeholder="Search: M=64 latency_ns<5e4 word"
      spellcheck={false}
      aria-label="Search all columns"
      aria-invalid={problem !== null}
      title={problem ?? "Words, all of which must hold: name=value, name>100, name=1..5, or a part of any text"}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

interface CsvProps {
  points: Points;
  columns: readonly Column[];
  rows: readonly number[];
  name: string;
}

export function CsvButton({ points, columns, rows, name }: CsvProps) {
  return (
    <button
      type="button"
      title={`Download ${rows.length.toLocaleString("en-US")} rows and ${columns.length} columns, as the table shows them, with all digits`}
      onClick={() => download(writeCsv(points, columns, rows), `${name}.csv`)}
    >
      CSV
    </button>
  );
}

export interface Asked {
  filters: Filters;
  search: string;
}

interface ChipsProps extends Asked {
  count: number;
  of: number;
  onAsk: (asked: Partial<Asked>) => void;
}

export function FilterChips({ filters, search, count, of, onAsk }: ChipsProps) {
  const set = Object.entries(filters);
  return (
    <div class="chips" aria-live="polite">
      {set.map(([name, text]) => (
        <button type="button" key={name} title={`Remove the filter of ${name}`} onClick={() => onAsk({ filters: without(filters, name) })}>
          {shortName(name)} {text} ✕
        </button>
      ))}
      {(set.length > 0 || search) && (
        <span>
          {count.toLocaleString("en-US")} of {of.toLocaleString("en-US")} points
        </span>
      )}
    </div>
  );
}

function without(filters: Filters, name: string): Filters {
  return Object.fromEntries(Object.entries(filters).filter(([one]) => one !== name));
}

/** The points that pass all that is asked. */
export function findMask(points: Points, { filters, search }: Asked): Uint8Array {
  const mask = applyFilters(points, filters);
  if (search) applySearch(points, readSearch(points, search), mask);
  return mask;
}

interface NothingProps extends Asked {
  points: Points;
  onAsk: (asked: Partial<Asked>) => void;
}

/** Says that nothing passes, and offers what would let points pass again: one thing less, or all. */
export function Nothing({ points, filters, search, onAsk }: NothingProps) {
  const problem = readSearch(points, search).problem;
  const less: [string, Partial<Asked>][] = Object.keys(filters).map((name) => [shortName(name), { filters: without(filters, name) }]);
  if (search) less.push(["the search", { search: "" }]);
  const offers = less
    .map(([name, change]) => [name, change, count(findMask(points, { filters, search, ...change }))] as const)
    .filter(([, , passing]) => passing > 0);
  return (
    <p class="banner nothing" role="status">
      <span>{problem ?? `None of the ${points.count.toLocaleString("en-US")} points matches.`}</span>
      {less.length > 1 &&
        offers.map(([name, change, passing]) => (
          <button type="button" key={name} onClick={() => onAsk(change)}>
            Without {name}: {passing.toLocaleString("en-US")}
          </button>
        ))}
      <button type="button" onClick={() => onAsk({ filters: {}, search: "" })}>
        Show all points
      </button>
    </p>
  );
}

function count(mask: Uint8Array): number {
  return mask.reduce((sum, keeps) => sum + keeps, 0);
}
