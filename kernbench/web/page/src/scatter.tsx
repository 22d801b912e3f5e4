// Points over two columns, with the Pareto front. A brush filters both columns; a click opens a point.
import type { EChartsType } from "echarts/core";
import type { EChartsOption } from "echarts";
import { useMemo, useRef } from "preact/hooks";
import { axisOption, brushFilter, placesOf, scaleOf, stretchesOf, type AxisScale, type Scale } from "./axis";
import { Chart, FONT } from "./chart";
import type { Palette } from "./palette";
import { withFilter, type Filters } from "./filters";
import { colouring, Marks, type Meaning } from "./legend";
import { formatCell, shortName, thin, type Column, type Points } from "./points";

interface ScatterProps {
  points: Points;
  x: Column;
  y: Column;
  scale: Scale;
  parameters: readonly string[];
  meaning: Meaning;
  mask: Uint8Array;
  filters: Filters;
  colour: Column;
  chosen: readonly number[];
  isFront: boolean; // whether the columns are the objectives, so that the front is a line
  palette: Palette;
  onFilters: (filters: Filters) => void;
  onChoose: (row: number, beside: boolean) => void;
}

const MOST_DRAWN = 6000; // of each series; the front is always whole
const MANY = 2000; // points that are drawn small

function itemsOf(rows: readonly number[], x: Float64Array, y: Float64Array, style?: (row: number) => object) {
  return rows
    .filter((row) => !Number.isNaN(x[row]) && !Number.isNaN(y[row]))
    .map((row) => ({ name: String(row), value: [x[row]!, y[row]!], ...(style && { itemStyle: style(row) }) }));
}

function rowsWhere(count: number, test: (row: number) => boolean): number[] {
  return Array.from({ length: count }, (_, row) => row).filter(test);
}

function seriesOf(props: ScatterProps, xs: AxisScale, ys: AxisScale) {
  const { points, mask, palette, chosen } = props;
  const [x, y] = [placesOf(xs), placesOf(ys)];
  const colours = colouring(props.colour, props.meaning, palette);
  const full = (row: number) => ({ color: colours.at(row) });
  const hollow = (row: number) => ({ color: "transparent", borderColor: colours.at(row), borderWidth: 1.5 });
  const pick = (test: (row: number) => boolean, style?: (row: number) => object) =>
    itemsOf(thin(rowsWhere(points.count, test), MOST_DRAWN), x, y, style);
  const scatter = { type: "scatter" as const, animation: false, progressive: 0 };
  const size = points.count > MANY ? 4 : 8;
  const onFront = rowsWhere(points.count, (row) => points.front[row] === 1 && mask[row] === 1);
  const front = itemsOf(onFront, x, y).sort((a, b) => a.value[0]! - b.value[0]!);
  const marked = [palette.one, palette.other];
  return [
    { ...scatter, data: pick((row) => !mask[row]), silent: true, symbolSize: size - 2, itemStyle: { color: palette.faint, opacity: 0.5 } },
    { ...scatter, data: pick((row) => mask[row] === 1 && !points.bounded[row], full), symbolSize: size, itemStyle: { opacity: 0.85 } },
    {
      ...scatter,
      data: pick((row) => mask[row] === 1 && points.bounded[row] === 1, hollow),
      symbolSize: size,
      itemStyle: { opacity: 0.85 },
    },
    {
      type: "line" as const,
      animation: false,
      silent: false,
      data: front,
      symbol: "circle",
      symbolSize: size + 3,
      showSymbol: true,
      lineStyle: { color: palette.text, width: props.isFront ? 1.5 : 0, type: "dashed" as const },
      itemStyle: { color: "transparent", borderColor: palette.text, borderWidth: 2 },
      markArea: { silent: true, itemStyle: { color: palette.front, opacity: 0.09 }, data: areasOf(props.filters, xs, ys) },
    },
    ...chosen.map((row, which) => ({
      ...scatter,
      data: itemsOf([row], x, y),
      symbol: "circle",
      symbolSize: size + 8,
      z: 6,
      itemStyle: { color: "transparent", borderColor: marked[which]!, borderWidth: 3 },
    })),
  ];
}

/** The rectangles that the filters of both axes leave. */
function areasOf(filters: Filters, xs: AxisScale, ys: AxisScale) {
  const across = stretchesOf(xs, filters[xs.column.name]);
  const down = stretchesOf(ys, filters[ys.column.name]);
  if (!across.length && !down.length) return [];
  const whole = (scale: AxisScale) => [[scale.low, scale.high] as const];
  return (across.length ? across : whole(xs)).flatMap(([left, right]) =>
    (down.length ? down : whole(ys)).map(([low, high]): [{ coord: number[] }, { coord: number[] }] => [
      { coord: [left, low] },
      { coord: [right, high] },
    ]),
  );
}

function optionOf(props: ScatterProps, xs: AxisScale, ys: AxisScale): EChartsOption {
  const { points, palette, colour, x, y } = props;
  const axis = (scale: AxisScale, vertical: boolean) => {
    const own = axisOption(scale);
    return {
      ...own,
      name: scale.title,
      nameLocation: "middle" as const,
      nameGap: vertical ? 46 : 26,
      nameTextStyle: { ...FONT, color: palette.text, fontWeight: 600 as const },
      axisLine: { onZero: false, lineStyle: { color: palette.quiet } },
      splitLine: { lineStyle: { color: palette.line } },
      axisLabel: { ...FONT, fontSize: 11, color: palette.quiet, ...own.axisLabel },
    };
  };
  return {
    animation: false,
    textStyle: { ...FONT, color: palette.text },
    grid: { left: 68, right: 20, top: 30, bottom: 44 },
    xAxis: axis(xs, false),
    yAxis: axis(ys, true),
    tooltip: {
      renderMode: "richText",
      backgroundColor: palette.ground,
      borderColor: palette.line,
      textStyle: { ...FONT, color: palette.text },
      formatter: (item: unknown) => {
        const row = Number((item as { name: string }).name);
        const told = [x, y, colour].filter((column, place, all) => all.indexOf(column) === place);
        const bound = points.bounded[row] ? "\nbounds, not simulated" : "";
        return told.map((column) => `${shortName(column.name)}: ${formatCell(column, row)}`).join("\n") + bound;
      },
    },
    brush: {
      xAxisIndex: 0,
      yAxisIndex: 0,
      brushMode: "single",
      throttleType: "debounce",
      throttleDelay: 100,
      seriesIndex: "none" as unknown as number,
      brushStyle: { color: `${palette.front}26`, borderColor: palette.front, borderWidth: 1 },
    },
    series: seriesOf(props, xs, ys),
  };
}

export function Scatter(props: ScatterProps) {
  const latest = useRef(props);
  latest.current = props;
  const { points, x, y, scale, parameters, mask, filters, colour, chosen, palette } = props;
  const [xs, ys] = useMemo(
    () => [scaleOf(x, parameters, scale), scaleOf(y, parameters, scale)] as const,
    [x, y, parameters, scale],
  );
  const scales = useRef([xs, ys] as const);
  scales.current = [xs, ys];
  const option = useMemo(() => optionOf(props, xs, ys), [points, xs, ys, mask, filters, colour, chosen.join(), palette]);

  function onReady(chart: EChartsType): void {
    chart.on("brushEnd", (event: unknown) => {
      const area = (event as { areas: { coordRange?: [number[], number[]] }[] }).areas[0]?.coordRange;
      if (!area) return;
      const [across, down] = scales.current;
      const next = withFilter(
        latest.current.filters,
        across.column.name,
        brushFilter(across, area[0][0]!, area[0][1]!),
      );
      latest.current.onFilters(withFilter(next, down.column.name, brushFilter(down, area[1][0]!, area[1][1]!)));
      chart.dispatchAction({ type: "brush", areas: [] });
    });
    chart.on("click", (event) => {
      const row = Number(event.name);
      if (event.componentType === "series" && Number.isInteger(row)) {
        latest.current.onChoose(row, Boolean((event.event?.event as MouseEvent | undefined)?.shiftKey));
      }
    });
    chart.getZr().on("dblclick", () => {
      const [across, down] = scales.current;
      latest.current.onFilters(withFilter(withFilter(latest.current.filters, across.column.name, null), down.column.name, null));
    });
  }

  function takeBrush(chart: EChartsType): void {
    chart.dispatchAction({ type: "takeGlobalCursor", key: "brush", brushOption: { brushType: "rect", brushMode: "single" } });
  }

  return (
    <section class="card scatter" aria-label="Plot and Pareto front">
      <Chart option={option} label={`${y.name} over ${x.name}`} onReady={onReady} onDrawn={takeBrush} replace={["series"]} />
      <Marks points={points} mask={mask} chosen={chosen} />
      {points.count > MOST_DRAWN && <p class="note">A part of the points is drawn, and the front.</p>}
    </section>
  );
}
