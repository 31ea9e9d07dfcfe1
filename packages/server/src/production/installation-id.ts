import type { Config } from "../config/settings.ts";
import { hexOf } from "../kernel/ids.ts";
import type { Random } from "../kernel/random.ts";

export type Mode = Config["environment"];

const productionPrefix = "production-";

/**
 * 128 random bits in hex, with the mode in front of those of production. Labels of keys, sealed
 * cards and MACs contain the id, so a database whose id was edited does not open in another mode.
 */
export function newInstallationId(mode: Mode, random: Random): string {
  const id = hexOf(random.bytes(16));
  return mode === "production" ? productionPrefix + id : id;
}

/** The database belongs to an installation of the other mode, or to another installation. */
export class OtherInstallation extends Error {
  override readonly name = "OtherInstallation";
}

/** Throws OtherInstallation. `id`: recorded in the database; `pinned`: named in the settings. */
export function refuseOtherInstallation(id: string, mode: Mode, pinned: string | undefined): void {
  const isProduction = id.startsWith(productionPrefix);
  if (isProduction !== (mode === "production"))
    throw new OtherInstallation(
      isProduction
        ? "the database belongs to an installation in production, and a sandbox never opens it: set COFRE_ENVIRONMENT=production, or name another database"
        : "the database belongs to a sandbox, which never becomes production: name an empty database and run cofre init",
    );
  if (pinned !== undefined && pinned !== id)
    throw new OtherInstallation(
      `the database belongs to the installation ${id}, but COFRE_INSTALLATION_ID is ${pinned}: name the database of this installation, or correct the setting`,
    );
}
