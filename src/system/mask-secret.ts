/** Masks secrets in values of the configuration that are shown: a person can recognize them, but not use them (E8). */
import { hideSecretForms, secretName } from "./secret-forms.ts";

/** Returns enough of a secret to recognize it, too little to use it. References to variables are kept: they are not secrets. */
export function maskSecret(secret: string): string {
  const url = URL.parse(secret);
  if (url !== null && url.protocol.startsWith("postgres")) {
    if (url.password !== "") url.password = "***";
    for (const name of url.searchParams.keys()) if (/pass|key/i.test(name)) url.searchParams.set(name, "***");
    return url.href;
  }
  if (/^https?:\/\//.test(secret)) return maskAddress(secret);
  return secret
    .split(/(\$\{\w+\})/)
    .map((part, index) => (index % 2 === 1 || part === "" ? part : maskText(part)))
    .join("");
}

function maskText(text: string): string {
  return text.length < 12 ? "***" : `${text.slice(0, 3)}***${text.slice(-3)}`;
}

/** Masks keys in an address. They follow a `=`, or are long parts of the path. */
function maskAddress(address: string): string {
  return address.replace(/(?<=[?&][^=&#]*=)[^&#]+/g, maskSecret).replace(/(?<=[^/:]\/)[^/?#]{16,}/g, maskSecret);
}

/**
 * Returns a command line with its secrets masked: the values of options, variables and headers whose names look secret, as
 * `--name value`, `--name=value`, `NAME=value` and `Name: value`, and all values that have the form of a secret.
 */
export function maskArguments(args: readonly string[]): string[] {
  return args.map((arg, at) => {
    const option = /^--?([\w-]+)$/.exec(args[at - 1] ?? "")?.[1];
    if (option !== undefined && secretName.test(option) && !/^--?[a-z]/i.test(arg)) return maskSecret(arg);
    const [, name = "", sign = "", value = ""] = /^(-{0,2}[\w-]+)(=|:\s*)(?!\/\/)(.+)$/s.exec(arg) ?? [];
    return secretName.test(name) ? `${name}${sign}${maskSecret(value)}` : hideSecretForms(arg);
  });
}
