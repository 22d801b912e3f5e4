// The colours of the page, light and dark.
import { useEffect, useState } from "preact/hooks";

export interface Palette {
  text: string;
  quiet: string;
  line: string;
  ground: string;
  faint: string;
  front: string;
  one: string;
  other: string;
  scale: string[]; // of objectives, from bad to good
  plain: string[]; // of what is neither an objective nor an axis
  seen: (ramp: readonly string[]) => readonly string[]; // a ramp of the figures, which are on white, without what the ground hides
  busy: string[]; // from idle, which fades into the ground, to busy, which shines
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
  plain: ["#c3cad6", "#1d2430"],
  seen: (ramp) => ramp,
  busy: ["#dfe5ee", "#9cc3ee", "#3f7fe0", "#0b2fb0"],
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
  plain: ["#4b5564", "#e6e9ee"],
  seen: (ramp) => ramp.slice(3),
  busy: ["#28303c", "#24508f", "#4f9bf0", "#dceeff"],
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
