// Starts the script of a report. It is compressed; the page's policy allows it by its digest.
import { unpackText } from "./unpack";

void unpackText("program").then((text) => {
  const script = document.createElement("script");
  script.textContent = text;
  document.body.append(script);
});
