// The views of a report: the points that it carries, in the same views as the viewer's.
import { render } from "preact";
import { useState } from "preact/hooks";
import type { SweepState } from "./api";
import "./job.css";
import { focusByKey, useKeys } from "./keys";
import { readPoints } from "./points";
import { useRoute } from "./route";
import { Views, type Loaded } from "./sweep";
import { unpack, unpackText } from "./unpack";
import "./style.css";
import "./report.css";

function Report({ state, points }: Loaded) {
  const [route, go] = useRoute();
  const source = { kind: "sweep", name: state.name } as const;
  useKeys(focusByKey);
  return (
    <main class="sweep">
      <Views state={state} points={points} titled={false} settings={route.sweep} onSettings={(sweep) => go({ ...route, source, sweep })} />
    </main>
  );
}

function Licences() {
  const [text, setText] = useState("");
  return (
    <details onToggle={(event) => event.currentTarget.open && void unpackText("licences").then(setText)}>
      <summary class="note">Licences of the programs in this page</summary>
      <pre class="licences">{text}</pre>
    </details>
  );
}

async function start(): Promise<void> {
  const state = JSON.parse(document.getElementById("state")!.textContent) as SweepState;
  const points = readPoints(await unpack("table"));
  render(points.count ? <Report state={state} points={points} /> : <p class="message">This sweep has no points.</p>, document.getElementById("page")!);
  render(<Licences />, document.body.appendChild(document.createElement("footer")));
}

void start();
