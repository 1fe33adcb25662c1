/**
 * The environment of a command: the environment of this process without its secrets (P5, E8). Commands need most
 * variables, and the needed ones cannot be listed. So a variable is passed on unless the configuration names it as a
 * secret, or its name or value looks like one.
 */

export interface CommandEnvironment {
  /** Names of variables that contain keys, from the configuration. */
  secretNames?: readonly string[];
  /** The keys themselves. A variable that contains one is not passed on, whatever its name. In output they are hidden. */
  secretValues?: readonly string[];
}

/** Matches names of secrets, such as AWS_SECRET_ACCESS_KEY, GH_TOKEN, PGPASSWORD, and all variables of this program. */
const secretName =
  /^APTOVE_|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SIGNING_?KEY|ENCRYPTION_?KEY|MASTER_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|(?:^|_)(?:PASS|PWD|AUTH|KEY|PAT|DSN)$/i;

/** Names that match the pattern but hold only the working folder. */
const harmlessNames = new Set(["PWD", "OLDPWD"]);

/** Matches values of secrets: the prefixes that issuers give their keys, private keys, and addresses with a password. */
const secretValue =
  /^(?:sk-|sk_live_|rk_live_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{20}|aptove_|eyJ[\w-]+\.eyJ)|-----BEGIN [A-Z ]*PRIVATE KEY|\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:[^\s/@]+@/i;

export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  { secretNames = [], secretValues = [] }: CommandEnvironment,
): Record<string, string> {
  const passed = Object.entries(own).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    if (value === undefined || secretNames.includes(name)) return false;
    if (secretValues.some((secret) => secret !== "" && value.includes(secret))) return false;
    return harmlessNames.has(name) || !(secretName.test(name) || secretValue.test(value));
  });
  // No person can answer a question or see colours.
  return { ...Object.fromEntries(passed), TERM: "dumb", GIT_TERMINAL_PROMPT: "0" };
}
