import { settingsAsText } from "../config/reference.ts";

export function helpText(version: string): string {
  return `Cofre ${version}: a self-hosted card vault and card payment service.

Usage: cofre [command] [options]

Commands:
  start         serve until SIGTERM or SIGINT (also without a command)
  scan PATH...  look for card numbers in files; 0: none, 1: some, 2: could not read
  config        check the settings and show what holds, without secrets
  help          this text

Options:
  --port N      listen on this port; 0 takes a free one
  --host H      listen on this address
  --data-dir D  keep everything there; :memory: keeps nothing
  --help, --version

Settings are environment variables; an option wins over its variable. With their defaults:

${settingsAsText()}
`;
}
