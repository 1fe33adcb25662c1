/** M4: the limits of skills. */
export const skillLimits = {
  /** The skills of a repository or of a workspace, the text of one `SKILL.md`, and the texts of all that a request carries. */
  skillsMax: 64,
  skillFileBytesMax: 65_536,
  skillsBytesMax: 1_048_576,
  /** The name of a skill, and the description that the model receives. */
  skillNameCharactersMax: 64,
  skillDescriptionCharactersMax: 1_024,
  /** The list of names and descriptions in a message. */
  skillsListCharactersMax: 16_384,
  /** The other files of a skill that are named when it is read, and how deep its folder is searched for them. */
  skillFilesNamedMax: 50,
  skillFoldersDeepMax: 4,
  /** The entries of a folder that are looked at. */
  skillFolderEntriesMax: 2_000,
  /** The warnings about skills of one turn. */
  skillWarningsMax: 8,
} as const;
