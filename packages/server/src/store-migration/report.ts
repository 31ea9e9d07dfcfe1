import type { TransferKind } from "../stores/transfer.ts";

export type MoveCounts = Readonly<Record<TransferKind, number>>;

/**
 * The progress of a move: `rows` of `of` are done. `switch`: from here on no Cofre serves the file.
 */
export type MoveProgress =
  | {
      readonly step: "copy" | "compare";
      readonly kind: TransferKind;
      readonly rows: number;
      readonly of: number;
    }
  | { readonly step: "switch" };

export type Report = (progress: MoveProgress) => void;
