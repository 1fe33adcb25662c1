import assert from "node:assert/strict";
import { test } from "node:test";
import { cliWorld } from "../../../../testing/cli.ts";
import { ownAddresses } from "../../../system/addresses/own-addresses.ts";
import { addressHere, reachableAddress } from "./reachable-address.ts";

/** Signs in as a browser does, and returns the status of a request after that. */
async function openAddress(address: string): Promise<number> {
  const { origin, hash } = new URL(address);
  const code = hash.replace("#code=", "");
  const signedIn = await fetch(`${origin}/api/sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ code, name: "test" }),
  });
  if (!signedIn.ok) return signedIn.status;
  const { pageSecret } = (await signedIn.json()) as { pageSecret: string };
  const cookie = (signedIn.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  return (await fetch(`${origin}/api/me`, { headers: { cookie, "x-aptove-page": pageSecret } })).status;
}

test("[U2] npm start prints an address that signs one browser in, before everything else", async (t) => {
  const world = await cliWorld(t);
  const server = world.start(["start", "--port", "0"]);
  await server.saw("Ctrl-C stops the server");
  const shown = server.output();
  const address = /http:\S+#code=\S+/.exec(shown)?.[0] ?? assert.fail(shown);
  assert.ok(shown.indexOf(address) < shown.indexOf("API key"));
  assert.deepEqual([await openAddress(address), await openAddress(address)], [200, 403]);
  const again = await world.run(["page"]);
  assert.equal(await openAddress(again.stdout.trim()), 200);
  server.signals.emit("SIGTERM");
  assert.equal((await server.finished).exit, 0);
});

test("[U2] [P3] npm start -- --phone listens beyond this machine, and its code makes a phone a device in the terminals' workspace", async (t) => {
  const world = await cliWorld(t);
  const server = world.start(["start", "--phone", "--port", "0"]);
  const isAlone = ownAddresses().length === 0;
  await server.saw(isAlone ? "no phone can reach this machine" : "/pair#");
  const shown = server.output();
  assert.match(shown, /open +http:\/\/127\.0\.0\.1:\d+\/#code=/);
  if (!isAlone) {
    assert.match(shown, /there is no TLS/);
    const { origin, hash } = new URL(/http:\S+\/pair#\S+/.exec(shown)?.[0] ?? assert.fail(shown));
    const signedIn = await fetch(`${origin}/api/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", origin },
      body: JSON.stringify({ pairingCode: hash.slice(1), name: "my phone" }),
    });
    assert.equal(signedIn.status, 201);
    const { devices } = JSON.parse((await world.run(["device", "list", "--json"])).stdout) as {
      devices: { name: string; deviceId: string }[];
    };
    const { workspaces } = JSON.parse((await world.run(["workspace", "list", "--json"])).stdout) as {
      workspaces: { id: string; devices: string[] }[];
    };
    assert.deepEqual(
      devices.map(({ name }) => name),
      ["my phone"],
    );
    assert.deepEqual(
      workspaces.map(({ id, devices: bound }) => [id, bound]),
      [["default", devices.map(({ deviceId }) => deviceId)]],
    );
  }
  server.signals.emit("SIGTERM");
  assert.equal((await server.finished).exit, 0);
});

test("[U2] a server that listens on every address is named by one that the reader can open", () => {
  assert.equal(reachableAddress("http://0.0.0.0:4870", ["192.168.1.7", "fd00::1"]), "http://192.168.1.7:4870");
  assert.equal(reachableAddress("http://[::]:4870/", ["2001:db8::7"]), "http://[2001:db8::7]:4870");
  assert.equal(reachableAddress("http://0.0.0.0:4870", []), null);
  assert.equal(reachableAddress("http://127.0.0.1:4870/", []), "http://127.0.0.1:4870");
  assert.equal(addressHere("http://0.0.0.0:4870"), "http://127.0.0.1:4870");
});

test("[U2] without a server there is no address", async (t) => {
  const world = await cliWorld(t);
  const { exit, stderr } = await world.run(["page"]);
  assert.equal(exit, 1);
  assert.match(stderr, /no server runs on this data folder \(no_server\)/);
});
