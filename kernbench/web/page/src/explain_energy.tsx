// Where the energy of a run went: power over time by kind of part, and tables by part, operation, line and launch.
import type { EChartsOption } from "echarts";
import { useMemo } from "preact/hooks";
import { Chart, FONT } from "./chart";
import { formatCount, formatShare, type Explained } from "./explain_data";
import { Bar, Card, Figures } from "./explain_parts";
import { TONES } from "./explain_strip";
import type { Palette } from "./palette";

/** `energy.json` of a run; energies are attojoules. A run of an earlier version, or without prices, has none. */
export interface Energy {
  dynamic_aj: number;
  static_aj: number;
  total_aj: number;
  mean_w: number;
  parts: { part: string; dynamic_aj: number; static_aj: number }[];
  operations: { operation: string; kind: string; dynamic_aj: number }[];
  lines: { place: string; text: string; dynamic_aj: number }[];
  launches: { kernel: string; place: string; launches: number; dynamic_aj: number }[];
  missing: string[];
  power: Power | null;
}

interface Power {
  start_ns: number[]; // of each bin
  end_ns: number; // of the last
  dynamic_aj: Record<string, number[]>; // of each bin, by part, the most first
  static_aj: number[];
  peak: { start_ns: number; length_ns: number; w: number };
}

const AJ_PER_W_NS = 1e9;
const MOST_PARTS = 6; // with an area of their own
const OTHERS = "others";
const STATIC = "static";
export const NO_PART = "(dies, where no part is)";
const NO_LINE = "(no kernel: host and launches)";
const UNITS = [["J", 1e18], ["mJ", 1e15], ["µJ", 1e12], ["nJ", 1e9], ["pJ", 1e6], ["fJ", 1e3]] as const;

export function formatJoules(aj: number): string {
  const [unit, size] = UNITS.find(([, size]) => Math.abs(aj) >= size) ?? (["aJ", 1] as const);
  return `${Number((aj / size).toPrecision(4))} ${unit}`;
}

const watts = (w: number): string => `${Number(w.toPrecision(4)).toLocaleString("en-US")} W`;

export function EnergyCards({ found, savings, palette }: { found: Energy; savings: Explained["savings"]; palette: Palette }) {
  const dynamic = found.dynamic_aj || 1;
  const parts = [...found.parts].sort((a, b) => b.dynamic_aj + b.static_aj - a.dynamic_aj - a.static_aj);
  return (
    <>
      <Card title="Energy" note={tellTotal(found)} wide>
        {found.power && <PowerChart power={found.power} palette={palette} />}
        {found.missing.map((field) => (
          <p class="note" key={field}>
            no energy figure: {field}
          </p>
        ))}
      </Card>
      <Card title="Energy by part">
        <Figures
          headings={[{ text: "part", left: true }, { text: "dynamic" }, { text: "static" }, { text: "of all" }, { text: "" }]}
          rows={parts.map((one) => {
            const share = (one.dynamic_aj + one.static_aj) / (found.total_aj || 1);
            return [one.part || NO_PART, formatJoules(one.dynamic_aj), formatJoules(one.static_aj), formatShare(share), <Bar share={share} label={formatShare(share)} />];
          })}
        />
      </Card>
      <Card title="Dynamic energy by operation">
        <Shares first="operation" rows={found.operations.map((one) => [`${one.operation} (${one.kind})`, one.dynamic_aj])} whole={dynamic} />
      </Card>
      {found.lines.some(({ place }) => place) && (
        <Card title="Dynamic energy by line of the kernels">
          <Shares
            first="line"
            rows={found.lines.map(({ place, text, dynamic_aj: aj }) => [
              <>
                {place || NO_LINE}
                {text && <code>{text}</code>}
              </>,
              aj,
            ])}
            whole={dynamic}
          />
        </Card>
      )}
      {found.launches.length > 1 && (
        <Card title="Dynamic energy by launch">
          <Figures
            headings={[{ text: "kernel", left: true }, { text: "launched at", left: true }, { text: "launches" }, { text: "energy" }, { text: "share" }]}
            rows={found.launches.map((one) => [
              one.kernel || NO_LINE,
              one.place,
              one.launches ? formatCount(one.launches) : "",
              formatJoules(one.dynamic_aj),
              formatShare(one.dynamic_aj / dynamic),
            ])}
          />
        </Card>
      )}
      {savings && savings.length > 0 && (
        <Card title="What would save most energy" note="each price at half">
          <Shares first="price" rows={savings.map((one) => [one.field, one.saves_aj])} whole={found.total_aj || 1} />
        </Card>
      )}
    </>
  );
}

function tellTotal(found: Energy): string {
  const sum = `${formatJoules(found.total_aj)}: ${formatJoules(found.dynamic_aj)} dynamic, ${formatJoules(found.static_aj)} static; ${watts(found.mean_w)} in the mean`;
  if (!found.power) return sum;
  const { w, start_ns: start, length_ns: length } = found.power.peak;
  return `${sum}, at most ${watts(w)} in the ${formatCount(length)} ns from ${formatCount(start)} ns`;
}

/** A table of shares of an energy. */
function Shares({ first, rows, whole }: { first: string; rows: readonly (readonly [preact.ComponentChildren, number])[]; whole: number }) {
  return (
    <Figures
      headings={[{ text: first, left: true }, { text: "energy" }, { text: "share" }, { text: "" }]}
      rows={rows.map(([name, aj]) => [name, formatJoules(aj), formatShare(aj / whole), <Bar share={aj / whole} label={formatShare(aj / whole)} />])}
    />
  );
}

/** Power over time, areas on each other: static power below, then the parts that draw most. */
function PowerChart({ power, palette }: { power: Power; palette: Palette }) {
  const areas = useMemo(() => listAreas(power, palette), [power, palette]);
  const option = useMemo(() => optionOf(power, areas, palette), [power, areas, palette]);
  return (
    <>
      <ul class="areas" aria-label="Parts of the power">
        {areas.map(({ name, tone }) => (
          <li key={name}>
            <i style={{ background: tone }} /> {name}
          </li>
        ))}
      </ul>
      <div class="power">
        <Chart option={option} label={`Power over time: ${areas.map(({ name }) => name).join(", ")}`} onReady={() => undefined} replace={["series"]} />
      </div>
    </>
  );
}

interface Area {
  name: string;
  tone: string;
  aj: readonly number[];
}

function listAreas({ dynamic_aj: dynamic, static_aj: still }: Power, palette: Palette): Area[] {
  const parts = Object.entries(dynamic);
  const [own, rest] = [parts.slice(0, MOST_PARTS), parts.slice(MOST_PARTS)];
  const found = [{ name: STATIC, tone: palette.faint, aj: still }, ...own.map(([name, aj], at) => ({ name, tone: TONES[at]!, aj }))];
  if (!rest.length) return found;
  const others = still.map((_, bin) => rest.reduce((sum, [, aj]) => sum + aj[bin]!, 0));
  return [...found, { name: OTHERS, tone: TONES[MOST_PARTS]!, aj: others }];
}

function optionOf(power: Power, areas: readonly Area[], palette: Palette): EChartsOption {
  const ends = [...power.start_ns.slice(1), power.end_ns];
  const axis = { axisLabel: { color: palette.quiet, ...FONT }, axisLine: { lineStyle: { color: palette.line } }, splitLine: { lineStyle: { color: palette.line } } };
  return {
    animation: false,
    grid: { left: 64, right: 16, top: 24, bottom: 40 },
    tooltip: { trigger: "axis", valueFormatter: (value) => watts(Number(value)), backgroundColor: palette.ground, textStyle: { color: palette.text, ...FONT } },
    xAxis: {
      type: "value",
      min: 0,
      max: power.end_ns,
      name: "ns",
      nameLocation: "middle",
      nameGap: 24,
      nameTextStyle: { color: palette.quiet },
      ...axis,
      axisLabel: { ...axis.axisLabel, showMaxLabel: false },
    },
    yAxis: { type: "value", name: "W", nameTextStyle: { color: palette.quiet, align: "right" }, ...axis },
    series: areas.map(({ name, tone, aj }) => ({
      name,
      type: "line",
      stack: "power",
      step: "end",
      symbol: "none",
      lineStyle: { width: 0 },
      areaStyle: { color: tone, opacity: 1 },
      itemStyle: { color: tone },
      data: [...aj, aj.at(-1) ?? 0].map((one, bin) => {
        const at = Math.min(bin, ends.length - 1);
        return [bin < ends.length ? power.start_ns[bin]! : power.end_ns, one / ((ends[at]! - power.start_ns[at]!) * AJ_PER_W_NS)];
      }),
    })),
  };
}
