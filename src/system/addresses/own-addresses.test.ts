import assert from "node:assert/strict";
import type { NetworkInterfaceInfo } from "node:os";
import { test } from "node:test";
import { isEveryAddress, ownAddresses } from "./own-addresses.ts";

const info = (address: string, more: Partial<NetworkInterfaceInfo> = {}): NetworkInterfaceInfo =>
  ({ address, family: address.includes(":") ? "IPv6" : "IPv4", internal: false, ...more }) as NetworkInterfaceInfo;

test("[U2] the address that a phone can use comes first: a real network, IPv4, neither loopback nor one link only", () => {
  const found = ownAddresses({
    lo: [info("127.0.0.1", { internal: true })],
    docker0: [info("172.17.0.1")],
    wlan0: [info("fe80::1"), info("2001:db8::7"), info("192.168.1.7")],
    awdl0: [info("169.254.3.4")],
  });
  assert.deepEqual(found, ["192.168.1.7", "172.17.0.1", "2001:db8::7"]);
  assert.deepEqual(ownAddresses({}), []);
  assert.ok(isEveryAddress("0.0.0.0") && isEveryAddress("::") && !isEveryAddress("192.168.1.7"));
});
