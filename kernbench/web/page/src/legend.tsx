// What colours and marks mean, and the colour of each point by a column.
import type { SweepState } from "./api";
import { placesOf, scaleOf } from "./axis";
import { colourOf } from "./chart";
import type { Palette } from "./palette";
import { formatNumber, shortName, type Column, type Points } from "./points";

const MOST_SWATCHES = 8;

/** What colours mean on the page: as in the figures of the sweep. */
export type Meaning = Pick<SweepState, "parameters" | "objectives" | "colours">;

interface Colouring {
  at: (row: number) => string;
  ramp: readonly string[]; // from the least value to the most
  swatches: [string, string][] | null; // colour and value of each step; null: a ramp
}

/** The ramp of a column: of an objective from bad to good, of an axis its own, of another one grey. */
function rampOf(column: Column, { objectives, colours }: Meaning, palette: Palette): readonly string[] {
  const objective = objectives.find((one) => one.column === column.name);
  if (objective) return objective.least ? palette.scale.toReversed() : palette.scale;
  const own = colours[column.name];
  return Array.isArray(own) ? palette.seen(own) : palette.plain;
}

/** The colour of each point by a column: a step of the scale for each category, else along the scale. */
export function colouring(column: Column, meaning: Meaning, palette: Palette): Colouring {
  const scale = scaleOf(column, meaning.parameters);
  const places = placesOf(scale);
  const ramp = rampOf(column, meaning, palette);
  if (scale.type === "steps") {
    const along = colourOf(ramp, palette.faint, 0, scale.labels.length - 1);
    const own = meaning.colours[column.name];
    const named = own && !Array.isArray(own) ? own : null;
    const at = (place: number | undefined) => named?.[scale.labels[place ?? NaN] ?? ""] ?? along(place);
    return { at: (row) => at(places[row]), ramp, swatches: scale.labels.map((label, place) => [at(place), label]) };
  }
  const along = scale.type === "log" ? Math.log : (value: number) => value;
  const [low, high] = column.kind === "number" ? [column.least, column.most] : [scale.low, scale.high];
  const colour = colourOf(ramp, palette.faint, along(low), along(high));
  return { at: (row) => colour(along(places[row] ?? NaN)), ramp, swatches: null };
}

interface LegendProps {
  colour: Column;
  meaning: Meaning;
  palette: Palette;
}

export function Legend({ colour, meaning, palette }: LegendProps) {
  const { ramp, swatches } = colouring(colour, meaning, palette);
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
      <span class="ramp" style={{ background: `linear-gradient(90deg, ${ramp.join(",")})` }} />
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
