// A chart of ECharts in a box that may change its size, and the colours that charts have in common.
import { ParallelChart, ScatterChart, LineChart } from "echarts/charts";
import {
  BrushComponent,
  GridComponent,
  MarkAreaComponent,
  ParallelComponent,
  TooltipComponent,
} from "echarts/components";
import { color, init, use, type EChartsType } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import type { EChartsOption } from "echarts";
import { useEffect, useRef, useState } from "preact/hooks";

use([ParallelChart, ScatterChart, LineChart, BrushComponent, GridComponent, MarkAreaComponent]);
use([ParallelComponent, TooltipComponent, CanvasRenderer]);

export interface Palette {
  text: string;
  quiet: string;
  line: string;
  ground: string;
  faint: string;
  front: string;
  one: string;
  other: string;
  scale: string[];
}

const VIRIDIS = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"];

const LIGHT: Palette = {
  text: "#1d2430",
  quiet: "#5b6575",
  line: "#d5dae2",
  ground: "#ffffff",
  faint: "#c9ced6",
  front: "#d9480f",
  one: "#c2185b",
  other: "#1565c0",
  scale: VIRIDIS.slice(0, 7), // its last is too pale on white
};

const DARK: Palette = {
  text: "#e6e9ee",
  quiet: "#9aa5b5",
  line: "#343c49",
  ground: "#171b21",
  faint: "#3d4552",
  front: "#ff8a4c",
  one: "#ff5c93",
  other: "#64b5f6",
  scale: VIRIDIS.slice(2), // its first are too dark on black
};

/** The colours of the scheme that the system asks for, as it changes. */
export function usePalette(): Palette {
  const [dark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => setDark(query.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return dark ? DARK : LIGHT;
}

const AFTER_MS = 20; // so that the table shows a change first, and quick changes are drawn once

interface ChartProps {
  option: EChartsOption;
  label: string;
  onReady: (chart: EChartsType) => void; // once, to listen
  onDrawn?: (chart: EChartsType) => void; // after each change
  replace: readonly string[]; // parts of the option that are not merged but replaced
}

export function Chart({ option, label, onReady, onDrawn, replace }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  useEffect(() => {
    const drawn = init(box.current!, null, { renderer: "canvas" });
    chart.current = drawn;
    onReady(drawn);
    const observer = new ResizeObserver(() => drawn.resize());
    observer.observe(box.current!);
    return () => {
      observer.disconnect();
      drawn.dispose();
      chart.current = null;
    };
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      chart.current?.setOption(option, { replaceMerge: [...replace], lazyUpdate: false });
      if (chart.current) onDrawn?.(chart.current);
    }, AFTER_MS);
    return () => clearTimeout(timer);
  }, [option]);
  return <div class="chart" ref={box} role="img" aria-label={label} />;
}

export const FONT = { fontFamily: "system-ui, sans-serif", fontSize: 12 };

/** The colour of each point by its place along the scale of a column; without a value that of what is filtered out. */
export function colourOf(palette: Palette, low: number, high: number): (value: number | undefined) => string {
  const width = high - low || 1;
  return (value) =>
    value === undefined || Number.isNaN(value)
      ? palette.faint
      : (color.lerp(Math.min(1, Math.max(0, (value - low) / width)), palette.scale) as string);
}
