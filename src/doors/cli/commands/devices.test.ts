import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createClient, type AptoveClient, type WireDevice, type WirePairingCode } from "../../../client/client.ts";
import { cliWorld, type CliWorld, type LiveCli, type RunOptions } from "../../../../testing/cli.ts";
import type { ServerFile } from "../server-file.ts";

interface Server {
  url: string;
  /** Runs as a device that has no key yet. */
  stranger: AptoveClient;
}

async function serving(t: TestContext, world: CliWorld, more: string[] = []): Promise<Server> {
  const call = world.start(["serve", "--port", "0", ...more]);
  t.after(async () => {
    call.signals.emit("SIGTERM");
    await call.finished;
  });
  await call.saw("Ctrl-C stops it");
  const { url } = JSON.parse(readFileSync(join(world.dataDir, "server.json"), "utf8")) as ServerFile;
  return { url, stranger: createClient({ url, key: "" }) };
}

/** A call that waits, and the code that it shows. */
async function pairing(
  t: TestContext,
  world: CliWorld,
  options?: RunOptions,
): Promise<{ call: LiveCli; code: string }> {
  const call = world.start(["device", "pair"], options);
  let shown = "";
  const { stdout } = call.io;
  const write = stdout.write.bind(stdout);
  t.mock.method(stdout, "write", (text: string, ...more: []) => {
    shown += text;
    return write(text, ...more);
  });
  await call.saw("waiting for the device");
  return { call, code: /^code +(\S{4}-\S{4}-\S{4}) /m.exec(shown)?.[1] ?? assert.fail(shown) };
}

test("[P3] [L1] device pair shows a code and reports the device; list and revoke find it", async (t) => {
  const world = await cliWorld(t);
  const { url, stranger } = await serving(t, world);
  const { call, code } = await pairing(t, world);
  const { device, token } = await stranger.devices.pair({ code, name: "my phone", deviceId: "pixel-7" });
  const { exit, stdout, stderr } = await call.finished;
  assert.equal(exit, 0);
  assert.match(stdout, new RegExp(`^address +${url}/pair#${code}$`, "m"));
  assert.match(stdout, /^paired +my phone \(pixel-7\)$/m);
  assert.ok(!/[▀▄█]/.test(stdout), "a square is for a terminal");
  assert.match(stderr, /no other machine can reach that address; .*--url <address>/);
  assert.ok(!stdout.includes(token));

  const client = createClient({ url, key: token });
  await client.me();
  const listed = (await world.run(["device", "list"])).stdout;
  assert.match(
    listed,
    new RegExp(`^${device.id.slice(-8)}  pixel-7  paired \\S+ \\S+  used \\S+ \\S+  my phone$`, "m"),
  );
  const asJson = JSON.parse((await world.run(["device", "list", "--json"])).stdout) as { devices: WireDevice[] };
  assert.deepEqual(
    asJson.devices.map(({ id }) => id),
    [device.id],
  );

  const revoked = await world.run(["device", "revoke", "pixel-7"]);
  assert.deepEqual([revoked.exit, revoked.stdout], [0, "revoked my phone (pixel-7)\n"]);
  await assert.rejects(client.me(), { code: "unauthenticated" });
  const again = await world.run(["device", "revoke", "pixel-7"]);
  assert.equal(again.exit, 1);
  assert.match(again.stderr, /there is no device "pixel-7" \(not_found\)\nfix: see: aptove device list/);
  assert.match((await world.run(["device", "list"])).stderr, /there are no devices; pair one: aptove device pair/);
});

test("[P3] [L1] on a terminal there is a square that a camera reads, light on dark", async (t) => {
  const world = await cliWorld(t);
  await serving(t, world);
  const { exit, stdout } = await world.run(["device", "pair", "--no-wait"], { isTerminal: true });
  assert.equal(exit, 0);
  const square = stdout.split("\n").filter((line) => /[▀▄█]/.test(line));
  assert.ok(square.length > 10);
  for (const line of square) assert.match(line, /^\u001b\[40m\u001b\[97m[ ▀▄█]+\u001b\[39m\u001b\[49m$/);
});

test("[P3] [L1] the address of a tunnel can be named; one without TLS gives a warning; an invalid one is refused", async (t) => {
  const world = await cliWorld(t);
  await serving(t, world);
  const pair = (url: string) => world.run(["device", "pair", "--no-wait", "--url", url]);
  const secure = await pair("https://aptove.example.org/base/");
  assert.match(secure.stdout, /^address +https:\/\/aptove\.example\.org\/base\/pair#\S{4}-\S{4}-\S{4}$/m);
  assert.equal(secure.stderr, "");
  assert.match(
    (await pair("http://192.168.1.5:4270")).stderr,
    /warning: without TLS, the code and the token can be read/,
  );
  assert.match((await pair("http://0.0.0.0:4270")).stderr, /no other machine can reach that address/);
  for (const wrong of ["aptove.example.org", "ftp://x", "http://"]) assert.equal((await pair(wrong)).exit, 2);
});

test("[P3] [L1] [W2] a device is given a workspace to share, named by a part of its id", async (t) => {
  const world = await cliWorld(t);
  const { stranger } = await serving(t, world);
  const created = await world.run(["workspace", "create", "--json"]);
  const { id } = JSON.parse(created.stdout) as { id: string };
  const made = await world.run(["device", "pair", "--json", "--workspace", id.slice(-8)]);
  const { code } = JSON.parse(made.stdout) as WirePairingCode;
  await stranger.devices.pair({ code, name: "phone", deviceId: "pixel-7" });
  assert.match((await world.run(["workspace", "show", id])).stdout, /pixel-7/);
  assert.equal((await world.run(["device", "pair", "--json", "--workspace", "nowhere"])).exit, 1);
  // The workspace was not used yet.
  assert.equal((await world.run(["device", "pair", "--json", "--workspace", "default"])).exit, 0);
  assert.equal((await world.run(["workspace", "show", "default"])).exit, 0);
});

test("[P3] [L1] Ctrl-C while waiting ends with 130, and the code stays valid", async (t) => {
  const world = await cliWorld(t);
  const { stranger } = await serving(t, world);
  const { call, code } = await pairing(t, world);
  call.signals.emit("SIGINT");
  assert.equal((await call.finished).exit, 130);
  await stranger.devices.pair({ code, name: "phone" });
});

test("[P3] [L1] a code with too many wrong guesses is reported as refused", async (t) => {
  const world = await cliWorld(t);
  const { stranger } = await serving(t, world);
  const { call, code } = await pairing(t, world);
  const wrong = `${code.slice(0, -1)}${code.endsWith("0") ? "1" : "0"}`;
  for (let n = 0; n < 5; n++) {
    await assert.rejects(stranger.devices.pair({ code: wrong, name: "thief" }), { code: "pairing_refused" });
  }
  const { exit, stderr } = await call.finished;
  assert.equal(exit, 1);
  assert.match(stderr, /too many wrong codes \(pairing_refused\)\nfix: create another code: aptove device pair/);
});

test("[P3] [L1] without a server no code is created, and the fix explains how to start one", async (t) => {
  const world = await cliWorld(t);
  const { exit, stderr } = await world.run(["device", "pair"]);
  assert.equal(exit, 1);
  assert.match(
    stderr,
    /no server runs on this data folder \(no_server\)\nfix: start it in another terminal: aptove serve/,
  );
});

test("[P3] [L1] --server names the server that the device is to reach", async (t) => {
  const world = await cliWorld(t);
  const { url } = await serving(t, world);
  const key = (await world.run(["key", "create", "remote"])).stdout.trim();
  const made = await world.run(["device", "pair", "--json", "--server", url, "--key", key]);
  const { code, url: address } = JSON.parse(made.stdout) as WirePairingCode & { url: string };
  assert.equal(address, `${url}/pair#${code}`);
});

test("[P3] [L1] serve says that other machines need TLS before it, and says nothing of it on loopback", async (t) => {
  const world = await cliWorld(t);
  for (const [host, isWarned] of [
    ["127.0.0.1", false],
    ["0.0.0.0", true],
  ] as const) {
    const call = world.start(["serve", "--port", "0", "--host", host]);
    await call.saw("Ctrl-C stops it");
    call.signals.emit("SIGTERM");
    assert.equal((await call.finished).stderr.includes("a reverse proxy with TLS"), isWarned, host);
  }
});
