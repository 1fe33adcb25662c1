/**
 * Keeps the secrets in a server's configuration out of everything that the server sends: logs, errors and results (E8).
 * The values of all headers are hidden, and the values of those variables, options and address parameters whose names
 * look secret.
 */
import { secretName } from "../../system/secret-forms.ts";
import type { McpServer } from "../session-tools.ts";

/** The shortest value that is hidden. Shorter ones occur in any text and are not secrets. */
const secretCharactersMin = 6;
/** The authentication scheme before the secret in a header. */
const scheme = /^(?:bearer|basic|token|apikey)\s+/i;

/** Returns a function that replaces each secret of the server with `***`. */
export function secretHider(server: McpServer): (text: string) => string {
  const secrets = [...new Set(secretsOf(server))]
    .filter((secret) => secret.length >= secretCharactersMin)
    // A longer value may contain a shorter one.
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

/** Returns the options among the arguments: `--name=value` and `--name value`. */
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

/** Returns an address without the parts that may be secret. */
export function publicAddress(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? "an address that is not valid" : `${parsed.origin}${parsed.pathname}`;
}
