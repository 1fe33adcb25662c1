/**
 * Decides which addresses are public (I2). The list has the addresses that are not: IANA's special-purpose registries, and
 * the forms of IPv6 that contain an IPv4 address and would bypass the list for IPv4.
 */
import { BlockList, isIP } from "node:net";

const notPublic4: readonly [address: string, prefix: number][] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Global unicast is 2000::/3. These parts of it are not public, or contain another address. */
const notPublic6: readonly [address: string, prefix: number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const blocked = new BlockList();
for (const [address, prefix] of notPublic4) blocked.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of notPublic6) blocked.addSubnet(address, prefix, "ipv6");
const globalUnicast = new BlockList();
globalUnicast.addSubnet("2000::", 3, "ipv6");

/** Returns true for a public address. Returns false for text that is not an address. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, "ipv4");
    case 6:
      return globalUnicast.check(address, "ipv6") && !blocked.check(address, "ipv6");
    default:
      return false;
  }
}
