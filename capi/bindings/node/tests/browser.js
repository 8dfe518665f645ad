// Opens the page of examples/browser in a browser without a window, and waits until it has trained.
//   node --experimental-websocket tests/browser.js BROWSER DATA [PICTURE]   in the package's folder, lib/dl4.wasm in it
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [browser, data, picture] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const server = http.createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://x");
  const file = pathname.startsWith("/data/") ? path.join(data, path.basename(pathname)) : `.${pathname}`;
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { "Content-Type": types[path.extname(file)] ?? "application/octet-stream" });
  return fs.createReadStream(file).pipe(response);
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const page = `http://127.0.0.1:${server.address().port}/examples/browser/index.html?data=/data`;

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "dl4-browser-"));
const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"];
const child = spawn(browser, [...flags, `--user-data-dir=${profile}`, page], { stdio: ["ignore", "ignore", "pipe"] });
try {
  const at = await new Promise((found, failed) => {
    let said = "";
    child.stderr.on("data", (bytes) => {
      said += bytes;
      const address = /DevTools listening on ws:\/\/([^/]+)/.exec(said);
      if (address) found(address[1]);
    });
    child.on("exit", () => failed(new Error(`${browser} ended: ${said}`)));
  });
  let target;
  while (!target) {
    await sleep(100);
    target = (await (await fetch(`http://${at}/json/list`)).json()).find((t) => t.url === page);
  }
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await new Promise((open) => (socket.onopen = open));
  let count = 0;
  const call = (method, params) => {
    socket.send(JSON.stringify({ id: ++count, method, params }));
    return new Promise((answered) => {
      socket.onmessage = ({ data: text }) => {
        const { id, result } = JSON.parse(text);
        if (id === count) answered(result);
      };
    });
  };
  const ask = async (expression) => (await call("Runtime.evaluate", { expression })).result.value;

  const counts = new Set(); // points of the curve, as it grows
  let title = ""; // also of a page that is not there yet
  for (let i = 0; i < 3000 && !/^(accuracy|failed)/.test(title); ++i) {
    await sleep(100);
    counts.add(await ask('(document.getElementById("loss")?.getAttribute("points") ?? "").split(" ").length'));
    title = await ask("document.title");
  }
  const now = await ask('document.getElementById("now").textContent');
  if (picture) fs.writeFileSync(picture, (await call("Page.captureScreenshot", {})).data, "base64");
  assert.ok(Number(/^accuracy (.*)/.exec(title)?.[1]) > 0.8, now);
  assert.ok(counts.size > 5, `the curve was seen at ${[...counts]} points`);
  console.log(now);
} finally {
  child.removeAllListeners("exit");
  child.kill();
  server.close();
  await sleep(500);
  fs.rmSync(profile, { recursive: true, force: true });
}
