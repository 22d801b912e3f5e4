// Run the trace processor of a Perfetto page in Node: `node trace_processor.js DIRECTORY < requests > responses`.
// DIRECTORY holds engine_bundle.js and its .wasm files. Requests and responses are messages TraceProcessorRpcStream.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const directory = process.argv[2];
const read = (name) => new Uint8Array(fs.readFileSync(name));

class XMLHttpRequest {
  open(_method, url) {
    this.response = read(path.join(directory, path.basename(url))).buffer;
  }
  send() {}
}

process.on("uncaughtException", (error) => {
  process.stderr.write(`${error.message}\n`); // its stack would show the whole bundle
  process.exit(1);
});

const port = { postMessage: (reply) => fs.writeSync(1, reply) };
const worker = {
  WorkerGlobalScope: Object, location: { href: "file:///engine_bundle.js" }, XMLHttpRequest, URL, TextDecoder, TextEncoder,
  performance, crypto, setTimeout, clearTimeout, console: { log() {}, warn() {}, error() {} },
};
worker.self = worker;
vm.createContext(worker);
vm.runInContext(fs.readFileSync(path.join(directory, "engine_bundle.js"), "utf8"), worker);
worker.onmessage({ data: port });
const Bytes = vm.runInContext("Uint8Array", worker); // the engine knows no other
setTimeout(() => port.onmessage({ data: Bytes.from(read(0)) }), 0); // after the promises of the engine
