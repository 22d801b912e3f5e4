// What colours and marks mean, and the colour of each point by a column.
import { placesOf, scaleOf } from "./axis";
import { colourOf } from "./chart";
import type { Palette } from "./palette";
import { formatNumber, shortName, type Column, type Points } from "./points";

const MOST_SWATCHES = 8;

interface Colouring {
  at: (row: number) => string;
  swatches: [string, string][] | null; // colour and value of each step; null: a ramp
}

/** The colour of each point by a column: a step of the scale for each category, else along the scale. */
export function colouring(column: Column, parameters: readonly string[], palette: Palette): Colouring {
  const scale = scaleOf(column, parameters);
  const places = placesOf(scale);
  if (scale.type === "steps") {
    const ramp = colourOf(palette, 0, scale.labels.length - 1);
    return { at: (row) => ramp(places[row]), swatches: scale.labels.map((label, place) => [ramp(place), label]) };
  }
  const along = scale.type === "log" ? Math.log : (value: number) => value;
  const [low, high] = column.kind === "number" ? [column.least, column.most] : [scale.low, scale.high];
  const ramp = colourOf(palette, along(low), along(high));
  return { at: (row) => ramp(along(places[row] ?? NaN)), swatches: null };
}

interface LegendProps {
  colour: Column;
  parameters: readonly string[];
  palette: Palette;
}

export function Legend({ colour, parameters, palette }: LegendProps) {
  const { swatches } = colouring(colour, parameters, palette);
  if (swatches && swatches.length <= MOST_SWATCHES) {
    return (
      <div class="legend">
        <span>{shortName(colour.name)}</span>
        {swatches.map(([own, label]) => (
          <span key={label} class="swatch" title={label}>
            <i style={{ background: own }} />
            {label}
          </span>
        ))}
      </div>
    );
  }
  const ends =
    colour.kind === "number" ? [formatNumber(colour.least), formatNumber(colour.most)] : [colour.distinct[0] ?? "", colour.distinct.at(-1) ?? ""];
  return (
    <div class="legend">
      <span>{shortName(colour.name)}</span>
      <span class="swatch">{ends[0]}</span>
      <span class="ramp" style={{ background: `linear-gradient(90deg, ${palette.scale.join(",")})` }} />
      <span class="swatch">{ends[1]}</span>
    </div>
  );
}

/** What the marks of the plot mean, as far as it has them. */
export function Marks({ points, mask, chosen }: { points: Points; mask: Uint8Array; chosen: readonly number[] }) {
  const marks: [string, string, boolean][] = [
    ["front", "on the Pareto front", points.front.includes(1)],
    ["hollow", "bounds, not simulated", points.bounded.includes(1)],
    ["out", "filtered out", mask.includes(0)],
    ["one", "open", chosen.length > 0],
  ];
  return (
    <div class="legend marks">
      {marks
        .filter(([, , there]) => there)
        .map(([name, text]) => (
          <span key={name} class="swatch">
            <i class={name} />
            {text}
          </span>
        ))}
    </div>
  );
}
