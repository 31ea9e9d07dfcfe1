/** Packages of the tools that come without types. */
declare module "nspell" {
  interface Speller {
    correct(word: string): boolean;
  }
  export default function nspell(dictionary: { aff: Buffer; dic: Buffer }): Speller;
}
