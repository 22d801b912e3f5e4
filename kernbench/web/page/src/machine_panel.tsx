// What the page tells of a part: beside the pointer, and in the panel.
import { useMemo } from "preact/hooks";
import type { MachineAbout } from "./api";
import type { Machine as Data } from "./machine_data";
import type { Camera } from "./machine_draw";
import { formatNumber } from "./points";

function mainFigures(about: MachineAbout, part: string): string {
  const fields = about.parts[part]?.fields ?? [];
  return fields.slice(0, 3).map((field) => `${field.name} ${field.value}`).join(", ");
}

export function Hover({ data, node, camera }: { data: Data; node: number; camera: Camera }) {
  const [x, y] = [data.x[node]! * camera.k + camera.x, (data.y[node]! - data.half[node]!) * camera.k + camera.y];
  return (
    <div class="hover" style={{ left: `${x}px`, top: `${Math.max(y - 8, 40)}px` }}>
      <strong>{data.names[node]}</strong>
      <span>
        {data.kinds[node]} · {data.linksOf[node]!.length} links
      </span>
      <span>{mainFigures(data.about, data.parts[node]!)}</span>
    </div>
  );
}

/** The parts of the machine, while none is selected. */
export function Overview({ data }: { data: Data }) {
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    for (const part of data.parts) if (part) found.set(part, (found.get(part) ?? 0) + 1);
    return [...found].sort((a, b) => b[1] - a[1]);
  }, [data]);
  return (
    <aside class="card detail" aria-label="Parts of the machine">
      <h2>Parts</h2>
      <p class="note">Click on a part, or search it, for all its figures, their sources, and its links.</p>
      <dl class="figures">
        {counts.map(([part, count]) => (
          <div key={part}>
            <dt>
              {count.toLocaleString("en-US")} × {part}
            </dt>
            <dd>
              {mainFigures(data.about, part) || "no figures"}
              <span>{data.about.parts[part]?.description}</span>
            </dd>
          </div>
        ))}
      </dl>
    </aside>
  );
}

interface PanelProps {
  data: Data;
  node: number;
  onClose: () => void;
  onNode: (node: number) => void;
}

export function Panel({ data, node, onClose, onNode }: PanelProps) {
  const part = data.about.parts[data.parts[node]!];
  return (
    <aside class="card detail" aria-label="A part">
      <header>
        <h2>{data.names[node]}</h2>
        <button type="button" class="plain" aria-label="Close (Escape)" title="Close (Escape)" onClick={onClose}>
          ✕
        </button>
      </header>
      <p class="note">
        {data.kinds[node]} · at {data.place[node]!.map(formatNumber).join(", ")} mm
      </p>
      {part ? (
        <>
          <h3>Figures of {data.parts[node]}</h3>
          <p class="note">
            {part.description} · {part.sheet}
          </p>
          <dl class="figures">
            {part.fields.map((field) => (
              <div key={field.name}>
                <dt>{field.name}</dt>
                <dd>
                  <strong>{field.value}</strong>
                  <span title={field.place}>{field.source}</span>
                </dd>
              </div>
            ))}
          </dl>
        </>
      ) : (
        <p class="note">It has no figures of its own.</p>
      )}
      <h3>Links</h3>
      <ul class="links">
        {data.linksOf[node]!.map((link) => {
          const other = data.source[link] === node ? data.target[link]! : data.source[link]!;
          return (
            <li key={link}>
              <button type="button" class="plain" onClick={() => onNode(other)}>
                {data.names[other]}
              </button>
              <span>
                {formatNumber(data.gbs[link]!)} GB/s{data.ports[link] ? ` (${data.ports[link]})` : ""} · {formatNumber(data.mm[link]!)} mm ·{" "}
                {data.about.links[data.linkKind[link]!]}
              </span>
            </li>
          );
        })}
      </ul>
    </aside>
  );
}
