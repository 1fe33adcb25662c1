/**
 * What the configuration tells a server in confidence is in nothing that the server says: not in a log, an error or a
 * result (E8). Hidden are the values of all headers, and of those variables, options and parts of its address whose
 * names say that they are secret.
 */
import { secretName } from "../../system/secret-forms.ts";
import type { McpServer } from "../session-tools.ts";

/** Shorter ones stand in any text, and are no secrets. */
const secretCharactersMin = 6;
/** Says how the value behind it is to be read. */
const scheme = /^(?:bearer|basic|token|apikey)\s+/i;

/** Gives the text with each secret of the server as `***`. */
export function secretHider(server: McpServer): (text: string) => string {
  const secrets = [...new Set(secretsOf(server))]
    .filter((secret) => secret.length >= secretCharactersMin)
    // A longer one may hold a shorter one.
    .toSorted((one, other) => other.length - one.length);
  return (text) => secrets.reduce((hidden, secret) => hidden.replaceAll(secret, "***"), text);
}

function secretsOf(server: McpServer): string[] {
  if (server.type === "stdio") return named([...Object.entries(server.env), ...optionsOf(server.args)]);
  const { searchParams } = URL.parse(server.url) ?? new URL("about:blank");
  const values = Object.entries(server.headers)
    .filter(([name]) => !publicHeaders.includes(name.toLowerCase()))
    .map(([, value]) => value.trim());
  return [...values, ...values.map((value) => value.replace(scheme, "")), ...named([...searchParams])];
}

/** `--name=value` and `--name value`. */
function optionsOf(args: readonly string[]): [string, string][] {
  return args.flatMap((arg, at): [string, string][] => {
    const [, name, value = args[at + 1] ?? ""] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    return name === undefined ? [] : [[name, value]];
  });
}

const publicHeaders = ["accept", "accept-language", "content-type", "user-agent"];

function named(pairs: [string, string][]): string[] {
  return pairs.filter(([name]) => secretName.test(name)).map(([, value]) => value);
}

/** An address without what may be secret in it. */
export function publicAddress(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "an address that is none" : `${parsed.origin}${parsed.pathname}`;
}
