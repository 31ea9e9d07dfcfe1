/** The kinds of entries in the answer of /__cofre/timeline. */
export const timelineKinds = ["request", "fact", "call", "notification", "attempt"] as const;
