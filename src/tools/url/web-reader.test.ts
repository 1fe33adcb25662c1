/** Reads web addresses (I2): which are refused in any spelling, which are cut, and which are returned. */
import assert from "node:assert/strict";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { isPublicAddress } from "./public-address.ts";
import { webReader, type WebReaderOptions } from "./web-reader.ts";

async function server(
  t: TestContext,
  listener: RequestListener,
): Promise<{ url: string; host: string; asked: string[] }> {
  const asked: string[] = [];
  const listening = createServer((request, response) => {
    asked.push(request.url ?? "");
    listener(request, response);
  });
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    listening.closeAllConnections();
    listening.close();
  });
  const host = `127.0.0.1:${(listening.address() as AddressInfo).port}`;
  return { url: `http://${host}`, host, asked };
}

const toLoopback: WebReaderOptions["resolve"] = async () => [{ address: "127.0.0.1", family: 4 }];
const read = (url: string, options: Partial<WebReaderOptions> = {}, bytesMax = 1_000) =>
  webReader({ allowedHosts: [], ...options }).read(url, { bytesMax });

test("[I2] addresses that are not public are recognized in every form", () => {
  const no = [
    "0.0.0.0",
    "0.1.2.3",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.9",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "100::1",
    "fc00::1",
    "fd12::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "",
    "localhost",
  ];
  const yes = ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"];
  assert.deepEqual(no.filter(isPublicAddress), []);
  assert.deepEqual(yes.filter(isPublicAddress), yes);
});

test("[I2] an address that is not public is refused before any connection", async (t) => {
  const { host, asked } = await server(t, (_request, response) => response.end("secret"));
  const port = host.split(":")[1] ?? "";
  const literals = [`http://${host}/`, `http://0x7f.1:${port}`, `http://2130706433:${port}/`, `http://[::1]:${port}/`];
  const mapped = [`http://[::ffff:127.0.0.1]:${port}/`, `http://0:${port}/`, "http://169.254.169.254/latest/meta-data"];
  const other = ["file:///etc/passwd", "ftp://example.org/x", "data:text/plain,x", "http://user:pw@example.org/", "x"];
  for (const url of [...literals, ...mapped, ...other]) await assert.rejects(read(url), { code: "url_refused" }, url);
  // One address of a name that is not public is enough.
  const both = async () => [
    { address: "93.184.215.14", family: 4 },
    { address: "10.0.0.1", family: 4 },
  ];
  await assert.rejects(read("http://mixed.example/", { resolve: both }), { code: "url_refused" });
  await assert.rejects(read(`http://rebound.example:${port}/`, { resolve: toLoopback }), { code: "url_refused" });
  assert.deepEqual(asked, []);
});

test("[I2] a name is resolved once, and the connection goes to the checked address", async (t) => {
  const { host, asked } = await server(t, (_request, response) => {
    response.setHeader("content-type", "Text/HTML; charset=utf-8");
    response.end(gzipSync("hello"), "utf8");
  });
  const port = host.split(":")[1] ?? "";
  let lookups = 0;
  const resolve: WebReaderOptions["resolve"] = async () => {
    lookups += 1;
    return [{ address: "127.0.0.1", family: 4 }];
  };
  const allowedHosts = ["page.example"];
  const found = await read(`http://page.example:${port}/a`, { resolve, allowedHosts });
  assert.deepEqual([found.mediaType, Buffer.from(found.content)], ["text/html", gzipSync("hello")]);
  assert.deepEqual([lookups, asked], [1, ["/a"]]);
});

test("[I2] a redirect to loopback is refused, and so is one that never ends", async (t) => {
  const inner = await server(t, (_request, response) => response.end("secret"));
  const outer = await server(t, ({ url = "" }, response) => {
    const to = url === "/in" ? inner.url : url === "/file" ? "file:///etc/passwd" : url;
    response.writeHead(302, { location: to }).end();
  });
  const allowedHosts = [outer.host];
  for (const path of ["/in", "/file", "/round"]) {
    await assert.rejects(read(outer.url + path, { allowedHosts }), { code: "url_refused" }, path);
  }
  assert.equal(outer.asked.length, 2 + 6);
  assert.deepEqual(inner.asked, []);
});

test("[I2] content over the limit is refused, even if it expands to it, and so is a slow response", async (t) => {
  const bomb = gzipSync(Buffer.alloc(50_000_000));
  const { url, host } = await server(t, (request, response) => {
    if (request.url === "/bomb") response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    else if (request.url === "/packed") response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("hello"));
    else if (request.url === "/broken") response.writeHead(200, { "content-encoding": "gzip" }).end("no gzip");
    else if (request.url === "/gone") response.writeHead(404).end();
    else if (request.url === "/upgrade") {
      response.socket?.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    } else if (request.url === "/large") response.end(Buffer.alloc(1_001));
    else response.write("begun, and never ended");
  });
  const allowedHosts = [host];
  assert.equal(Buffer.from((await read(`${url}/packed`, { allowedHosts })).content).toString(), "hello");
  for (const path of ["/bomb", "/large"]) {
    await assert.rejects(read(url + path, { allowedHosts }), { code: "input_too_large" }, path);
  }
  for (const path of ["/broken", "/gone", "/upgrade"]) {
    await assert.rejects(read(url + path, { allowedHosts }), { code: "url_unavailable" }, path);
  }
  await assert.rejects(read(`${url}/slow?key=secret`, { allowedHosts, timeMs: 50 }), (error) => {
    const { code, detail } = error as { code: string; detail: string };
    assert.equal(code, "url_unavailable");
    assert.match(detail, /^http:\/\/[\d.:]+\/slow: it took longer than 50 ms$/);
    return true;
  });
});
