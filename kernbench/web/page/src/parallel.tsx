// Parallel coordinates: each point a line through all axes. A brush on an axis filters its column.
import type { EChartsType } from "echarts/core";
import type { EChartsOption } from "echarts";
import { useMemo, useRef } from "preact/hooks";
import { axisOption, brushFilter, placesOf, scaleOf, stretchesOf, type AxisScale } from "./axis";
import { Chart, FONT } from "./chart";
import type { Palette } from "./palette";
import { withFilter, type Filters } from "./filters";
import { colouring, Legend, type Meaning } from "./legend";
import { thin, type Column, type Points } from "./points";

const [LETTERS, FEW_LETTERS, MANY_AXES] = [24, 20, 7]; // of the name of an axis, and of one among many
const MOST_LINES = 2000;

interface ParallelProps {
  points: Points;
  axes: readonly Column[];
  parameters: readonly string[];
  meaning: Meaning;
  mask: Uint8Array;
  filters: Filters;
  colour: Column;
  chosen: readonly number[];
  palette: Palette;
  onFilters: (filters: Filters) => void;
  onChoose: (row: number, beside: boolean) => void;
}

/** The rows that are drawn: those on the front, then the others from all parts of the table. */
function rowsToDraw(points: Points, mask: Uint8Array): number[] {
  const passing: number[] = [];
  const front: number[] = [];
  mask.forEach((keeps, row) => {
    if (keeps) (points.front[row] ? front : passing).push(row);
  });
  return [...thin(passing, MOST_LINES), ...front];
}

type ColourOf = ((row: number) => string) | null;

function lineSeries(rows: readonly number[], places: readonly Float64Array[], colour: ColourOf, extra: object) {
  return {
    type: "parallel" as const,
    activeOpacity: 1,
    inactiveOpacity: 1,
    progressive: 0,
    smooth: false,
    animation: false,
    data: rows.map((row) => ({
      name: String(row),
      value: places.map((values) => {
        const value = values[row] ?? NaN;
        return Number.isNaN(value) ? ("-" as unknown as number) : value;
      }),
      ...(colour && { lineStyle: { color: colour(row) } }),
    })),
    ...extra,
  };
}

function optionOf(props: ParallelProps, scales: AxisScale[]): EChartsOption {
  const { points, mask, palette, colour, chosen } = props;
  const places = scales.map(placesOf);
  const colours = colouring(colour, props.meaning, palette);
  const shown = rowsToDraw(points, mask);
  const out: number[] = [];
  mask.forEach((keeps, row) => keeps || out.push(row));
  const opacity = Math.min(0.9, Math.max(0.12, 60 / Math.max(shown.length, 1)));
  const marked = [palette.one, palette.other];
  return {
    animation: false,
    textStyle: { ...FONT, color: palette.text },
    parallel: { left: 84, right: 92, top: 62, bottom: 16, parallelAxisDefault: axisStyle(palette) },
    parallelAxis: scales.map((scale, dim) => parallelAxis(scale, dim, palette, scales.length < MANY_AXES ? LETTERS : FEW_LETTERS)),
    series: [
      lineSeries(thin(out, MOST_LINES), places, null, {
        silent: true,
        lineStyle: { color: palette.faint, width: 1, opacity: 0.35 },
      }),
      lineSeries(shown, places, colours.at, { lineStyle: { width: 1.4, opacity } }),
      ...chosen.map((row, which) =>
        lineSeries([row], places, null, { z: 5, lineStyle: { color: marked[which], width: 3, opacity: 1 } }),
      ),
    ],
  };
}

function axisStyle(palette: Palette) {
  return {
    nameLocation: "end" as const,
    nameGap: 18,
    nameTextStyle: { ...FONT, color: palette.text, fontWeight: 600 as const },
    axisLine: { lineStyle: { color: palette.quiet, width: 1 } },
    axisTick: { lineStyle: { color: palette.quiet } },
    axisLabel: { ...FONT, fontSize: 11, color: palette.text, textBorderColor: palette.ground, textBorderWidth: 3 },
    realtime: false,
  };
}

function parallelAxis(scale: AxisScale, dim: number, palette: Palette, letters: number) {
  const own = axisOption(scale);
  const style = axisStyle(palette);
  return {
    id: scale.column.name,
    dim,
    z: 10,
    areaSelectStyle: { width: 22, borderWidth: 1, borderColor: palette.front, color: palette.front, opacity: 0.3 },
    name: scale.title.length > letters ? `${scale.title.slice(0, letters - 1)}…` : scale.title,
    ...own,
    axisTick: { ...style.axisTick, ...own.axisTick },
    axisLabel: { ...style.axisLabel, ...own.axisLabel },
  };
}

/** Parallel coordinates with its note on what is drawn. */
export function Parallel(props: ParallelProps) {
  const latest = useRef(props);
  latest.current = props;
  const { points, axes, parameters, mask, filters, colour, chosen, palette } = props;
  const scales = useMemo(() => axes.map((column) => scaleOf(column, parameters)), [axes, parameters]);
  const current = useRef(scales);
  current.current = scales;
  const option = useMemo(
    () => optionOf(props, scales),
    [points, scales, mask, colour, chosen.join(), palette],
  );
  const ours = useRef(false); // whether we are setting brushes ourselves

  function onReady(chart: EChartsType): void {
    chart.on("axisareaselected", (event: unknown) => {
      const { parallelAxisId, intervals } = event as { parallelAxisId?: string; intervals?: [number, number][] };
      const scale = current.current.find((one) => one.column.name === parallelAxisId);
      if (ours.current || !scale) return;
      const texts = (intervals ?? []).map(([from, to]) => brushFilter(scale, from, to)).filter((text) => text !== null);
      const { filters: before, onFilters } = latest.current;
      onFilters(withFilter(before, scale.column.name, texts.join(",") || null));
    });
    chart.on("click", (event) => {
      const row = Number(event.name);
      if (event.componentType === "series" && Number.isInteger(row)) {
        latest.current.onChoose(row, Boolean((event.event?.event as MouseEvent | undefined)?.shiftKey));
      }
    });
  }

  function setBrushes(chart: EChartsType): void {
    ours.current = true;
    for (const scale of current.current) {
      const stretches = stretchesOf(scale, latest.current.filters[scale.column.name]);
      const intervals = stretches.map(([low, high]) => [low, high]);
      chart.dispatchAction({ type: "axisAreaSelect", parallelAxisId: scale.column.name, intervals });
    }
    ours.current = false;
  }

  const drawn = useMemo(() => [option, filters] as const, [option, filters]);
  const passing = mask.reduce((sum, keeps) => sum + keeps, 0);
  return (
    <section class="card parallel" aria-label="Parallel coordinates">
      {axes.length > 1 ? (
        <Chart
          key={axes.map((column) => column.name).join("\n")}
          option={drawn[0]}
          label={`Parallel coordinates of ${passing} points`}
          onReady={onReady}
          onDrawn={setBrushes}
          replace={["series"]}
        />
      ) : (
        <p class="empty">There is one axis alone; more are under Axes.</p>
      )}
      <Legend colour={colour} meaning={props.meaning} palette={palette} />
      {passing > MOST_LINES && <p class="note">A part of the lines is drawn, and the front.</p>}
    </section>
  );
}
