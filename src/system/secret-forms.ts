/** Recognizes secrets that are not declared as such (E8): by the name before the value, by the form of the value, or by the name of a file. */

/** Names of options, variables, headers and parameters whose values are secrets. */
export const secretName = /key|token|secret|passw|auth|credential|cookie|signature/i;

/** Copies that editors and programs leave beside a file have its content. */
const copySuffix = /(?:~|\.(?:bak|backup|old|orig|save))$/i;

/** Names of files whose usual content is secrets. Each is compared with the whole path. */
const secretFiles: readonly RegExp[] = [
  // Settings of an environment: `.env`, `.env.local`, `.env-local`, `.envrc`, `prod.env`.
  /(?:^|\/)\.env(?:rc)?(?:[._-][^/]*)?$/i,
  /\.env(?:\.local)?$/i,
  // Passwords and tokens of programs. Many a `.npmrc` has none, but its name does not say so.
  /(?:^|\/)(?:[._]netrc|\.pgpass|\.htpasswd|\.npmrc|\.pypirc|\.git-credentials|\.dockercfg)$/i,
  /(?:^|\/)(?:\.aws\/credentials|\.docker\/config\.json|\.kube\/config)$/i,
  /(?:^|\/)[^/]*credentials\.json$/i,
  // Terraform writes the values of all variables and resources to these.
  /\.(?:tfstate|tfvars|tfvars\.json)$/i,
  // Private keys.
  /(?:^|\/)(?:id_(?:rsa|dsa|(?:ecdsa|ed25519)(?:_sk)?)|ssh_host_[^/]*_key)$/i,
  /\.(?:pem|key|ppk|p12|pfx|jks|keystore|kdbx)$/i,
];

/** Names that look like those above, of files that are made to be read by everyone. */
const publicFiles: readonly RegExp[] = [
  // Templates: `.env.production.example`, `example.env`.
  /[._-](?:example|sample|template|dist|defaults|schema)$/i,
  /(?:^|\/)(?:example|sample|template)\.(?:env|tfvars)$/i,
  // The types of an environment, and code that reads it.
  /(?:^|\/)\.env\.(?:[^/]+\.)?[cm]?ts$/i,
  // Certificates and public keys. `ca-key.pem` is none.
  /(?:^|[/._-])(?:ca|cacert|cert|certificate|chain|fullchain|ca-bundle|public|pub|dhparams?)\.pem$/i,
  // Texts of a program, by language.
  /(?:^|\/)(?:locales?|i18n|l10n|lang|translations?)\/(?:[^/]+\/)*[^/.]+\.(?:key|json)$/i,
];

/**
 * Returns true if the name of the file says that it may hold secrets. The path has forward slashes. Only the name counts, so a file
 * does not come and go with its content.
 */
export function mayHoldSecrets(path: string): boolean {
  const original = path.replace(copySuffix, "");
  const fits = (name: RegExp): boolean => name.test(original);
  return secretFiles.some(fits) && !publicFiles.some(fits);
}

const forms: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, "$1 ***"],
  [/\baptove_[\w-]{8,}/g, "aptove_***"],
  [/\b(?:sk|pk|rk|ghp|gho|github_pat|xox[abp]|glpat)[-_][\w-]{12,}/g, "***"],
  [/\b(?:AIza[\w-]{30,}|AKIA[A-Z0-9]{12,})/g, "***"],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/@"']*:)[^\s/@"']+@/gi, "$1***@"],
  [/([?&](?:[\w-]*(?:key|token|secret|passw|signature)[\w-]*)=)[^&\s"']+/gi, "$1***"],
];

/** Returns the text with `***` in place of bearer tokens, keys of aptove and of common providers, and passwords in addresses. */
export function hideSecretForms(text: string): string {
  return forms.reduce((rest, [form, instead]) => rest.replace(form, instead), text);
}
