// The table of points: sorted by a click on a heading, filtered by a field under it; only the rows in sight are drawn.
import { useEffect, useRef, useState } from "preact/hooks";
import { isReadable, withFilter, type Filters } from "./filters";
import { compareRows, formatCell, shortName, type Column, type Points } from "./points";
import { tellUnits } from "./units";

const ROW_PX = 26;
const HEAD_PX = 58;
const AROUND = 8; // rows drawn above and below those in sight

interface TableProps {
  points: Points;
  columns: readonly Column[];
  rows: readonly number[]; // those that pass, in order
  filters: Filters;
  sort: string | null;
  chosen: readonly number[];
  onFilters: (filters: Filters) => void;
  onSort: (sort: string | null) => void;
  onChoose: (row: number, beside: boolean) => void;
}

/** The rows that pass, in the order asked for; rows without a figure come last. */
export function orderRows(points: Points, mask: Uint8Array, sort: string | null): number[] {
  const rows: number[] = [];
  mask.forEach((keeps, row) => keeps && rows.push(row));
  const down = sort?.startsWith("-") ?? false;
  const column = sort ? points.columns.get(down ? sort.slice(1) : sort) : undefined;
  if (!column) return rows;
  const missing = (row: number) => (column.kind === "number" ? Number.isNaN(column.values[row]) : column.values[row] === null);
  return rows.sort((a, b) => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b)) || a - b;
    return (down ? -compareRows(column, a, b) : compareRows(column, a, b)) || a - b;
  });
}

export function Table(props: TableProps) {
  const { points, columns, rows, chosen, onChoose } = props;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(400);
  const [at, setAt] = useState(0); // the row with the keyboard's cursor
  const cursor = Math.min(at, rows.length - 1);
  useEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 400));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);

  function move(to: number): void {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setAt(next);
    const shown = box.current!;
    const above = next * ROW_PX;
    const below = above + ROW_PX + HEAD_PX - shown.clientHeight;
    if (shown.scrollTop > above) shown.scrollTop = above;
    else if (shown.scrollTop < below) shown.scrollTop = below;
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((height - HEAD_PX) / ROW_PX) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -1e9, End: 1e9 };
    const step = steps[event.key];
    const row = rows[cursor];
    if (step !== undefined) move(cursor + step);
    else if ((event.key === "Enter" || event.key === " ") && row !== undefined) onChoose(row, event.shiftKey);
    else return;
    event.preventDefault();
  }

  const first = Math.max(0, Math.floor(top / ROW_PX) - AROUND);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_PX) + AROUND);
  return (
    <div
      class="table"
      ref={box}
      tabIndex={0}
      role="grid"
      aria-label={`Points, ${rows.length}; arrow keys move, Enter opens`}
      aria-rowcount={rows.length}
      aria-activedescendant={rows.length ? `row-${rows[cursor]}` : undefined}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <table>
        <Head {...props} />
        <tbody>
          {first > 0 && <tr style={{ height: `${first * ROW_PX}px` }} />}
          {rows.slice(first, last).map((row, index) => (
            <tr
              key={points.keys[row]}
              id={`row-${row}`}
              class={classOf(points, row, chosen, first + index === cursor)}
              aria-selected={chosen.includes(row)}
              onMouseDown={(event) => event.shiftKey && event.preventDefault()} // selects no text
              onClick={(event) => {
                setAt(first + index);
                onChoose(row, event.shiftKey);
              }}
            >
              {columns.map((column) => (
                <td key={column.name} class={column.kind} title={column.kind === "text" ? (column.values[row] ?? "") : undefined}>
                  {formatCell(column, row)}
                </td>
              ))}
            </tr>
          ))}
          {last < rows.length && <tr style={{ height: `${(rows.length - last) * ROW_PX}px` }} />}
        </tbody>
      </table>
      {!rows.length && <p class="empty">No point matches.</p>}
    </div>
  );
}

function classOf(points: Points, row: number, chosen: readonly number[], isCursor: boolean): string {
  const status = points.columns.get("status");
  const failed = status?.kind === "text" && status.values[row] !== "ok";
  const names = [
    points.front[row] && "front",
    points.bounded[row] && "bounded",
    failed && "failed",
    chosen[0] === row && "one",
    chosen[1] === row && "other",
    isCursor && "cursor",
  ];
  return names.filter(Boolean).join(" ");
}

function Head({ columns, filters, sort, onFilters, onSort }: TableProps) {
  const arrow = (name: string) => (sort === name ? " ▲" : sort === `-${name}` ? " ▼" : "");
  const turn = (name: string) => onSort(sort === name ? `-${name}` : sort === `-${name}` ? null : name);
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th key={column.name} class={column.kind} aria-sort={sort === column.name ? "ascending" : sort === `-${column.name}` ? "descending" : "none"}>
            <button type="button" class="sort" title={`Sort by ${column.name}`} onClick={() => turn(column.name)}>
              {shortName(column.name)}
              {arrow(column.name)}
            </button>
            <FilterField
              column={column}
              text={filters[column.name] ?? ""}
              onText={(text) => onFilters(withFilter(filters, column.name, text || null))}
            />
          </th>
        ))}
      </tr>
    </thead>
  );
}

function FilterField({ column, text, onText }: { column: Column; text: string; onText: (text: string) => void }) {
  const wrong = text !== "" && !isReadable(column, text);
  const hint = column.kind === "number" ? `64, >100, <=5 or 1..5${tellUnits(column.name)}` : "a part of the text, or =all of it";
  return (
    <input
      type="search"
      value={text}
      placeholder="filter"
      spellcheck={false}
      aria-label={`Filter ${column.name}`}
      aria-invalid={wrong}
      title={wrong ? `${text} is no filter of numbers; give ${hint}` : `Filter ${column.name}: ${hint}`}
      class={text ? "set" : ""}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}
