/**
 * Seeds that are run before all others, by the tests and by the lane: each met something that few others meet. A seed stands for a
 * run of today's simulation: whoever changes what is drawn looks for others that find the same (the lane names the seed that found a
 * planted mistake).
 */
export const keptSeeds: readonly { readonly seed: number; readonly met: string }[] = [];
