// The names beside the rows of the timeline: groups fold and unfold, a part is selected. Only names near what is seen are made.
import { useEffect, useState } from "preact/hooks";
import { heightOf, rowAt, type Row } from "./timeline_rows";

const MARGIN_PX = 600;

interface NamesProps {
  rows: readonly Row[];
  scroller: { current: HTMLElement | null };
  head: number;
  selected: number | null; // a track
  cursor: string | null; // the row that keys act on
  onToggle: (row: Row, all: boolean) => void;
  onPart: (row: Row) => void;
}

export function Names({ rows, scroller, head, selected, cursor, onToggle, onPart }: NamesProps) {
  const [middle, setMiddle] = useState(0);
  useEffect(() => {
    const box = scroller.current!;
    const follow = () => setMiddle(Math.round((box.scrollTop + box.clientHeight / 2) / MARGIN_PX) * MARGIN_PX);
    follow();
    box.addEventListener("scroll", follow);
    return () => box.removeEventListener("scroll", follow);
  }, []);
  const reach = (scroller.current?.clientHeight ?? 800) / 2 + MARGIN_PX;
  const [first, last] = [rowAt(rows, middle - reach), rowAt(rows, middle + reach)];
  return (
    <div class="names" role="tree" aria-label="Parts of the machine" style={{ height: `${heightOf(rows) + head}px` }}>
      {rows.slice(first, last + 1).map((row) => (
        <Name
          key={row.branch.id}
          row={row}
          head={head}
          selected={row.branch.track !== null && row.branch.track === selected}
          cursor={row.branch.id === cursor}
          onToggle={onToggle}
          onPart={onPart}
        />
      ))}
    </div>
  );
}

interface NameProps extends Pick<NamesProps, "head" | "onToggle" | "onPart"> {
  row: Row;
  selected: boolean;
  cursor: boolean;
}

function Name({ row, head, selected, cursor, onToggle, onPart }: NameProps) {
  const { branch, open, top, height } = row;
  const { counter } = branch;
  const group = branch.branches.length > 0 || (counter === undefined && branch.track === null);
  const highest = counter ? counter.tell(Math.max(...counter.most)) : "";
  return (
    <div
      id={`row ${branch.id}`}
      class={`name${group ? " group" : ""}${cursor ? " cursor" : ""}`}
      role="treeitem"
      aria-level={branch.depth + 1}
      aria-expanded={group ? open : undefined}
      aria-selected={selected}
      title={counter ? `${branch.id}\n${highest} at most` : `${branch.id}\n${branch.count.toLocaleString("en-US")} operations${group ? ` on ${branch.tracks.length} parts\nShift: with all groups in it` : ""}`}
      style={{ top: `${top + head}px`, height: `${height}px`, paddingLeft: `${8 + branch.depth * 14}px` }}
      onClick={(event) => (group ? onToggle(row, event.shiftKey) : counter === undefined && onPart(row))}
    >
      {group && <i aria-hidden="true">{open ? "▾" : "▸"}</i>}
      <span>{branch.label}</span>
      {counter ? <small>{highest}</small> : group && <small>{branch.tracks.length}</small>}
    </div>
  );
}
