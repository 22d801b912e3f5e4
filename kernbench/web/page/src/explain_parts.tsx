// Pieces of the explain view: cards, tables of figures, bars of shares.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

const FIRST = 10; // rows of a table, until the rest is asked for

export function Card({ title, note, wide, children }: { title: string; note?: string | undefined; wide?: boolean | undefined; children: ComponentChildren }) {
  return (
    <section class={`card explained${wide ? " wide" : ""}`} aria-label={title}>
      <h2>
        {title} {note && <span class="note">{note}</span>}
      </h2>
      {children}
    </section>
  );
}

export interface Heading {
  text: string;
  title?: string;
  left?: boolean; // a text, not a figure
}

/** A table whose rows after the first ten are shown on demand. */
export function Figures({ headings, rows }: { headings: readonly Heading[]; rows: readonly (readonly ComponentChildren[])[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? rows : rows.slice(0, FIRST);
  return (
    <div class="figures-box">
      <table class="figures-table">
        <thead>
          <tr>
            {headings.map(({ text, title, left }) => (
              <th key={text} class={left ? "left" : ""} title={title}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, at) => (
                <td key={at} class={headings[at]?.left ? "left" : ""}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > FIRST && (
        <button type="button" class="plain" onClick={() => setAll(!all)}>
          {all ? "Less" : `${rows.length - FIRST} more`}
        </button>
      )}
    </div>
  );
}

/** A share as a bar; a negative one grows to the left in another colour. */
export function Bar({ share, most = 1, tone = "plain", label }: { share: number; most?: number; tone?: string; label: string }) {
  const width = `${Math.min(100, (Math.abs(share) / (most || 1)) * 100)}%`;
  return (
    <span class="share" role="img" aria-label={label}>
      <i class={tone} style={{ width }} />
    </span>
  );
}
