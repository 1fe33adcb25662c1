/** The addresses of this machine that other machines may reach. */
import { networkInterfaces, type NetworkInterfaceInfo } from "node:os";

/** Hosts that mean every address of the machine. A server can listen on them; a client cannot name them. */
const everyAddress: readonly string[] = ["0.0.0.0", "::", "[::]"];

export function isEveryAddress(host: string): boolean {
  return everyAddress.includes(host);
}

/** Networks that only programs on this machine use: containers, virtual machines. They come last. */
const virtualName = /^(docker|br-|veth|virbr|vmnet|vboxnet|cni|flannel|utun|bridge)/i;

/**
 * Returns the IPv4 addresses, those of real networks first, then the IPv6 addresses without those that are valid on one
 * link only. Loopback is not among them.
 */
export function ownAddresses(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces()): string[] {
  const found = Object.entries(interfaces).flatMap(([name, infos = []]) =>
    infos
      .filter(({ internal, address }) => !internal && !/^(fe80:|169\.254\.)/i.test(address))
      .map((info) => ({ name, info })),
  );
  const rank = ({ name, info }: (typeof found)[number]): number =>
    (info.family === "IPv4" ? 0 : 2) + (virtualName.test(name) ? 1 : 0);
  return found.toSorted((one, other) => rank(one) - rank(other)).map(({ info }) => info.address);
}

/**
 * Returns the hosts by which clients name a server that listens at `host`. A browser never sends an address for a name of an
 * attacker, so these need no configuration.
 */
export function hostsOf(host: string): string[] {
  const addresses = [host, ...(isEveryAddress(host) ? ownAddresses() : [])];
  return addresses.map((address) => (address.includes(":") && !address.startsWith("[") ? `[${address}]` : address));
}
