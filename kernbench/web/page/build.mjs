// Builds the viewer's page: src → ../assets, and the script and style of reports → ../../report/assets.
// The same sources and package-lock.json give the same bytes. `node build.mjs DIRECTORY` builds elsewhere, to compare.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const elsewhere = process.argv[2];
const outOfPage = elsewhere ? resolve(elsewhere, "web") : join(here, "../assets");
const outOfReport = elsewhere ? resolve(elsewhere, "report") : join(here, "../../report/assets");
const LICENCE = /^(licen[cs]e|notice)(\.(txt|md))?$/i;

/** The packages that the bundle has code of, by the paths of its inputs. */
function packagesOf(inputs) {
  const found = new Set();
  for (const path of inputs) {
    const name = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1];
    if (name) found.add(name);
  }
  return [...found].sort();
}

function licencesOf(name) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const texts = readdirSync(folder).filter((file) => LICENCE.test(file)).sort();
  if (!texts.length) throw new Error(`${name} has no file of its licence`);
  const body = texts.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n${"=".repeat(80)}\n\n${body}\n`;
}

/** A digest of all that the build reads, so that a test sees, without node, whether the assets are of these sources. */
function digestOfSources() {
  const names = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json"];
  const sources = readdirSync(join(here, "src")).map((name) => `src/${name}`);
  const digest = createHash("sha256");
  for (const name of [...names, ...sources].sort()) {
    digest.update(`${name}\n`).update(readFileSync(join(here, name)));
  }
  return digest.digest("hex");
}

if (!existsSync(join(here, "node_modules"))) throw new Error("run `npm ci` in kernbench/web/page first");

/** Bundle some entries into a directory, with the licences of all that is in them. What is imported when needed is in files of its own. */
async function bundle(entryPoints, out, format) {
  mkdirSync(out, { recursive: true });
  for (const name of readdirSync(out)) if (/\.(js|css)$/.test(name)) rmSync(join(out, name));
  const result = await build({
    absWorkingDir: here,
    entryPoints,
    outdir: out,
    bundle: true,
    minify: true,
    format,
    splitting: format === "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    metafile: true,
  });
  const packages = packagesOf(Object.keys(result.metafile.inputs));
  writeFileSync(join(out, "licences.txt"), packages.map(licencesOf).join("\n"));
  return result.metafile.outputs;
}

/** The page with a link to each file that its script imports at once, so that the browser asks for all together. */
function htmlOf(outputs) {
  const [, { imports }] = Object.entries(outputs).find(([name]) => basename(name) === "page.js");
  const files = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => basename(path)).sort();
  const links = files.map((name) => `    <link rel="modulepreload" href="/${name}" />\n`).join("");
  return readFileSync(join(here, "src/index.html"), "utf8").replace("  </head>", `${links}  </head>`);
}

writeFileSync(join(outOfPage, "index.html"), htmlOf(await bundle({ page: "src/main.tsx" }, outOfPage, "esm")));
await bundle({ report: "src/report.tsx", boot: "src/boot.ts" }, outOfReport, "iife");
writeFileSync(join(outOfPage, "sources.sha256"), digestOfSources() + "\n");
