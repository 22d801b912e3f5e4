// What the page tells of a part: beside the pointer, and in the panel.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { MachineAbout } from "./api";
import type { Machine as Data } from "./machine_data";
import type { Camera } from "./machine_draw";
import { formatNumber } from "./points";

const HALF_PX = 186; // of the width of what is told beside the pointer

function mainFigures(about: MachineAbout, part: string): string {
  const fields = about.parts[part]?.fields ?? [];
  return fields.slice(0, 3).map((field) => `${field.name} ${field.value}`).join(", ");
}

interface HoverProps {
  data: Data;
  camera: Camera;
  children?: ComponentChildren;
}

export function Hover({ data, node, camera, children }: HoverProps & { node: number }) {
  return (
    <Box x={data.x[node]! * camera.k + camera.x} y={(data.y[node]! - data.half[node]!) * camera.k + camera.y}>
      <strong>{data.names[node]}</strong>
      <span>
        {data.kinds[node]} · {data.linksOf[node]!.length} links
      </span>
      <span>{mainFigures(data.about, data.parts[node]!)}</span>
      {children}
    </Box>
  );
}

export function LinkHover({ data, link, camera, children }: HoverProps & { link: number }) {
  const [a, b] = [data.source[link]!, data.target[link]!];
  return (
    <Box x={((data.x[a]! + data.x[b]!) / 2) * camera.k + camera.x} y={((data.y[a]! + data.y[b]!) / 2) * camera.k + camera.y}>
      <strong>
        {data.names[a]} – {data.names[b]}
      </strong>
      <span>{tellLink(data, link)}</span>
      {children}
    </Box>
  );
}

function Box({ x, y, children }: { x: number; y: number; children: ComponentChildren }) {
  return (
    <div class={y < 130 ? "hover below" : "hover"} style={{ left: `clamp(${HALF_PX}px, ${x}px, calc(100% - ${HALF_PX}px))`, top: `${y < 130 ? Math.max(y, 0) + 24 : y - 8}px` }}>
      {children}
    </div>
  );
}

function tellLink(data: Data, link: number): string {
  const port = data.ports[link] ? ` (${data.ports[link]})` : "";
  return `${formatNumber(data.gbs[link]!)} GB/s${port} · ${formatNumber(data.mm[link]!)} mm · ${data.about.links[data.linkKind[link]!]}`;
}

interface OverviewProps {
  data: Data;
  onClose: () => void;
  children?: ComponentChildren;
}

/** The parts of the machine, while none is selected. */
export function Overview({ data, onClose, children }: OverviewProps) {
  const counts = useMemo(() => {
    const found = new Map<string, number>();
    data.parts.forEach((part, node) => {
      const name = part || data.kinds[node]!;
      found.set(name, (found.get(name) ?? 0) + 1);
    });
    return [...found].sort((a, b) => b[1] - a[1]);
  }, [data]);
  return (
    <aside class="card detail" aria-label="Parts of the machine">
      <button type="button" class="plain close" aria-label="Close the parts (Escape)" title="Close (Escape)" onClick={onClose}>
        ✕
      </button>
      {children}
      <h2>Parts</h2>
      <p class="note">Click on a part, or search it, for all its figures, their sources, and its links.</p>
      <dl class="figures">
        {counts.map(([part, count]) => (
          <div key={part}>
            <dt>
              {count.toLocaleString("en-US")} × {part}
            </dt>
            <dd>
              {mainFigures(data.about, part) || <em>no figures of its own</em>}
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
  children?: ComponentChildren;
}

export function Panel({ data, node, onClose, onNode, children }: PanelProps) {
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
      {children}
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
              <span>{tellLink(data, link)}</span>
            </li>
          );
        })}
      </ul>
    </aside>
  );
}
