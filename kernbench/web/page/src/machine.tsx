// The view of a machine: one drawing from the tray to the parts of a PE, a search, and a panel with figures and sources.
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { machineAbout, machineArrow } from "./api";
import { useKeys } from "./keys";
import { usePalette, type Palette } from "./palette";
import { draw, FUNCTIONS, functionOf, linkAt, nodeAt, type Camera, type Overlay, type Tones } from "./machine_draw";
import { Hover, LinkHover, Overview, Panel } from "./machine_panel";
import { readMachine, search, type Area, type Machine as Data } from "./machine_data";
import { formatNumber } from "./points";
import { Problem } from "./problem";
import type { MachineSettings } from "./route";

const MOST_FOUND = 40;
const PAN_PX = 80;
const LEGEND_PX = 56; // at the bottom of a drawing, which an area that is shown whole leaves free

interface MachineProps {
  name: string;
  settings: MachineSettings;
  onSettings: (settings: MachineSettings) => void;
}

export function Machine({ name, settings, onSettings }: MachineProps) {
  const [data, setData] = useState<Data | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let gone = false;
    Promise.all([machineAbout(name), machineArrow(name, "nodes"), machineArrow(name, "links")])
      .then(([about, nodes, links]) => gone || setData(readMachine(about, nodes, links)))
      .catch((error: unknown) => gone || setProblem(error instanceof Error ? error.message : String(error)));
    return () => {
      gone = true;
    };
  }, [name]);
  if (problem) return <Problem text={problem} />;
  if (!data) return <p class="message loading">Reading machine {name} …</p>;
  return <MachineViews data={data} settings={settings} onSettings={onSettings} />;
}

function tonesOf(palette: Palette, dark: boolean): Tones {
  const light = { compute: "#f3b562", memory: "#8cc56b", movement: "#7fb2e5", control: "#b39ddb", port: "#3aa899", host: "#e58fb1", other: "#b8bec8" };
  const deep = { compute: "#a8641a", memory: "#4c7f2f", movement: "#2f6da8", control: "#6b4fa0", port: "#0b7a6b", host: "#a83262", other: "#555d6b" };
  return {
    ground: palette.ground,
    area: dark ? "#ffffff08" : "#1f3b6a08",
    text: palette.text,
    quiet: palette.quiet,
    line: dark ? "#566074" : "#a9b2c1",
    mark: palette.front,
    near: palette.other,
    kinds: dark ? deep : light,
  };
}

/** The zoom and its camera, which a wheel, a drag, keys and buttons move. */
function useCamera(data: Data, settings: MachineSettings, onSettled: (camera: Camera) => void) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const behaviour = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, k: 1 });
  const latest = useRef(onSettled);
  latest.current = onSettled;
  useLayoutEffect(() => {
    // before the canvas is seen: a key or a wheel may come at once
    const box = canvas.current!;
    const fit = cameraOf(data.extent, box);
    const made = zoom<HTMLCanvasElement, unknown>().scaleExtent([fit.k * 0.5, fit.k * 3000]);
    let timer = 0;
    made.on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
      const { x, y, k } = event.transform;
      setCamera({ x, y, k });
      clearTimeout(timer);
      if (event.sourceEvent) timer = window.setTimeout(() => latest.current({ x, y, k }), 250);
    });
    behaviour.current = made;
    select(box).call(made).on("dblclick.zoom", null);
    const start = settings.at ? placed(settings.at, box) : fit;
    select(box).call(made.transform, zoomIdentity.translate(start.x, start.y).scale(start.k));
    return () => clearTimeout(timer);
  }, [data]);
  const move = (to: Camera) => {
    select(canvas.current!).call(behaviour.current!.transform, zoomIdentity.translate(to.x, to.y).scale(to.k));
    latest.current(to);
  };
  return { canvas, camera, move };
}

/** The camera that shows an area whole. */
function cameraOf(area: Area, box: HTMLElement): Camera {
  const [width, height] = [area.right - area.left || 1, area.bottom - area.top || 1];
  const high = box.clientHeight - (box.clientHeight > 4 * LEGEND_PX ? LEGEND_PX : 0);
  const k = 0.9 * Math.min(box.clientWidth / width, high / height);
  const [cx, cy] = [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
  return { x: box.clientWidth / 2 - cx * k, y: high / 2 - cy * k, k };
}

/** The camera of an address, which names the middle in mm and the width in mm that is seen. */
function placed([cx, cy, wide]: readonly [number, number, number], box: HTMLElement): Camera {
  const k = box.clientWidth / wide;
  return { x: box.clientWidth / 2 - cx * k, y: box.clientHeight / 2 - cy * k, k };
}

function addressOf({ x, y, k }: Camera, box: HTMLElement): [number, number, number] {
  const round = (value: number) => Number(value.toPrecision(6));
  return [round((box.clientWidth / 2 - x) / k), round((box.clientHeight / 2 - y) / k), round(box.clientWidth / k)];
}

/** What a view of a run adds to the drawing of its machine. */
export interface Additions {
  overlay: Overlay;
  title: ComponentChildren; // in place of the name of the machine
  legend: ComponentChildren | null; // in place of the colours of functions
  beside: (goTo: (node: number) => void) => ComponentChildren; // above the parts of the machine
  onNode: (node: number) => ComponentChildren; // what is told of a node, or of a link, beside its figures
  onLink: (link: number) => ComponentChildren;
}

interface ViewsProps extends Omit<MachineProps, "name"> {
  data: Data;
  added?: Additions;
}

export function MachineViews({ data, settings, onSettings, added }: ViewsProps) {
  const palette = usePalette();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const tones = useMemo(() => tonesOf(palette, dark), [palette, dark]);
  const selected = settings.select ? data.names.indexOf(settings.select) : -1;
  const [hovered, setHovered] = useState<number | null>(null);
  const [link, setLink] = useState<number | null>(null); // that the pointer is near
  const [size, setSize] = useState(0); // changes when the canvas does
  const [listed, setListed] = useState(true); // whether the parts stand beside the drawing
  const { canvas, camera, move } = useCamera(data, settings, (to) => onSettings({ ...settings, at: addressOf(to, canvas.current!) }));
  useEffect(() => {
    const box = canvas.current!;
    const observer = new ResizeObserver(() => {
      box.width = box.clientWidth * devicePixelRatio;
      box.height = box.clientHeight * devicePixelRatio;
      setSize(box.width * 1e5 + box.height);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const g = canvas.current?.getContext("2d");
      if (g) draw(g, data, camera, tones, selected < 0 ? null : selected, hovered, added?.overlay);
    });
    return () => cancelAnimationFrame(frame);
  }, [data, camera, tones, selected, hovered, size, added?.overlay]);
  const choose = (node: number | null) => onSettings({ ...settings, select: node === null ? null : data.names[node]! });
  const goTo = (node: number) => {
    const to = cameraOf(areaOf(data, node), canvas.current!);
    move(to);
    onSettings({ ...settings, select: data.names[node]!, at: addressOf(to, canvas.current!) });
  };
  const goToLevel = (level: number) => move(cameraOf(levelArea(data, level, selected), canvas.current!));
  const scaleBy = (factor: number) => {
    const box = canvas.current!;
    const [mx, my] = [box.clientWidth / 2, box.clientHeight / 2];
    move({ x: mx - (mx - camera.x) * factor, y: my - (my - camera.y) * factor, k: camera.k * factor });
  };
  useKeys((event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || takesKeys(event.target)) return;
    const pans: Record<string, [number, number]> = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const pan = pans[event.key];
    if (pan) move({ ...camera, x: camera.x + pan[0] * PAN_PX, y: camera.y + pan[1] * PAN_PX });
    else if (event.key === "+" || event.key === "=") scaleBy(1.4);
    else if (event.key === "-") scaleBy(1 / 1.4);
    else if (/^[1-9]$/.test(event.key)) goToLevel(Number(event.key) - 1);
    else if (event.key === "Escape" && selected >= 0) choose(null);
    else if (event.key === "Escape" && listed) setListed(false);
    else return;
    event.preventDefault();
  });
  const levels = levelNames(data);
  return (
    <main class="machine">
      <header class="summary">
        {added?.title ?? (
        <div>
          <h1>{data.about.name}</h1>
          <p class="note">
            {data.about.description} · family {data.about.family} · {data.names.length.toLocaleString("en-US")} parts,{" "}
            {data.source.length.toLocaleString("en-US")} links · {data.about.file}
          </p>
        </div>
        )}
        <div class="levels" role="toolbar" aria-label="Levels">
          {levels.map((label, level) => (
            <button type="button" key={label} title={`Show ${level ? `one ${label}` : "all"} (${level + 1})`} onClick={() => goToLevel(level)}>
              {label}
            </button>
          ))}
          <button type="button" aria-label="Closer (+)" title="Closer (+)" onClick={() => scaleBy(1.4)}>
            +
          </button>
          <button type="button" aria-label="Farther (-)" title="Farther (-)" onClick={() => scaleBy(1 / 1.4)}>
            −
          </button>
        </div>
        {!listed && selected < 0 && (
          <button type="button" onClick={() => setListed(true)}>
            Parts
          </button>
        )}
        <Search data={data} onFound={goTo} />
      </header>
      <div class={listed || selected >= 0 ? "stage" : "stage alone"}>
        <section class="card drawing">
          <canvas
            ref={canvas}
            tabIndex={0}
            role="img"
            aria-label={`Drawing of ${data.about.name}; arrow keys move it, plus and minus zoom, 1 and up show a level`}
            onMouseMove={(event) => {
              const node = nodeAt(data, camera, event.offsetX, event.offsetY);
              setHovered(node);
              setLink(node === null ? linkAt(data, camera, event.offsetX, event.offsetY) : null);
            }}
            onMouseLeave={() => {
              setHovered(null);
              setLink(null);
            }}
            onClick={(event) => choose(nodeAt(data, camera, event.offsetX, event.offsetY))}
          />
          {hovered !== null && (
            <Hover data={data} node={hovered} camera={camera}>
              {added?.onNode(hovered)}
            </Hover>
          )}
          {link !== null && (
            <LinkHover data={data} link={link} camera={camera}>
              {added?.onLink(link)}
            </LinkHover>
          )}
          {added?.legend ?? <Key data={data} tones={tones} />}
          <Scale k={camera.k} />
        </section>
        {selected >= 0 ? (
          <Panel data={data} node={selected} onClose={() => choose(null)} onNode={goTo}>
            {added?.onNode(selected)}
          </Panel>
        ) : (
          listed && (
            <Overview data={data} onClose={() => setListed(false)}>
              {added?.beside(goTo)}
            </Overview>
          )
        )}
      </div>
    </main>
  );
}

/** Whether the keys of a drawing have another meaning where the focus is. */
function takesKeys(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement || target instanceof HTMLSelectElement || (target instanceof Element && target.closest("dialog") !== null);
}

/** The levels of a machine, by the names of the areas on them. */
function levelNames(data: Data): string[] {
  const names = ["All"];
  for (const { level, path } of data.areas) {
    const name = path.slice(path.lastIndexOf(".") + 1).replace(/\d+$/, "");
    names[level] ??= name.length < 4 ? name.toUpperCase() : name.charAt(0).toUpperCase() + name.slice(1);
  }
  return names;
}

/** The area of a level: that around the selected node, else the first. */
function levelArea(data: Data, level: number, selected: number): Area {
  const name = data.names[selected] ?? "";
  if (level === 0) return data.extent;
  const candidates = data.areas.filter((area) => area.level === level);
  return candidates.find((area) => name.startsWith(`${area.path}.`)) ?? candidates[0] ?? data.extent;
}

/** What is shown around a node that was searched: the innermost area that it is in. */
function areaOf(data: Data, node: number): Area {
  const inside = data.areas.filter((area) => data.names[node]!.startsWith(`${area.path}.`));
  return inside.at(-1) ?? data.extent;
}

function Search({ data, onFound }: { data: Data; onFound: (node: number) => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = useMemo(() => search(data, text, MOST_FOUND), [data, text]);
  const take = (node: number | undefined) => {
    if (node === undefined) return;
    onFound(node);
    setText("");
  };
  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (event.key === "Enter") take(found[at]);
    else if (event.key === "Escape") setText("");
    else return;
    event.preventDefault();
  }
  return (
    <div class="search">
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-expanded={found.length > 0}
        aria-controls="found"
        aria-label="Search parts by name or kind"
        placeholder={`Search parts: ${data.kinds.at(-1) ?? "name"}  ( / )`}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      {text && (
        <ul id="found" role="listbox">
          {found.map((node, index) => (
            <li key={node} role="option" aria-selected={index === at} onMouseDown={() => take(node)}>
              {data.names[node]} <span>{data.kinds[node]}</span>
            </li>
          ))}
          {!found.length && <li class="none">No part has this in its name.</li>}
        </ul>
      )}
    </div>
  );
}

function Key({ data, tones }: { data: Data; tones: Tones }) {
  const present = useMemo(() => new Set(data.kinds.map(functionOf)), [data]);
  return (
    <div class="key">
      {[...Object.keys(FUNCTIONS), "other"]
        .filter((name) => present.has(name))
        .map((name) => (
          <span key={name}>
            <i style={{ background: tones.kinds[name]! }} />
            {name}
          </span>
        ))}
    </div>
  );
}

/** A bar of a round length. */
function Scale({ k }: { k: number }) {
  const wanted = 110 / k;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const length = [5, 2, 1].map((step) => step * power).find((step) => step <= wanted) ?? power;
  return (
    <div class="scale">
      <i style={{ width: `${length * k}px` }} />
      {formatNumber(length)} mm
    </div>
  );
}
