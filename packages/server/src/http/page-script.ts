/**
 * A script of the page as browsers get it: comments that have lines of their own and casts are left
 * out, a quarter of the compressed size. Their lines stay, so that an error in a browser has the line
 * number of the source. Other comments within a line of code stay.
 */
export function withoutComments(script: string): string {
  return script
    .replaceAll(ownLineComment, (comment) => comment.replaceAll(/[^\n]+/g, ""))
    .replaceAll(cast, "");
}

/** No literal has a comment or a cast in its text: a test compares the code of each script. */
const cast = /\/\*\* @type [^\n]*?\*\//g;
const ownLineComment = /^[ \t]*(?:\/\*\*(?:(?!\*\/)[^])*\*\/|\/\/[^\n]*)[ \t]*$/gm;
