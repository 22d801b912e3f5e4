// Roofline: the least time that the work needs at each class of parts, and what rate it could have at its intensity.
import type { EChartsOption } from "echarts";
import { useMemo } from "preact/hooks";
import { Chart, FONT } from "./chart";
import type { Palette } from "./palette";
import { formatNs, formatShare, formatTenths, peaksOf, type Launch, type Roofline } from "./explain_data";
import { Bar } from "./explain_parts";

interface RooflineProps {
  found: Roofline;
  launches: readonly Launch[];
  palette: Palette;
}

const SPREAD = 16; // how far the axes go beyond what is shown

export function RooflineChart({ found, launches, palette }: RooflineProps) {
  const option = useMemo(() => optionOf(found, launches, palette), [found, launches, palette]);
  const shares = (found.ceilings ?? []).map(({ kind, part, least_ns: least }) => ({ kind, part, least, share: least / found.kernel_ns }));
  return (
    <>
      <div class="rates" role="group" aria-label="Least time at each class of parts, of the kernels' time">
        {shares.map(({ kind, part, least, share }) => (
          <div key={kind} title={`at ${part}`}>
            <span>{kind}</span>
            <Bar share={share} label={`${kind}: ${formatShare(share)} of the kernels' time`} />
            <span class="note">
              {formatNs(least)} ns, {formatShare(share)}
            </span>
          </div>
        ))}
      </div>
      {option && (
        <div class="roofline">
          <Chart option={option} label="Roofline of the run" onReady={() => undefined} replace={["series"]} />
        </div>
      )}
    </>
  );
}

/** The rate that the run could have, by what bounds it: the peaks of its PEs bound its launches too, other parts the run alone. */
function ownRoof(found: Roofline, tflops: number): number {
  return Math.min(tflops, found.attainable_tflops);
}

/** None where the kernels multiplied nothing or moved nothing: then there is no intensity. */
function optionOf(found: Roofline, launches: readonly Launch[], palette: Palette): EChartsOption | null {
  const { tflops, gbs } = peaksOf(found);
  if (!found.intensity || !tflops || !gbs) return null;
  const ridge = (tflops * 1e3) / gbs;
  const points = launches.flatMap(({ kernel, achieved_tflops: rate, achieved_gbs: moved }) =>
    rate && moved ? [{ name: kernel, value: [(rate * 1e3) / moved, rate] }] : [],
  );
  const run = { name: "the run", value: [found.intensity, found.achieved_tflops] };
  const across = [found.intensity, ridge, ...points.map((point) => point.value[0]!)];
  const [low, high] = [Math.min(...across) / SPREAD, Math.max(...across) * SPREAD];
  const roof = [low, ridge, high].map((x) => [x, Math.min(tflops, (x * gbs) / 1e3)]);
  const least = Math.min(roof[0]![1]!, ...points.map((point) => point.value[1]!), found.achieved_tflops);
  const axis = {
    type: "log" as const,
    nameLocation: "middle" as const,
    nameTextStyle: { color: palette.quiet },
    axisLabel: { color: palette.quiet, hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => String(Number(value.toPrecision(2))) },
    splitLine: { lineStyle: { color: palette.line, opacity: 0.5 } },
    axisLine: { lineStyle: { color: palette.line } },
  };
  const scatter = { type: "scatter" as const, animation: false };
  return {
    textStyle: { ...FONT, color: palette.text },
    grid: { left: 58, right: 16, top: 14, bottom: 40 },
    tooltip: {
      trigger: "item",
      confine: true,
      backgroundColor: palette.ground,
      borderColor: palette.line,
      textStyle: { color: palette.text, fontSize: 12 },
      renderMode: "richText",
      formatter: (item) => tellPoint(item as { name: string; value: number[] }),
    },
    xAxis: { ...axis, name: "flops a byte", nameGap: 24, min: low, max: high },
    yAxis: { ...axis, name: "TFLOPS", nameGap: 42, min: least / 2, max: tflops * 2 },
    series: [
      {
        type: "line",
        animation: false,
        data: roof,
        symbol: "none",
        silent: true,
        lineStyle: { color: palette.front, width: 2 },
        areaStyle: { color: palette.front, opacity: 0.06, origin: "start" },
      },
      {
        type: "line",
        animation: false,
        silent: true,
        symbol: "none",
        data: [run.value, [found.intensity, ownRoof(found, tflops)]],
        lineStyle: { color: palette.quiet, width: 1, type: "dashed" },
      },
      {
        ...scatter,
        data: [{ name: `at most, by ${found.bound}`, value: [found.intensity, ownRoof(found, tflops)] }],
        symbol: "rect",
        symbolSize: [26, 3],
        itemStyle: { color: palette.front },
      },
      ...(points.length > 1 ? [{ ...scatter, data: points, symbolSize: 8, itemStyle: { color: palette.other } }] : []),
      { ...scatter, data: [run], symbolSize: 13, itemStyle: { color: palette.one } },
    ],
  };
}

function tellPoint({ name, value }: { name: string; value: number[] }): string {
  return `${name}\n${formatTenths(value[0]!)} flops a byte\n${value[1]!.toPrecision(4)} TFLOPS`;
}
