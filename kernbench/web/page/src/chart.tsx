// A chart of ECharts in a box that may change its size, and the colours of points along a scale.
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
  const [isBusy, setBusy] = useState(true); // until there is something to point at
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
      setBusy(false);
    }, AFTER_MS);
    return () => clearTimeout(timer);
  }, [option]);
  return <div class="chart" ref={box} role="img" aria-label={label} aria-busy={isBusy} />;
}

export const FONT = { fontFamily: "system-ui, sans-serif", fontSize: 12 };

/** The colour of each point by its place along a ramp; without a value that of what is filtered out. */
export function colourOf(ramp: readonly string[], none: string, low: number, high: number): (value: number | undefined) => string {
  const width = high - low || 1;
  return (value) =>
    value === undefined || Number.isNaN(value) ? none : (color.lerp(Math.min(1, Math.max(0, (value - low) / width)), [...ramp]) as string);
}
