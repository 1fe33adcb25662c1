/** What a secret looks like where nobody says that it is one (E8): by the name that stands before it, or by its own form. */

/** Names of options, variables, headers and parameters whose values are secrets. */
export const secretName = /key|token|secret|passw|auth|credential|cookie|signature/i;

const forms: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi, "$1 ***"],
  [/\baptove_[\w-]{8,}/g, "aptove_***"],
  [/\b(?:sk|pk|rk|ghp|gho|github_pat|xox[abp]|glpat)[-_][\w-]{12,}/g, "***"],
  [/\b(?:AIza[\w-]{30,}|AKIA[A-Z0-9]{12,})/g, "***"],
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/@"']*:)[^\s/@"']+@/gi, "$1***@"],
  [/([?&](?:[\w-]*(?:key|token|secret|passw|signature)[\w-]*)=)[^&\s"']+/gi, "$1***"],
];

/** The text with `***` for whatever has the form of a bearer's token, a key of ours or of the usual providers, or a password in an address. */
export function hideSecretForms(text: string): string {
  return forms.reduce((rest, [form, instead]) => rest.replace(form, instead), text);
}
