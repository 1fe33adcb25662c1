/** Values of the configuration as they are shown: secrets can be recognised, and not used (E8). */
import { hideSecretForms, secretName } from "./secret-forms.ts";

/** Enough to recognise a secret, too little to use it. Names of variables that stand for secrets are none. */
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

/** Keys in addresses stand behind a `=`, or are long parts of the path. */
function maskAddress(address: string): string {
  return address.replace(/(?<=[?&][^=&#]*=)[^&#]+/g, maskSecret).replace(/(?<=[^/:]\/)[^/?#]{16,}/g, maskSecret);
}

/**
 * A command line with its secrets masked: the values of options, variables and headers whose names say that they are
 * secret, as `--name value`, `--name=value`, `NAME=value` and `Name: value`, and whatever has the form of one.
 */
export function maskArguments(args: readonly string[]): string[] {
  return args.map((arg, at) => {
    const option = /^--?([\w-]+)$/.exec(args[at - 1] ?? "")?.[1];
    if (option !== undefined && secretName.test(option) && !/^--?[a-z]/i.test(arg)) return maskSecret(arg);
    const [, name = "", sign = "", value = ""] = /^(-{0,2}[\w-]+)(=|:\s*)(?!\/\/)(.+)$/s.exec(arg) ?? [];
    return secretName.test(name) ? `${name}${sign}${maskSecret(value)}` : hideSecretForms(arg);
  });
}
